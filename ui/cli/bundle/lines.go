package bundle

import (
	"bytes"
	"io"

	"belay/models/redact"
)

// lineWriter passes whole lines on, without credentials, until its bound is reached.
// What comes after that is left out.
type lineWriter struct {
	to      io.Writer
	secrets *redact.Values
	left    int64 // bytes that may still be written
	cut     bool
	pending []byte // a line that is not whole yet
	err     error  // why a line could not be written
}

func (l *lineWriter) Write(p []byte) (int, error) {
	if l.cut {
		return len(p), nil
	}
	l.pending = append(l.pending, p...)
	if int64(len(l.pending)) > l.left+maxOverhang {
		l.cut = true // a line that cannot fit is not waited for
		return len(p), nil
	}
	end := bytes.LastIndexByte(l.pending, '\n') + 1
	whole := l.pending[:end]
	err := l.pass(whole)
	l.pending = append(l.pending[:0], l.pending[end:]...)
	return len(p), err
}

// maxOverhang is what a line may be longer than what is left: leaving credentials out
// can make it shorter.
const maxOverhang = 1 << 20

func (l *lineWriter) pass(lines []byte) error {
	for len(lines) > 0 && !l.cut {
		end := bytes.IndexByte(lines, '\n') + 1
		if end == 0 {
			end = len(lines)
		}
		line := l.secrets.Text(string(lines[:end]))
		if int64(len(line)) > l.left {
			l.cut = true
			return nil
		}
		if _, err := io.WriteString(l.to, line); err != nil {
			l.err = err
			return err
		}
		l.left -= int64(len(line))
		lines = lines[end:]
	}
	return nil
}

func (l *lineWriter) flush() error {
	err := l.pass(l.pending)
	l.pending = nil
	return err
}
