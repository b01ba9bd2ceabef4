package gateway

import (
	"bytes"
	"encoding/json"
	"time"

	"belay/models"
)

// reply is what an encoder is told of the reply that it writes.
type reply struct {
	id      string
	created time.Time
	target  models.Target // that answers
}

// ending is how a reply came to its end.
type ending struct {
	usage      models.Usage
	incomplete string // why it is cut short: max_output_tokens or content_filter; empty: it is not
}

// encoder writes one reply in the protocol of its client. What it returns is to be
// sent as it is, and stays valid until the next call.
type encoder interface {
	chunk(models.Chunk) []byte // of a stream
	end(ending) []byte         // of a stream
	fail(*refusal) []byte      // in place of an end; also where nothing has been written
	document(ending) any       // the whole, of a reply in one piece
}

func newEncoder(q *question, r reply) encoder {
	if q.api == models.Chat {
		return &chatEncoder{q: q, reply: r}
	}
	return &responsesEncoder{q: q, reply: r, message: -1, thoughts: -1}
}

// frames collects server-sent events.
type frames struct {
	buffer bytes.Buffer
	json   *json.Encoder
}

// reset begins anew: what was taken before has been sent.
func (f *frames) reset() {
	if f.json == nil {
		f.json = json.NewEncoder(&f.buffer)
		f.json.SetEscapeHTML(false)
	}
	f.buffer.Reset()
}

// add writes one event; without a name it has none. JSON ends with a newline here, so
// that one more ends the event.
func (f *frames) add(name string, v any) {
	if name != "" {
		f.buffer.WriteString("event: ")
		f.buffer.WriteString(name)
		f.buffer.WriteByte('\n')
	}
	f.buffer.WriteString("data: ")
	if err := f.json.Encode(v); err != nil { // only foreign raw JSON could be at fault, and it was checked
		f.buffer.WriteString("{}\n")
	}
	f.buffer.WriteByte('\n')
}

func (f *frames) take() []byte { return f.buffer.Bytes() }
