// Package exit decides with which code belay ends, and what a person reads of
// the error that ended it.
package exit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"belay/models"
	"belay/session"
	"belay/session/engine"
	"belay/session/queue"
	"belay/session/store"
	"belay/ui/locale"
)

// The exit codes. They are a contract with scripts.
const (
	Done        = 0
	Failed      = models.ExitFailed
	Usage       = 2
	Person      = 3
	Limit       = 4
	Unreachable = models.ExitUnreachable
	Capacity    = models.ExitCapacity
	Account     = models.ExitAccount
	Settings    = models.ExitSettings
	Interrupted = models.ExitInterrupted
)

// UsageError is a command line that cannot be understood.
type UsageError struct {
	Err error
	See string // what to run to learn more
}

// Error says what cannot be understood.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Hint says where to read more.
func (e *UsageError) Hint() string {
	if e.See == "" {
		return ""
	}
	return "see " + e.See
}

// SettingsError is a fault in the settings.
type SettingsError struct{ Err error }

// Error gives the faults.
func (e *SettingsError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *SettingsError) Unwrap() error { return e.Err }

// Error ends belay with a code after everything has been said.
type Error struct{ Code int }

// Error names the code.
func (e *Error) Error() string { return fmt.Sprintf("exit %d", e.Code) }

// Code is the code for an error.
func Code(err error) int {
	var told *Error
	var usage *UsageError
	var wide *engine.WideError
	var settings *SettingsError
	var fault *models.Fault
	switch {
	case errors.As(err, &told):
		return told.Code
	case errors.As(err, &usage), errors.As(err, &wide):
		return Usage
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrAmbiguous):
		return Usage
	case errors.As(err, &settings), errors.Is(err, queue.ErrRefused):
		return Settings
	case errors.Is(err, queue.ErrUnreachable):
		return Unreachable
	case errors.As(err, &fault):
		return OfFault(fault)
	case errors.Is(err, context.Canceled):
		return Interrupted
	}
	return Failed
}

// OfFault is the code for a failed request.
func OfFault(f *models.Fault) int {
	if f == nil {
		return Failed
	}
	return f.Kind.Policy().Exit
}

// OfSession is the code for the way a session stands after a turn.
func OfSession(s session.Session, limit bool) int {
	switch {
	case s.Status == session.Idle:
		return Done
	case limit:
		return Limit
	case s.Status == session.NeedsPerson, s.Status == session.Asking:
		return Person
	case s.Status == session.Stopped, s.Status == session.Interrupted:
		return Interrupted
	}
	return OfFault(s.Fault)
}

// Message is what a person reads of an error: what happened, then what to do.
func Message(err error) string {
	text := locale.Said(err.Error())
	hint := session.ErrorHint(err)
	var fault *models.Fault
	if hint == "" && errors.As(err, &fault) {
		hint = fault.Hint
	}
	if hint = locale.Said(hint); hint != "" {
		text += "\n       " + strings.ReplaceAll(hint, "\n", "\n       ")
	}
	return text
}
