package store

import (
	"context"
	"strings"

	"belay/session"
)

// Tail is the end of a session's log, as far as it can go into a request.
type Tail struct {
	// Whole says that nothing of the log is missing.
	Whole bool

	store  *Store
	state  session.Session
	prompt int64 // the beginning of a turn of which only the end is in the tail; 0: there is none
	first  int64
}

// Tail finds the end of a session's log that has about so many bytes, from the
// beginning of a turn on. Of a turn that is longer it has the prompt and the end. What
// was taken back does not count. Nothing is read yet but sizes.
func (s *Store) Tail(ctx context.Context, state session.Session, maxBytes int) (Tail, error) {
	t := Tail{store: s, state: state, first: 1, Whole: true}
	for end, left, piece := state.LastSeq, int64(maxBytes), int64(64); end > 0; {
		size, err := t.size(ctx, end-piece+1, end)
		if err != nil && !isDamaged(err) { // what cannot be read takes no room
			return t, s.wrap("read session", err)
		}
		switch {
		case size < left:
			left -= size
			end -= piece
		case piece > 1: // the border is in it
			piece /= 2
		case end == 1:
			return t, nil
		default:
			t.first, t.Whole = end, false
			return t, s.wrap("read session", t.beginAtTurn(ctx))
		}
	}
	return t, nil
}

// size is how many bytes the records from first to last take.
func (t *Tail) size(ctx context.Context, first, last int64) (int64, error) {
	var b strings.Builder
	b.WriteString("SELECT coalesce(sum(length(data)), 0) FROM events WHERE session = ? AND seq BETWEEN ? AND ?")
	args := []any{t.state.ID, first, last}
	for _, span := range t.state.RewoundSpans {
		if span.Until > first && span.From < last {
			b.WriteString(" AND NOT (seq > ? AND seq < ?)")
			args = append(args, span.From, span.Until)
		}
	}
	var size int64
	err := t.store.reader.QueryRowContext(ctx, b.String(), args...).Scan(&size)
	return size, err
}

// beginAtTurn moves the beginning to that of the next turn, or finds the one that the
// tail is in the middle of.
func (t *Tail) beginAtTurn(ctx context.Context) error {
	later, err := t.turn(ctx, "seq BETWEEN ? AND ? ORDER BY seq", t.first, t.state.LastSeq)
	if err == nil && later > 0 {
		t.first = later
		return nil
	}
	if err == nil {
		t.prompt, err = t.turn(ctx, "seq < ? ORDER BY seq DESC", t.first)
	}
	if isDamaged(err) {
		return nil
	}
	return err
}

// turn is the first beginning of a turn that was not taken back, or 0.
func (t *Tail) turn(ctx context.Context, which string, bounds ...any) (int64, error) {
	rows, err := t.store.reader.QueryContext(ctx,
		"SELECT seq FROM events WHERE session = ? AND type = 'turn.started' AND "+which,
		append([]any{t.state.ID}, bounds...)...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		if err := rows.Scan(&seq); err != nil {
			return 0, err
		}
		if !t.state.IsRewound(seq) {
			return seq, nil
		}
	}
	return 0, rows.Err()
}

// Len is how many records there are at most.
func (t *Tail) Len() int { return int(t.state.LastSeq - t.first + 1) }

// Each gives the records of the tail to do, the oldest first, without those that were
// taken back. They are read in small pieces. What cannot be read is told by a Noted in
// its place.
func (t *Tail) Each(ctx context.Context, do func(session.Record)) error {
	active := func(r session.Record, _ int64) error {
		if !t.state.IsRewound(r.Seq) {
			do(r)
		}
		return nil
	}
	var err error
	if t.prompt > 0 {
		err = eachBetween(ctx, t.store.reader, t.state.ID, t.prompt, t.prompt, active)
	}
	if err == nil {
		err = eachFrom(ctx, t.store.reader, t.state.ID, t.first, active)
	}
	return t.store.wrap("read session", err)
}
