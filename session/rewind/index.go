package rewind

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"belay/session"
	"belay/session/store"
)

// indexedTypes are the events that tell what one can return to, and what was
// done since.
var indexedTypes = []string{"turn.started", "turn.ended", "checkpoint", "step.moved", "tool.started"}

// entry is a checkpoint with what only a rewind needs of it.
type entry struct {
	session.Checkpoint
	to        int64 // the record after which everything is taken back
	filled    bool  // its tree is recorded, or that there is none
	preImages []session.PreImage
	skipped   []string
}

// index lists the checkpoints in a log, oldest first: before each turn and each
// step, and after a turn where the files have changed since. The tree of a
// checkpoint may be recorded a little later, because it was kept in the
// background.
func index(s session.Session, records []session.Record) []entry {
	x := indexer{state: s, started: map[session.ID]bool{}, ends: map[int]session.Record{}}
	for _, r := range records {
		x.take(r)
	}
	slices.SortStableFunc(x.list, func(a, b entry) int { return cmp.Compare(a.to, b.to) })
	var list []entry
	for i, e := range x.list {
		// After a turn is listed only where the next checkpoint has other files.
		if !e.After || i+1 == len(x.list) || x.list[i+1].Tree != e.Tree {
			list = append(list, e)
		}
	}
	return list
}

type indexer struct {
	state   session.Session
	list    []entry
	early   *session.Checkpointed  // of a step that is about to begin
	started map[session.ID]bool    // sessions of steps
	ends    map[int]session.Record // of turns
}

func (x *indexer) take(r session.Record) {
	switch e := r.Event.(type) {
	case session.TurnStarted:
		x.addBefore(r, 0, firstLine(e.Prompt.Text))
	case session.TurnEnded:
		x.ends[r.Turn] = r
	case session.Checkpointed:
		switch {
		case e.After:
			x.addAfter(r, e)
		case !x.fill(&e) && e.Step > 0:
			x.early = &e
		}
	case session.StepMoved:
		if e.Step.State != session.StepRunning || x.started[e.Step.Session] {
			return
		}
		x.started[e.Step.Session] = true
		x.addBefore(r, e.Number, e.Step.Title)
		if x.early != nil {
			x.fill(x.early)
		}
		x.early = nil
	}
}

// at is the checkpoint at a record.
func (x *indexer) at(r session.Record) entry {
	contains := func(span session.RewoundSpan) bool { return span.Contains(r.Seq) }
	rewound := slices.ContainsFunc(x.state.RewoundSpans, contains)
	return entry{Checkpoint: session.Checkpoint{Seq: r.Seq, Turn: r.Turn, Time: r.Time, Rewound: rewound}, to: r.Seq}
}

// addBefore adds a checkpoint before a record.
func (x *indexer) addBefore(r session.Record, step int, title string) {
	e := x.at(r)
	e.Seq = r.Seq - 1
	e.to = r.Seq - 1
	e.Step = step
	e.Title = title
	x.list = append(x.list, e)
}

// addAfter adds a checkpoint after the end of a turn, which the record r keeps
// the tree of.
func (x *indexer) addAfter(r session.Record, kept session.Checkpointed) {
	end, ended := x.ends[kept.Turn]
	if !ended {
		return
	}
	e := x.at(end)
	e.Seq = r.Seq - 1
	e.to = end.Seq
	e.After = true
	e.fill(kept)
	for _, other := range x.list {
		if other.Turn == kept.Turn && other.Step == 0 && !other.After {
			e.Title = other.Title
		}
	}
	x.list = append(x.list, e)
}

// fill gives a checkpoint the tree that was kept for it.
func (x *indexer) fill(kept *session.Checkpointed) bool {
	for i := range slices.Backward(x.list) {
		e := &x.list[i]
		if e.Turn == kept.Turn && e.Step == kept.Step && !e.After && !e.filled {
			e.fill(*kept)
			return true
		}
	}
	return false
}

func (e *entry) fill(kept session.Checkpointed) {
	e.Tree = kept.Tree
	e.preImages = kept.PreImages
	e.skipped = kept.Skipped
	e.filled = true
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// List lists the checkpoints that a stored session can return to, oldest first.
func List(ctx context.Context, st *store.Store, id session.ID) ([]session.Checkpoint, error) {
	s, err := st.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	records, err := st.EventsOfType(ctx, id, indexedTypes...)
	if err != nil {
		return nil, err
	}
	var list []session.Checkpoint
	for _, e := range index(s, records) {
		if !e.Rewound {
			list = append(list, e.Checkpoint)
		}
	}
	return list, nil
}
