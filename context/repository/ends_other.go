//go:build !linux

package repository

import "os/exec"

// EndWithBelay does nothing here: a git ends when it has done what it was asked, or
// finds nobody who reads its answer.
func EndWithBelay(*exec.Cmd) {}
