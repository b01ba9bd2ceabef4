package session

import (
	"errors"
	"strings"
)

// DiskError is what went wrong with something that belay keeps on the disk, with
// a hint for people.
type DiskError struct {
	Step   string // what was being done: "open sessions"
	Path   string // the file or folder, where it matters
	Kind   error  // one of the errors that the package names; nil when it is none of them
	Err    error  // the cause; may be nil
	Advice string // what a person can do about it; possibly empty
}

// Error names the step, the kind and the cause.
func (e *DiskError) Error() string {
	var parts []string
	if e.Step != "" {
		parts = append(parts, e.Step)
	}
	if e.Kind != nil {
		parts = append(parts, e.Kind.Error())
	}
	if e.Path != "" {
		parts = append(parts, e.Path)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Hint is what a person can do about it; possibly empty.
func (e *DiskError) Hint() string { return e.Advice }

// ErrorHint is what a person can do about an error, if one in its chain says so.
func ErrorHint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// WithHint is the text of an error, with its hint for people in brackets.
func WithHint(err error) string {
	if hint := ErrorHint(err); hint != "" {
		return err.Error() + " (" + hint + ")"
	}
	return err.Error()
}

// Unwrap gives kind and cause.
func (e *DiskError) Unwrap() []error {
	var list []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			list = append(list, err)
		}
	}
	return list
}
