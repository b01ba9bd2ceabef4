//go:build !linux && !darwin

package sandbox

import "os/exec"

// Available says why commands cannot be held on this system.
func Available() error { return ErrUnavailable }

// Mechanism names what holds commands on this system.
func Mechanism() string { return "nothing" }

func (s *Sandbox) beginReading(*exec.Cmd, []string, []string) (process, error) {
	return nil, ErrUnavailable
}

func otherHomes(string) []string { return nil }
