//go:build !linux && !darwin

package files

import "os"

// replaceable reports whether a new file can stand for an old one. What else a file
// is cannot be told here.
func replaceable(_, _ *os.File) bool { return true }
