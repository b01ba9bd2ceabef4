//go:build unix

package ui

import (
	"os"
	"syscall"
)

// hangup is the signal of a terminal that goes away. Bubble Tea does not
// handle it, and would leave the terminal in its own modes.
var hangup = []os.Signal{syscall.SIGHUP}
