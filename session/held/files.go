package held

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/interp"

	"belay/session/permit"
)

// look decides on a path that the interpreter itself looks at.
func (l *line) look(ctx context.Context, path string) error {
	if reason := permit.Refuse([]string{"ls", "--", path}, l.place(interp.HandlerCtx(ctx).Dir)); reason != "" {
		return l.refuse([]string{path}, reason)
	}
	return nil
}

// open opens what a line redirects from or to.
func (l *line) open(ctx context.Context, path string, flag int, _ os.FileMode) (io.ReadWriteCloser, error) {
	hc := interp.HandlerCtx(ctx)
	switch {
	case path == os.DevNull:
		return os.OpenFile(os.DevNull, flag&^(os.O_CREATE|os.O_TRUNC), 0)
	case flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND) != 0:
		return nil, l.refuse([]string{">", path}, "it writes to a file")
	}
	if err := l.look(ctx, path); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(hc.Dir, path)
	}
	file, err := l.Open(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if l.reads.Load() {
		return &bufferedFile{File: file, lines: lineLimit{Writer: io.Discard, line: l}}, nil
	}
	return file, nil
}

// bufferedFile is a file whose lines the interpreter reads.
type bufferedFile struct {
	*os.File
	lines lineLimit
}

func (f *bufferedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if _, long := f.lines.Write(p[:n]); long != nil {
		return 0, long
	}
	return n, err
}

// readDir lists a folder for a pattern. Of the folders above the workspace it knows
// the way to it.
func (l *line) readDir(ctx context.Context, path string) ([]fs.DirEntry, error) {
	if l.folders.Add(1) > maxFolders {
		return nil, l.refuse(nil, "its patterns look into too many folders")
	}
	if path != l.Root && within(path, l.Root) {
		separator := string(filepath.Separator)
		next, _, _ := strings.Cut(strings.TrimPrefix(l.Root[len(path):], separator), separator)
		info, err := os.Lstat(filepath.Join(path, next))
		if err != nil {
			return nil, err
		}
		return []fs.DirEntry{fs.FileInfoToDirEntry(info)}, nil
	}
	if within(l.Root, path) && permit.Refuse([]string{"ls", "--", path}, l.place(path)) != "" {
		// A link that leads out is there, like in every shell. A word that goes through it
		// is judged as all are.
		return nil, nil
	}
	if err := l.look(ctx, path); err != nil {
		return nil, err
	}
	return os.ReadDir(path)
}

// stat looks at a file for a test, or for cd.
func (l *line) stat(ctx context.Context, path string, followLinks bool) (fs.FileInfo, error) {
	if err := l.look(ctx, path); err != nil {
		return nil, err
	}
	if followLinks {
		return os.Stat(path)
	}
	return os.Lstat(path)
}

func (l *line) access(ctx context.Context, path string, mode interp.AccessMode) error {
	if err := l.look(ctx, path); err != nil {
		return err
	}
	return interp.DefaultAccessHandler()(ctx, path, mode)
}
