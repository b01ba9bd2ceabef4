package tools

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"belay/models/redact"
)

// The bounds of a command's output: what the model is told, and what is kept
// on disk for it and for people to read.
const (
	maxOutputHead = 12 << 10
	maxOutputTail = 20 << 10
)

// commandOutput keeps the beginning and the end of a command's output, and the whole
// of it on disk once it is longer than both.
type commandOutput struct {
	mu      sync.Mutex
	redact  *redact.Values
	publish func(string)

	rest       []byte // that has to be looked at again with the next piece
	part       []byte // of a character whose rest comes with the next piece
	head, tail []byte
	total      int64
	file       outputFile
	spilled    bool
	closed     bool
}

func newOutput(dir string, newID func() string, secrets *redact.Values, live func(string)) *commandOutput {
	file := outputFile{dir: dir, newID: newID, free: freeSpace, limit: maxOutputs}
	return &commandOutput{file: file, redact: secrets, publish: live}
}

// Write takes the next piece. It never fails: a command must not break because
// its output is too long or the disk is full.
func (o *commandOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return len(p), nil
	}
	// A secret may be written in pieces.
	text := append(o.rest, p...)
	n := len(text) - o.redact.Unfinished(text)
	o.rest = append([]byte(nil), text[n:]...)
	o.take([]byte(o.redact.Text(string(text[:n]))))
	return len(p), nil
}

// take takes a piece without secrets.
func (o *commandOutput) take(p []byte) {
	if o.publish != nil {
		text := append(o.part, p...)
		n := len(text) - unfinishedRune(text)
		o.part = append([]byte(nil), text[n:]...)
		o.publish(string(text[:n]))
	}
	rest := p
	if room := maxOutputHead - len(o.head); room > 0 {
		n := min(room, len(rest))
		o.head = append(o.head, rest[:n]...)
		rest = rest[n:]
	}
	o.tail = append(o.tail, rest...)
	o.total += int64(len(p))
	if o.total > maxOutputHead+maxOutputTail {
		o.spill(p)
	}
	if len(o.tail) > 2*maxOutputTail {
		o.tail = append([]byte(nil), o.tail[len(o.tail)-maxOutputTail:]...)
	}
}

// unfinishedRune is the number of bytes at the end that begin a character and do
// not end it.
func unfinishedRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// spill writes to the file. Before it is made, everything so far is still in head
// and tail.
func (o *commandOutput) spill(p []byte) {
	if o.spilled {
		o.file.write(p)
		return
	}
	o.spilled = true
	o.file.write(o.head)
	o.file.write(o.tail)
}

// close gives the bounded text, plain, and the file that holds the whole.
func (o *commandOutput) close() (text, file string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if len(o.rest) > 0 {
		o.take(o.rest)
	}
	file = o.file.close()
	tail := o.tail
	if o.total <= maxOutputHead+maxOutputTail {
		return plainText(append(o.head, tail...)), file
	}
	tail = tail[len(tail)-min(len(tail), maxOutputTail):]
	left := o.total - int64(len(o.head)) - int64(len(tail))
	note := fmt.Sprintf("%d bytes left out", left)
	switch cut := o.file.cut; {
	case file != "" && cut != "":
		size := fmt.Sprintf("%d KB", o.file.kept>>10)
		if o.file.kept >= 1<<20 {
			size = fmt.Sprintf("%d MB", o.file.kept>>20)
		}
		note += fmt.Sprintf("; the first %s are in %s: %s", size, file, cut)
	case file != "":
		note += "; all of it is in " + file
	case cut != "":
		note += " and not kept: " + cut
	}
	note = "\n… " + note + " …\n"
	return plainText(o.head) + note + plainText(tail), file
}

// plainText drops escape sequences and shows a line that was overwritten with
// carriage returns as it looked in the end.
func plainText(b []byte) string {
	text := ansi.Strip(strings.ToValidUTF8(string(b), "�"))
	if !strings.Contains(text, "\r") {
		return text
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndex(line, "\r")+1:]
	}
	return strings.Join(lines, "\n")
}
