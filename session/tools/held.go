package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"belay/session/files"
	"belay/session/held"
)

// runHeld runs a line that nobody was asked about. Its commands are judged when their
// words are known, and the kernel holds each program to reading.
func (s *Set) runHeld(ctx context.Context, job shellJob, out *commandOutput) (code int, err error) {
	root, err := follow(s.o.Root)
	if err != nil {
		return 0, err
	}
	return held.Run(ctx, job.line, held.Options{
		Root: root,
		Dir:  job.dir,
		Env:  append(s.environment(), "GIT_OPTIONAL_LOCKS=0"),
		Out:  out,

		Closed: job.profile.Closed,
		Program: func(ctx context.Context, cmd *exec.Cmd) (int, error) {
			return s.sandbox.Run(ctx, cmd, job.profile, job.started)
		},
		Open: func(path string) (*os.File, error) { return openFile(root, path) },
	})
}

// openFile opens a file of the workspace to read, if it is one.
func openFile(workspace, path string) (*os.File, error) {
	path, err := follow(path)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(workspace, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return files.OpenRegular(files.Below(root, rel))
}

// noteEnded tells the model why a line was ended, and has a person asked when it comes
// again.
func (s *Set) noteEnded(command string, err error, result *Result) bool {
	var refused *held.Refused
	if !errors.As(err, &refused) {
		return false
	}
	s.mu.Lock()
	s.unheld[command] = refused.Error()
	s.mu.Unlock()
	result.Error, result.Summary = true, "needs a question"
	result.Output += fmt.Sprintf("\n(ended before something that needs the user's word: %s. What came before only read. "+
		"If you need it, make exactly the same call again: the user is asked then.)", refused.Error())
	return true
}
