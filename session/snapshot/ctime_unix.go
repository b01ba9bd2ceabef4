//go:build unix

package snapshot

import (
	"time"

	"golang.org/x/sys/unix"
)

// statusChanged is when a file's content or attributes were changed last, which
// no program can set; zero when that cannot be told.
func statusChanged(name string) time.Time {
	var stat unix.Stat_t
	if unix.Lstat(name, &stat) != nil {
		return time.Time{}
	}
	return time.Unix(stat.Ctim.Unix())
}
