//go:build unix

package tools

import (
	"belay/session/files"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// folder is an open folder below a root.
type folder struct{ *os.File }

func openFolder(root *os.Root, name string) (folder, error) {
	f, err := root.Open(name)
	return folder{f}, err
}

// read reads a file of the folder, if it is one and no link, up to the size it has when
// it is opened. It takes few system calls: a search makes them for each file.
func (f folder) read(name string, limit int64, buffer []byte) ([]byte, error) {
	fd, err := unix.Openat(int(f.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Size > limit {
		return nil, files.ErrNotFile
	}
	buffer = sized(buffer, stat.Size)
	for n := 0; n < len(buffer); {
		more, err := unix.Read(fd, buffer[n:])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case more == 0:
			return buffer[:n], nil
		default:
			n += more
		}
	}
	return buffer, nil
}
