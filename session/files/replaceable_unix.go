//go:build linux || darwin

package files

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// replaceable reports whether a new file can stand for an old one: the old has no
// other names, and both have one owner, group and the same extended attributes.
func replaceable(old, replacement *os.File) bool {
	var was, is syscall.Stat_t
	if syscall.Fstat(int(old.Fd()), &was) != nil || syscall.Fstat(int(replacement.Fd()), &is) != nil {
		return false
	}
	if was.Nlink != 1 || was.Uid != is.Uid || was.Gid != is.Gid {
		return false
	}
	a, ok := attributes(old)
	b, ok2 := attributes(replacement)
	return ok && ok2 && sameAttributes(a, b)
}

// attributes are a file's extended attributes; ok is false where they cannot be
// read, and none where the file system has none.
func attributes(f *os.File) (all map[string][]byte, ok bool) {
	names := make([]byte, 64<<10)
	n, err := unix.Flistxattr(int(f.Fd()), names)
	if err != nil {
		return nil, err == unix.ENOTSUP
	}
	all = map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Fgetxattr(int(f.Fd()), name, value)
		if err != nil {
			return nil, false
		}
		all[name] = value[:n]
	}
	return all, true
}
