//go:build !unix

package ui

import "os"

// hangup is empty: only Unix tells programs that their terminal went away.
var hangup = []os.Signal{os.Interrupt}
