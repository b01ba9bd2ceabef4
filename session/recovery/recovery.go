// Package recovery decides which rows of a damaged session database can still be
// read. It works on the bytes of the file, without SQLite, which refuses the
// whole for the sake of a part.
package recovery

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"

	"belay/session"
)

// Magic begins every SQLite 3 database: https://www.sqlite.org/fileformat2.html §1.3.
const Magic = "SQLite format 3\x00"

// Geometry reads page size and number of pages from a database's first 100
// bytes; zero where they make no sense or are not kept.
func Geometry(head []byte) (page int, pages int64) {
	page = int(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 1 << 16
	}
	if page < 512 || page&(page-1) != 0 {
		return 0, 0
	}
	// The number is only valid when it was written with the last change.
	if binary.BigEndian.Uint32(head[24:]) != binary.BigEndian.Uint32(head[92:]) {
		return page, 0
	}
	return page, int64(binary.BigEndian.Uint32(head[28:]))
}

// maxName bounds ids and names: longer ones are not ours.
const maxName = 64

// Event is a row of the table of events.
type Event struct {
	Session session.ID
	Seq     int64
	Turn    int
	Time    time.Time
	Name    string
	Data    []byte
	Altered bool // it is not what was written; of those without a checksum nobody can tell
	summed  bool // it has one
}

// asEvent reads a row as an event: a NULL that stands for the row's id, then
// session, number, turn, time, name, JSON and, since version 4 of the schema, the
// checksum.
func asEvent(columns []any) (Event, bool) {
	if len(columns) != 7 && len(columns) != 8 || columns[0] != nil {
		return Event{}, false
	}
	id, isText := columns[1].(string)
	seq, isNumber := columns[2].(int64)
	turn, isTurn := columns[3].(int64)
	at, isTime := columns[4].(int64)
	name, isName := columns[5].(string)
	data, isBlob := columns[6].([]byte)
	var sum *int64
	if len(columns) == 8 {
		_, sum = contents(columns)
	}
	if !isText || !isNumber || !isTurn || !isTime || !isName || !isBlob {
		return Event{}, false
	}
	if id == "" || len(id) > maxName || name == "" || len(name) > maxName || seq < 1 || turn < 0 {
		return Event{}, false
	}
	return Event{
		Session: session.ID(id),
		Seq:     seq,
		Turn:    int(turn),
		Time:    time.Unix(0, at).UTC(),
		Name:    name,
		Data:    data,
		Altered: sum != nil && *sum != EventSum(seq, int(turn), at, name, data),
		summed:  sum != nil,
	}, true
}

// Recognized reports whether a file holds anything of ours.
func Recognized(path string) bool {
	d, err := Open(path)
	if err != nil {
		return false
	}
	defer d.Close() //nolint:errcheck // it was only read
	for _, columns := range d.rows() {
		if e, ok := asEvent(columns); ok && e.Name == "created" {
			return true
		}
	}
	return false
}

// Session is what can be read of one session.
type Session struct {
	ID      session.ID
	State   session.Session // the latest copy that can be read; zero: none
	LastSeq int64           // the highest number seen, readable or not
	Draft   session.Draft
	rows    []row

	DraftAltered bool // it is not what was written
	db           *Database
}

// row is where an event stands.
type row struct {
	seq  int64
	at   location
	rank rank
}

// rank says how far a copy of an event can be relied on.
type rank int

const (
	proven rank = iota
	unproven
	altered
)

// Events reads the session's events again, in their order.
func (s *Session) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for _, r := range s.rows {
			e, ok := asEvent(s.db.row(s.db.pageAt(r.at), r.at.offset))
			if !ok {
				continue // the disk gives other bytes than a moment ago
			}
			if !yield(e) {
				return
			}
		}
	}
}

// Sessions finds the sessions of a database, in the order of their ids. Where a
// row exists several times, any copy whose checksum is right is as good as another,
// because events never change.
func (d *Database) Sessions() []*Session {
	found := map[session.ID]*Session{}
	at := func(id session.ID) *Session {
		if found[id] == nil {
			found[id] = &Session{ID: id, db: d}
		}
		return found[id]
	}
	for place, columns := range d.rows() {
		if e, ok := asEvent(columns); ok {
			at(e.Session).addEvent(e, place)
		} else if state, ok := asState(columns); ok && state.LastSeq >= at(state.ID).State.LastSeq {
			at(state.ID).State = state
		} else if id, draft, altered, ok := asDraft(columns); ok && draft.Turn >= at(id).Draft.Turn {
			at(id).Draft, at(id).DraftAltered = draft, altered
		}
	}
	for id, s := range found {
		if len(s.rows) == 0 && s.State.ID == "" { // a draft alone, or nothing readable
			delete(found, id)
			continue
		}
		slices.SortStableFunc(s.rows, func(a, b row) int {
			return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.rank, b.rank))
		})
		s.rows = slices.CompactFunc(s.rows, func(a, b row) bool { return a.seq == b.seq })
		s.LastSeq = max(s.LastSeq, s.State.LastSeq)
	}
	var list []*Session
	for _, id := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[id])
	}
	return list
}

func (s *Session) addEvent(e Event, at location) {
	s.LastSeq = max(s.LastSeq, e.Seq)
	if _, err := session.Decode(e.Name, e.Data); err == nil && json.Valid(e.Data) {
		s.rows = append(s.rows, row{e.Seq, at, e.rank()})
	}
}

func (e Event) rank() rank {
	switch {
	case e.Altered:
		return altered
	case e.summed:
		return proven
	}
	return unproven
}

// asState reads a row of the table of sessions: its last column is the state.
func asState(columns []any) (session.Session, bool) {
	var state session.Session
	if len(columns) != 8 {
		return state, false
	}
	data, isBlob := columns[7].([]byte)
	if !isBlob || json.Unmarshal(data, &state) != nil {
		return state, false
	}
	return state, state.ID != "" && columns[0] == string(state.ID)
}

// asDraft reads a row of the table of drafts: session, JSON and, since version 4 of
// the schema, the checksum. A draft that was altered is still worth having.
func asDraft(columns []any) (id session.ID, draft session.Draft, altered, ok bool) {
	if len(columns) != 2 && len(columns) != 3 {
		return "", draft, false, false
	}
	name, isText := columns[0].(string)
	data, isBlob := columns[1].([]byte)
	if !isText || !isBlob || json.Unmarshal(data, &draft) != nil {
		return "", draft, false, false
	}
	_, sum := contents(columns)
	return session.ID(name), draft, sum != nil && *sum != DraftSum(name, data), true
}
