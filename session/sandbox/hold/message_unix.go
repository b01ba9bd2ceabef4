//go:build unix

package hold

import (
	"errors"
	"io"
	"syscall"
)

// headerSize is that of a message's kind and the length of what follows.
const headerSize = 9

// maxFiles is how many descriptors come with a message.
const maxFiles = 3

// Send writes a message, with descriptors that the other side gets as its own.
func Send(fd int, kind byte, body []byte, files ...int) error {
	p := packer{kind}
	p.number(uint64(len(body)))
	message := append([]byte(p), body...)
	var rights []byte
	if len(files) > 0 {
		rights = syscall.UnixRights(files...)
	}
	for len(message) > 0 {
		n, err := syscall.SendmsgN(fd, message, rights, nil, noSignal)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		message, rights = message[n:], nil
	}
	return nil
}

// Receive reads a message. The end of the other side is io.EOF.
func Receive(fd int) (kind byte, body []byte, files []int, err error) {
	header := make([]byte, headerSize)
	rights := make([]byte, syscall.CmsgSpace(maxFiles*4))
	for read := 0; read < headerSize; {
		n, rightsSize, _, _, err := syscall.Recvmsg(fd, header[read:], rights, 0)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, nil, nil, err
		case n == 0:
			return 0, nil, nil, io.EOF
		}
		if rightsSize > 0 {
			files = received(rights[:rightsSize])
		}
		read += n
	}
	size := unpacker(header[1:])
	body = make([]byte, size.number())
	for read := 0; read < len(body); {
		n, err := syscall.Read(fd, body[read:])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, nil, nil, err
		case n == 0:
			return 0, nil, nil, io.EOF
		}
		read += n
	}
	return header[0], body, files, nil
}

func received(rights []byte) (files []int) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	for _, m := range messages {
		if list, err := syscall.ParseUnixRights(&m); err == nil {
			files = append(files, list...)
		}
	}
	for _, fd := range files {
		syscall.CloseOnExec(fd)
	}
	return files
}
