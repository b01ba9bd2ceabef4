package request

import (
	"context"
	"slices"

	"belay/models"
	"belay/session"
	"belay/session/store"
)

// The bounds of what is read of a log for the next request: more would not fit
// into any window.
const (
	tailPage     = 500
	tailBytes    = 4 << 20
	minPageBytes = 256 << 10
)

// Tail is the end of a session's log.
type Tail struct {
	Records []session.Record
	Whole   bool // nothing of the log is missing
}

// ReadTail reads the end of a session's log from the beginning of a turn on. Of
// a turn that is longer than the bound it gives the prompt and the end.
func ReadTail(ctx context.Context, st *store.Store, state session.Session) (Tail, error) {
	var pages [][]session.Record
	whole, started, skipped := false, false, false
	for before, left := int64(0), tailBytes; !whole && (left > 0 || !started); {
		page, err := st.Records(ctx, state.ID, before, tailPage, max(left, minPageBytes))
		if err != nil {
			return Tail{}, err
		}
		if len(page) == 0 {
			return Tail{Whole: true}, nil
		}
		before = page[0].Seq
		whole = before <= 1
		page = state.Active(page)
		if left <= 0 {
			skipped = true
			page = slices.DeleteFunc(page, func(r session.Record) bool { return !startsTurn(r) })
			page = page[max(len(page)-1, 0):]
		}
		for _, r := range page {
			left -= requestBytes(r.Event)
			started = started || startsTurn(r)
		}
		pages = append(pages, page)
	}
	slices.Reverse(pages)
	records := slices.Concat(pages...)
	if first := slices.IndexFunc(records, startsTurn); !whole && first > 0 {
		records = records[first:]
	}
	return Tail{Records: records, Whole: whole && !skipped}, nil
}

// Conversation is what the end of the log holds for the model.
func (t Tail) Conversation(s session.Session) session.Conversation {
	c := session.NewConversation(s)
	if !t.Whole {
		c.OmitBeginning()
	}
	c.Grow(len(t.Records))
	for _, r := range t.Records {
		c.Apply(r)
	}
	return c
}

func startsTurn(r session.Record) bool {
	_, ok := r.Event.(session.TurnStarted)
	return ok
}

// requestBytes is about how many bytes of a request an event becomes.
func requestBytes(e session.Event) int {
	const overhead = 64
	n := overhead
	var images []models.Image
	switch e := e.(type) {
	case session.ItemAdded:
		n += len(e.Item.Text) + len(e.Item.Arguments) + len(e.Item.Raw)
	case session.ToolEnded:
		n += len(e.Output)
		images = e.Images
	case session.TurnStarted:
		n += promptBytes(e.Prompt)
		images = e.Prompt.Images
	case session.PromptTaken:
		n += promptBytes(e.Prompt)
		images = e.Prompt.Images
	}
	for _, image := range images {
		n += len(image.Data)
	}
	return n
}

func promptBytes(p session.Prompt) int {
	n := len(p.Text)
	for _, at := range p.Attachments {
		n += len(at.Text)
	}
	return n
}
