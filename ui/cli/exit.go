package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"belay/models"
	"belay/session"
	"belay/session/store"
)

// The exit codes. They are a contract with scripts.
const (
	exitDone        = 0
	exitFailed      = models.ExitFailed
	exitUsage       = 2
	exitPerson      = 3
	exitLimit       = 4
	exitUnreachable = models.ExitUnreachable
	exitCapacity    = models.ExitCapacity
	exitAccount     = models.ExitAccount
	exitSettings    = models.ExitSettings
	exitInterrupted = models.ExitInterrupted
)

// usageError is a command line that cannot be understood.
type usageError struct {
	err  error
	help string // what to run to learn more
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
func (e *usageError) Hint() string {
	if e.help == "" {
		return ""
	}
	return "see " + e.help
}

// SettingsError is a fault in the settings.
type SettingsError struct{ Err error }

// Error gives the faults.
func (e *SettingsError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *SettingsError) Unwrap() error { return e.Err }

// toldError ends belay with a code after everything has been said.
type toldError struct{ code int }

func (e *toldError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// exitOf is the code for an error.
func exitOf(err error) int {
	var told *toldError
	var usage *usageError
	var settings *SettingsError
	var fault *models.Fault
	switch {
	case errors.As(err, &told):
		return told.code
	case errors.As(err, &usage), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrAmbiguous):
		return exitUsage
	case errors.As(err, &settings):
		return exitSettings
	case errors.As(err, &fault):
		return exitFault(fault)
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

// exitFault is the code for a failed request.
func exitFault(f *models.Fault) int {
	if f == nil {
		return exitFailed
	}
	return f.Kind.Policy().Exit
}

// exitSession is the code for the way a session stands after a turn.
func exitSession(s session.Session, limit bool) int {
	switch {
	case s.Status == session.Idle:
		return exitDone
	case limit:
		return exitLimit
	case s.Status == session.NeedsPerson, s.Status == session.Asking:
		return exitPerson
	case s.Status == session.Stopped, s.Status == session.Interrupted:
		return exitInterrupted
	}
	return exitFault(s.Fault)
}

// message is what a person reads of an error: what happened, then what to do.
func message(err error) string {
	text := err.Error()
	hint := session.ErrorHint(err)
	var fault *models.Fault
	if hint == "" && errors.As(err, &fault) {
		hint = fault.Hint
	}
	if hint != "" {
		text += "\n       " + strings.ReplaceAll(hint, "\n", "\n       ")
	}
	return text
}
