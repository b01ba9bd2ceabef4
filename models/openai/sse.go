package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"belay/models/diagnose"
)

// stream reads server-sent events (WHATWG HTML, 9.2), and what servers add to
// them when they fail: JSON that stands in the stream without a field's name.
type stream struct {
	a        *attempt
	in       *bufio.Reader
	line     []byte // one that did not fit in the reader's buffer
	data     []byte // of the newest event
	name     string // of the newest event, where the stream names them
	atEnd    bool   // the newest event was ended by the end of the stream
	afterCR  bool   // a line ended with CR; LF would belong to it
	document bool   // data is JSON without a field
	nesting  nesting
}

// nesting says where in a JSON text one is that comes line by line.
type nesting struct {
	depth           int
	quoted, escaped bool
}

// closes takes the next line and says whether all that was open is closed.
func (n *nesting) closes(line []byte) bool {
	for _, c := range line {
		switch {
		case n.escaped:
			n.escaped = false
		case n.quoted && c == '\\':
			n.escaped = true
		case c == '"':
			n.quoted = !n.quoted
		case n.quoted:
		case c == '{' || c == '[':
			n.depth++
		case c == '}' || c == ']':
			n.depth--
		}
	}
	return n.depth == 0 && !n.quoted
}

func (a *attempt) stream(in *bufio.Reader) *stream { return &stream{a: a, in: in} }

// next gives the data of the next event, which is good until the one after it,
// or io.EOF.
func (s *stream) next() ([]byte, error) {
	s.a.startClock()
	defer s.a.stopClock()
	s.data, s.name = s.data[:0], ""
	for {
		line, err := s.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if len(line) > 0 && s.field(line) || err == nil && len(line) == 0 && s.dispatches() {
			break
		}
		if err != nil {
			if s.atEnd = true; len(s.data) == 0 {
				return nil, io.EOF
			}
			break
		}
		if err := within(eventBytes, len(s.data)); err != nil {
			return nil, err
		}
	}
	s.document = false
	if err := s.a.tally.add(events, 1); err != nil {
		return nil, err
	}
	return s.data, valuesWithin(s.data)
}

// dispatches says whether an empty line ends an event.
func (s *stream) dispatches() bool {
	if s.document {
		return false
	}
	if len(bytes.TrimSpace(s.data)) == 0 { // a sign of life
		s.data, s.name = s.data[:0], ""
	}
	return len(s.data) > 0
}

// field takes a line and says whether it completes an event by itself.
func (s *stream) field(line []byte) (complete bool) {
	if s.document || line[0] == '{' && len(s.data) == 0 {
		if !s.document {
			s.document, s.nesting = true, nesting{}
		}
		s.data = append(append(s.data, line...), '\n')
		return s.nesting.closes(line) && json.Valid(s.data)
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "event":
		s.name = string(value)
	case "error": // a field of llama.cpp's own
		s.name = "error"
		s.data = append(append(s.data, value...), '\n')
	case "data":
		s.data = append(append(s.data, value...), '\n')
	}
	return false
}

// readLine gives the next line without its end: LF, CR or both. After the last
// one it gives io.EOF, with what stands there.
func (s *stream) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		if _, err := s.in.Peek(1); err != nil {
			return s.line, err
		}
		buffered, _ := s.in.Peek(s.in.Buffered())
		if s.afterCR {
			s.afterCR = false
			if buffered[0] == '\n' {
				_, _ = s.in.Discard(1)
				continue
			}
		}
		end := bytes.IndexByte(buffered, '\n')
		if end < 0 {
			end = len(buffered)
		}
		if cr := bytes.IndexByte(buffered[:end], '\r'); cr >= 0 {
			end, s.afterCR = cr, true
		}
		if end == len(buffered) {
			s.line = append(s.line, buffered...)
			if err := within(eventBytes, len(s.line)); err != nil {
				return nil, err
			}
			_, _ = s.in.Discard(len(buffered))
			continue
		}
		_, _ = s.in.Discard(end + 1)
		if len(s.line) == 0 {
			return buffered[:end], nil
		}
		s.line = append(s.line, buffered[:end]...)
		return s.line, nil
	}
}

// isDone says whether an event is the word that no other follows.
func isDone(data []byte) bool { return bytes.HasPrefix(data, []byte("[DONE]")) }

// malformed names an event that cannot be read: a torn one at the very end is a
// reply that ended early.
func (s *stream) malformed(err error) error {
	if s.atEnd {
		return fmt.Errorf("%w: in the midst of an event", diagnose.ErrUnended)
	}
	return fmt.Errorf("%w: %w", diagnose.ErrMalformed, err)
}
