package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"belay/session/files"
	"belay/ui/cli/exit"
)

// answerFile is the file that a run writes its answer to; nil: none.
type answerFile struct {
	stream io.Writer // it is one of this program's own; nil: it is not
	folder *os.Root  // that it stands in; nil: it is a pipe or a device
	path   string    // links followed
	newID  func() string
}

// openAnswerFile finds out whether an answer could be written to a file, before
// anything is asked for it. A file that is there stays as it is until then.
func openAnswerFile(cli CLI, name string) (*answerFile, error) {
	if name == "" {
		return nil, nil
	}
	refused := func(err error) (*answerFile, error) {
		return nil, &exit.UsageError{Err: fmt.Errorf("--output %s: %w", name, err), See: "belay run --help"}
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(cli.Dir, path)
	}
	switch {
	case path == "/dev/stdout" || path == "/dev/fd/1":
		return &answerFile{stream: cli.Out}, nil
	case path == "/dev/stderr" || path == "/dev/fd/2":
		return &answerFile{stream: cli.Err}, nil
	case isStream(path):
		return &answerFile{path: path}, nil
	}
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		path = followed
	}
	file := &answerFile{path: path, newID: cli.NewID}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return refused(errors.New("it is a folder"))
	case err == nil && !info.Mode().IsRegular():
		return file, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return refused(err)
	}
	if file.folder, err = os.OpenRoot(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return refused(errors.New("there is no such folder"))
	} else if err != nil {
		return refused(err)
	}
	if err := file.probe(info != nil); err != nil {
		return refused(errors.Join(err, file.folder.Close()))
	}
	return file, nil
}

// isStream reports a name such as /dev/stdout: what stands behind it is open already,
// and may be a file that must not be replaced.
func isStream(path string) bool {
	target, _ := os.Readlink(path)
	for _, name := range []string{path, target} {
		if strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/") {
			return true
		}
	}
	return false
}

// probe tries what writing will need: a new file beside the old one, or else the old
// one itself.
func (f *answerFile) probe(exists bool) error {
	if exists {
		old, err := f.folder.OpenFile(filepath.Base(f.path), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return old.Close()
	}
	temp := files.TempName(filepath.Base(f.path), f.newID())
	probe, err := f.folder.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), f.folder.Remove(temp))
}

// write gives the file the answer, at once or not at all.
func (f *answerFile) write(answer []byte) error {
	if f == nil {
		return nil
	}
	if f.stream != nil {
		_, err := f.stream.Write(answer)
		return err
	}
	if f.folder == nil {
		pipe, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = pipe.Write(answer)
		return errors.Join(err, pipe.Close())
	}
	w := files.Writer{NewID: f.newID}
	return w.Replace(f.folder, filepath.Base(f.path), f.path, answer)
}

func (f *answerFile) close() error {
	if f == nil || f.folder == nil {
		return nil
	}
	return f.folder.Close()
}
