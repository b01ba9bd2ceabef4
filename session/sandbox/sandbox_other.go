//go:build !linux && !darwin

package sandbox

import "os/exec"

// Available says why commands cannot be held on this system.
func Available() error { return ErrUnavailable }

func (s *Sandbox) start(*exec.Cmd, string) error { return ErrUnavailable }

func otherHomes(string) []string { return nil }
