package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
)

// ruin reads rows out of the pages of a damaged database without trusting
// anything that joins pages into tables: file header, schema, inner nodes,
// free lists and the log's checksums may all be gone. The layout is that of
// https://www.sqlite.org/fileformat2.html, §1.6 (b-tree pages), §2.1 (records)
// and §4.1 (write-ahead log).
type ruin struct {
	db, wal *os.File // either may be nil
	size    int      // of a page
	pages   int64    // whole pages in db
	frames  int64    // whole frames in wal
	newest  map[uint32]int64
	limit   int64 // no row can be longer than all there is
}

const (
	walHeader   = 32
	frameHeader = 24
	leafTable   = 0x0d
)

// openRuin looks at a database and the log beside it.
func openRuin(path string) (*ruin, error) {
	r := &ruin{newest: make(map[uint32]int64)}
	var err error
	if r.db, err = os.Open(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if r.wal, err = os.Open(path + "-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(err, r.close())
	}
	return r, r.measure()
}

func (r *ruin) close() error {
	var err error
	for _, f := range []*os.File{r.db, r.wal} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

func (r *ruin) measure() error {
	r.size = 4096 // as SQLite makes them, when the header does not tell
	var head [100]byte
	if length, err := length(r.db); err != nil {
		return err
	} else if length > 0 {
		n, err := r.db.ReadAt(head[:], 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if page, _ := geometry(head[:]); page > 0 && string(head[:16]) == magic && n == len(head) {
			r.size = page
		}
		r.pages = (length + int64(r.size) - 1) / int64(r.size)
		r.limit += length
	}
	length, err := length(r.wal)
	if err != nil || length <= walHeader {
		return err
	}
	r.limit += length
	r.frames = (length - walHeader) / int64(r.size+frameHeader)
	for n := range r.frames {
		var number [4]byte
		if _, err := r.wal.ReadAt(number[:], walHeader+n*int64(r.size+frameHeader)); err != nil {
			return err
		}
		r.newest[binary.BigEndian.Uint32(number[:])] = n
	}
	return nil
}

func length(f *os.File) (int64, error) {
	if f == nil {
		return 0, nil
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// page reads a page of the database by its number, from 1. The last one may be
// torn; what is missing is zero.
func (r *ruin) page(number int64) []byte {
	if r.db == nil || number < 1 || number > r.pages {
		return nil
	}
	buf := make([]byte, r.size)
	if _, err := r.db.ReadAt(buf, (number-1)*int64(r.size)); err != nil && !errors.Is(err, io.EOF) {
		return nil // an unreadable sector costs what is in it
	}
	return buf
}

func (r *ruin) frame(n int64) []byte {
	buf := make([]byte, r.size)
	if _, err := r.wal.ReadAt(buf, walHeader+n*int64(r.size+frameHeader)+frameHeader); err != nil {
		return nil
	}
	return buf
}

// place is where a row stands: a cell of a page of the database, or of a frame.
type place struct {
	at     int64 // page number, or -1-frame
	offset int   // of the cell in the page
}

func (r *ruin) at(p place) []byte {
	if p.at < 0 {
		return r.frame(-1 - p.at)
	}
	return r.page(p.at)
}

// rows gives every row of every leaf there is, those of the log first because
// they are newer. A row may come several times.
func (r *ruin) rows() iter.Seq2[place, []any] {
	return func(yield func(place, []any) bool) {
		for n := r.frames - 1; n >= 0; n-- {
			if !r.leaf(-1-n, r.frame(n), 0, yield) {
				return
			}
		}
		for n := int64(1); n <= r.pages; n++ {
			start := 0
			if n == 1 {
				start = 100
			}
			if !r.leaf(n, r.page(n), start, yield) {
				return
			}
		}
	}
}

func (r *ruin) leaf(at int64, page []byte, start int, yield func(place, []any) bool) bool {
	if len(page) < start+8 || page[start] != leafTable {
		return true
	}
	count := int(binary.BigEndian.Uint16(page[start+3:]))
	for i := range count {
		pointer := start + 8 + 2*i
		if pointer+2 > len(page) {
			return true
		}
		p := place{at, int(binary.BigEndian.Uint16(page[pointer:]))}
		if columns := r.row(page, p.offset); columns != nil && !yield(p, columns) {
			return false
		}
	}
	return true
}

// row reads the row in a cell. Its long end is looked for in the newest pages
// and then in the older ones, and taken where it makes an event's JSON.
func (r *ruin) row(page []byte, offset int) []any {
	for _, newest := range []bool{true, false} {
		payload, spilled := r.payload(page, offset, newest)
		columns := parse(payload)
		if len(columns) == 0 {
			continue
		}
		data, ok := columns[len(columns)-1].([]byte)
		if !ok || json.Valid(data) || !spilled {
			return columns
		}
	}
	return nil
}

// payload is a cell's content (§1.6), with what spilled into other pages.
func (r *ruin) payload(page []byte, offset int, newest bool) (payload []byte, spilled bool) {
	if offset < 8 || offset >= len(page) {
		return nil, false
	}
	cell := page[offset:]
	size, n := varint(cell)
	_, m := varint(cell[n:])
	cell = cell[n+m:]
	if n == 0 || m == 0 || size <= 0 || size > r.limit {
		return nil, false
	}
	local := size
	usable := int64(r.size)
	if most := usable - 35; size > most {
		least := (usable-12)*32/255 - 23
		if local = least + (size-least)%(usable-4); local > most {
			local = least
		}
	}
	if local > int64(len(cell)) {
		return nil, false
	}
	if !ours(cell[:local]) {
		return nil, false
	}
	payload = append(payload, cell[:local]...)
	if local == size {
		return payload, false
	}
	if int64(len(cell)) < local+4 {
		return nil, false
	}
	next := binary.BigEndian.Uint32(cell[local:])
	for int64(len(payload)) < size {
		more := r.page(int64(next))
		if n, ok := r.newest[next]; newest && ok {
			more = r.frame(n)
		}
		if more == nil {
			return nil, true
		}
		rest := min(size-int64(len(payload)), int64(len(more)-4))
		payload = append(payload, more[4:4+rest]...)
		next = binary.BigEndian.Uint32(more)
	}
	return payload, true
}

// ours reports whether a record's header is that of a table we look for, before
// any long end is followed: sessions, events or drafts end in a blob.
func ours(payload []byte) bool {
	header, n := varint(payload)
	if n == 0 || header < int64(n) || header > int64(len(payload)) {
		return false
	}
	columns, kind := 0, int64(0)
	for types := payload[n:header]; len(types) > 0; columns++ {
		var n int
		if kind, n = varint(types); n == 0 {
			return false
		}
		types = types[n:]
	}
	return (columns == 2 || columns == 7 || columns == 8) && kind >= 12 && kind%2 == 0
}

// parse takes a record apart (§2.1) into int64, string, []byte or nil; nil when
// it is none. Numbers with a fraction occur in none of our tables.
func parse(payload []byte) []any {
	header, n := varint(payload)
	if n == 0 || header < int64(n) || header > int64(len(payload)) {
		return nil
	}
	types, body := payload[n:header], payload[header:]
	var columns []any
	for len(types) > 0 {
		kind, n := varint(types)
		if n == 0 || kind < 0 || len(columns) > 16 {
			return nil
		}
		types = types[n:]
		size := int64(0)
		switch {
		case kind >= 12:
			size = (kind - 12) / 2
		case kind <= 6:
			size = [...]int64{0, 1, 2, 3, 4, 6, 8}[kind]
		case kind == 7 || kind > 9:
			return nil
		}
		if size > int64(len(body)) {
			return nil
		}
		columns = append(columns, value(kind, body[:size]))
		body = body[size:]
	}
	return columns
}

func value(kind int64, data []byte) any {
	switch {
	case kind == 0:
		return nil
	case kind == 8 || kind == 9:
		return kind - 8
	case kind >= 12 && kind%2 == 0:
		return data
	case kind >= 12:
		return string(data)
	}
	n := int64(int8(data[0]))
	for _, b := range data[1:] {
		n = n<<8 | int64(b)
	}
	return n
}

// varint reads SQLite's big-endian variable-length integer (§1.6); n is 0 at
// the end of the data.
func varint(data []byte) (v int64, n int) {
	var u uint64
	for i, b := range data {
		if i == 8 {
			return int64(u<<8 | uint64(b)), 9
		}
		u = u<<7 | uint64(b&0x7f)
		if b < 0x80 {
			return int64(u), i + 1
		}
	}
	return 0, 0
}
