// Package files decides how a file is opened and how it is written back, so that it
// stays all that it was but for its content.
package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// MaxSize is how large a file may be, in bytes, to be read as a whole.
const MaxSize = 32 << 20

// maxReadWait bounds the wait for a file that only looks like one, as some of
// /proc do.
const maxReadWait = 10 * time.Second

// ErrNotFile says that a path is a pipe, a device or a socket.
var ErrNotFile = errors.New("it is neither a file nor a folder")

// Read reads a file that is one, and never more than a bound. Opening does not
// wait for the other end of a pipe, and what was opened is what is judged.
func Read(open func(flag int) (*os.File, error), limit int64) ([]byte, error) {
	f, err := OpenRegular(open)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_ = f.SetReadDeadline(time.Now().Add(maxReadWait)) // most files know none, and do not wait
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("it has more than %d MB", limit>>20)
	}
	return content, err
}

// OpenRegular opens a file that is one, without waiting for the other end of a pipe.
func OpenRegular(open func(flag int) (*os.File, error)) (*os.File, error) {
	f, err := open(os.O_RDONLY | syscall.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotFile
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// At opens a path for Read.
func At(path string) func(flag int) (*os.File, error) {
	return func(flag int) (*os.File, error) { return os.OpenFile(path, flag, 0) }
}

// Below opens a file below a folder, and follows no link out of it.
func Below(root *os.Root, name string) func(flag int) (*os.File, error) {
	return func(flag int) (*os.File, error) { return root.OpenFile(name, flag, 0) }
}

// Hash tells one content from another: its SHA-256, in hexadecimal.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
