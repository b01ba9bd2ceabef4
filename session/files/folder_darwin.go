package files

import (
	"fmt"
	"syscall"
)

// FolderID is what the file system knows a folder by, wherever it is moved to: device,
// inode and the time of its birth, for an inode is given to another folder when its own
// is gone. It is empty where one of them is not known.
func FolderID(path string) string {
	var stat syscall.Stat_t
	if err := syscall.Stat(path, &stat); err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d.%d", stat.Dev, stat.Ino, stat.Birthtimespec.Sec, stat.Birthtimespec.Nsec)
}
