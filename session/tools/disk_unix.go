//go:build linux || darwin

package tools

import "golang.org/x/sys/unix"

// freeSpace is how many bytes a disk has left for the user, and how many in all.
func freeSpace(dir string) (free, total int64, ok bool) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, 0, false
	}
	size := int64(stat.Bsize)
	return int64(stat.Bavail) * size, int64(stat.Blocks) * size, true
}
