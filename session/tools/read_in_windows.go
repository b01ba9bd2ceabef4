package tools

import (
	"belay/session/files"
	"errors"
	"io"
	"os"
)

// folder is an open folder below a root.
type folder struct{ *os.Root }

func openFolder(root *os.Root, name string) (folder, error) {
	f, err := root.OpenRoot(name)
	return folder{f}, err
}

// read reads a file of the folder, if it is one and no link, up to the size it has when
// it is looked at.
func (f folder) read(name string, limit int64, buffer []byte) ([]byte, error) {
	info, err := f.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, files.ErrNotFile
	}
	file, err := files.OpenRegular(files.Below(f.Root, name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	buffer = sized(buffer, info.Size())
	n, err := io.ReadFull(file, buffer)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return buffer[:n], err
}
