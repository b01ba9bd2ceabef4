package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"

	"belay/session"
)

// The kinds of errors, for errors.Is. The texts are for people.
var (
	ErrNoGit       = errors.New("git was not found")
	ErrOldGit      = errors.New("git is too old")
	ErrNoWorkspace = errors.New("the workspace is not there")
	ErrGone        = errors.New("the checkpoint's files are gone")
	ErrChanged     = errors.New("files have changed since they were compared")
	ErrFull        = errors.New("the disk is full")
	ErrReadOnly    = errors.New("the snapshots cannot be written to")
)

// Error is what went wrong with a snapshot, with a hint for people.
type Error = session.DiskError

// ChangedError is ErrChanged and names the files that are not as the caller
// of Restore expected them. Nothing was restored.
type ChangedError struct{ Paths []string }

// Error counts the files and names the first.
func (e *ChangedError) Error() string {
	if len(e.Paths) == 0 {
		return ErrChanged.Error()
	}
	names := e.Paths[0]
	if n := len(e.Paths) - 1; n > 0 {
		names = fmt.Sprintf("%s and %d more", names, n)
	}
	return ErrChanged.Error() + ": " + names
}

// Hint says what comes next.
func (e *ChangedError) Hint() string {
	return "look at the changes again, then rewind"
}

// Unwrap gives ErrChanged.
func (e *ChangedError) Unwrap() error { return ErrChanged }

const withoutFiles = "the conversation can still be rewound"

func (s *Store) newGoneError() error {
	return &Error{Kind: ErrGone, Advice: "the checkpoint's files were deleted from " + s.o.Dir + "; " + withoutFiles}
}

// wrap names the step of an error and finds out what kind it is.
func (s *Store) wrap(step string, err error) error {
	if err == nil {
		return nil
	}
	var ours *Error
	var changed *ChangedError
	switch {
	case errors.As(err, &ours) && ours.Step == "":
		return &Error{Step: step, Path: ours.Path, Kind: ours.Kind, Err: ours.Err, Advice: ours.Advice}
	case errors.As(err, &ours), errors.As(err, &changed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", step, err)
	}
	hint, kind := classify(err)
	e := &Error{Step: step, Kind: kind, Err: err, Advice: hint}
	if kind != nil {
		e.Path = s.o.Dir
	}
	return e
}

func classify(err error) (hint string, kind error) {
	var text string
	var said *gitError
	if errors.As(err, &said) {
		text = said.stderr
	}
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, exec.ErrDot):
		return "install git to keep the files of checkpoints; " + withoutFiles, ErrNoGit
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT),
		has("No space left on device", "Disk quota exceeded"):
		return "free some space and go on: earlier checkpoints are kept", ErrFull
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission),
		has("Read-only file system", "insufficient permission", "Permission denied"):
		return "make the folder writable, or set BELAY_HOME to another one", ErrReadOnly
	case errors.Is(err, syscall.ENOTDIR):
		return "a file is in the way of the folder: move it, or set BELAY_HOME to another one", ErrReadOnly
	}
	return "", nil
}
