package files

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// FolderID is what the file system knows a folder by, wherever it is moved to: device,
// inode and the time of its birth, for an inode is given to another folder when its own
// is gone. It is empty where one of them is not known.
func FolderID(path string) string {
	const want = unix.STATX_INO | unix.STATX_BTIME
	var stat unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, want, &stat); err != nil || stat.Mask&want != want {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d:%d.%d", stat.Dev_major, stat.Dev_minor, stat.Ino, stat.Btime.Sec, stat.Btime.Nsec)
}
