package openai

import (
	"encoding/json"
	"fmt"
	"io"

	"belay/models/diagnose"
)

// bounded is something of a reply that has a bound.
type bounded int

const (
	wireBytes     bounded = iota // of the whole body, unpacked
	documentBytes                // of a reply in one piece
	eventBytes                   // of one event
	eventValues                  // JSON values in one event, or in a reply in one piece
	events
	replyBytes // all that is kept until the reply is over
	textBytes
	reasoningBytes
	argumentBytes // of one call
	nameBytes     // of a tool, a model, an id
	calls
	items
	kindsOfBounded
)

// bounds has what a reply may hold: much more than the largest reply of any model
// does, 128,000 tokens, and little enough to be kept in memory several times.
var bounds = [kindsOfBounded]struct {
	limit int
	text  string
}{
	wireBytes:      {256 << 20, "256 MB"}, // the frames of 128,000 tokens take some 50 MB
	documentBytes:  {64 << 20, "64 MB in one piece"},
	eventBytes:     {32 << 20, "32 MB in one event"},
	eventValues:    {300_000, "300,000 values in one event"},
	events:         {1_000_000, "1,000,000 events"},
	replyBytes:     {64 << 20, "64 MB of text, reasoning and calls"},
	textBytes:      {8 << 20, "8 MB of text"},
	reasoningBytes: {8 << 20, "8 MB of reasoning"},
	argumentBytes:  {8 << 20, "8 MB of arguments in one call"},
	nameBytes:      {1 << 10, "1 KB in the name or id of something"},
	calls:          {1000, "1,000 calls"},
	items:          {10_000, "10,000 parts"},
}

// maxErrorBody bounds the body of what is no reply, in bytes. The rest of it is not
// needed.
const maxErrorBody = 1 << 20

// maxMemberBytes is what a member of an object takes in memory beside its contents.
const maxMemberBytes = 128

// within says whether so many are within the bound.
func within(what bounded, n int) error {
	if n > bounds[what].limit {
		return fmt.Errorf("%w: more than %s", diagnose.ErrTooLarge, bounds[what].text)
	}
	return nil
}

// namesWithin checks names and ids.
func namesWithin(names ...looseString) error {
	for _, name := range names {
		if err := within(nameBytes, len(name)); err != nil {
			return err
		}
	}
	return nil
}

// tally counts what the reply has brought so far.
type tally [kindsOfBounded]int

// add counts more of something.
func (t *tally) add(what bounded, n int) error {
	t[what] += n
	return within(what, t[what])
}

// addContent counts a piece of something that is kept.
func (t *tally) addContent(what bounded, n int) error {
	if err := t.add(what, n); err != nil {
		return err
	}
	return t.add(replyBytes, n)
}

// addMembers counts members of an object that are kept.
func (t *tally) addMembers(members map[string]json.RawMessage) error {
	size := 0
	for name, value := range members {
		size += len(name) + len(value) + maxMemberBytes
	}
	return t.add(replyBytes, size)
}

// valuesWithin checks how many values a JSON text holds, by its commas: each may
// take a hundred times its size once it is read.
func valuesWithin(data []byte) error {
	if len(data) <= bounds[eventValues].limit {
		return nil // it has no room for so many
	}
	n, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++
		case ',':
			if !quoted {
				n++
			}
		}
	}
	return within(eventValues, n)
}

// countingReader counts the bytes that pass, as they are when they are unpacked,
// and ends what has no end.
type countingReader struct {
	r io.Reader
	n *int64
}

func (c countingReader) Read(p []byte) (int, error) {
	if err := within(wireBytes, int(*c.n)); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	*c.n += int64(n)
	return n, err
}

// readDocument reads what comes in one piece.
func readDocument(in io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(in, int64(bounds[documentBytes].limit)+1))
	if err != nil {
		return nil, err
	}
	if err := within(documentBytes, len(body)); err != nil {
		return nil, err
	}
	return body, valuesWithin(body)
}
