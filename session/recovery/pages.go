package recovery

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
)

// Database reads rows out of the pages of a damaged database without trusting
// anything that joins pages into tables: file header, schema, inner nodes, free
// lists and the log's checksums may all be gone. The layout is that of
// https://www.sqlite.org/fileformat2.html, §1.6 (b-tree pages), §2.1 (records)
// and §4.1 (write-ahead log).
type Database struct {
	db     *os.File // nil: there is none
	wal    *os.File // nil: there is none
	size   int      // of a page
	pages  int64    // whole pages in db
	frames int64    // whole frames in wal
	newest map[uint32]int64
	limit  int64 // no row can be longer than all there is
}

const (
	walHeader   = 32
	frameHeader = 24
	leafTable   = 0x0d
)

// Open looks at a database and the log beside it. Either may be missing.
func Open(path string) (*Database, error) {
	d := &Database{newest: make(map[uint32]int64)}
	var err error
	if d.db, err = os.Open(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if d.wal, err = os.Open(path + "-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(err, d.Close())
	}
	return d, d.measure()
}

// Close closes the files.
func (d *Database) Close() error {
	var err error
	for _, f := range []*os.File{d.db, d.wal} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

func (d *Database) measure() error {
	d.size = 4096 // as SQLite makes them, when the header does not tell
	var head [100]byte
	if length, err := length(d.db); err != nil {
		return err
	} else if length > 0 {
		n, err := d.db.ReadAt(head[:], 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if page, _ := Geometry(head[:]); page > 0 && string(head[:16]) == Magic && n == len(head) {
			d.size = page
		}
		d.pages = (length + int64(d.size) - 1) / int64(d.size)
		d.limit += length
	}
	length, err := length(d.wal)
	if err != nil || length <= walHeader {
		return err
	}
	d.limit += length
	d.frames = (length - walHeader) / int64(d.size+frameHeader)
	for n := range d.frames {
		var number [4]byte
		if _, err := d.wal.ReadAt(number[:], walHeader+n*int64(d.size+frameHeader)); err != nil {
			return err
		}
		d.newest[binary.BigEndian.Uint32(number[:])] = n
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
func (d *Database) page(number int64) []byte {
	if d.db == nil || number < 1 || number > d.pages {
		return nil
	}
	buf := make([]byte, d.size)
	if _, err := d.db.ReadAt(buf, (number-1)*int64(d.size)); err != nil && !errors.Is(err, io.EOF) {
		return nil // an unreadable sector costs what is in it
	}
	return buf
}

func (d *Database) frame(n int64) []byte {
	buf := make([]byte, d.size)
	if _, err := d.wal.ReadAt(buf, walHeader+n*int64(d.size+frameHeader)+frameHeader); err != nil {
		return nil
	}
	return buf
}

// location is where a row stands: a cell of a page of the database, or of a frame.
type location struct {
	at     int64 // page number, or -1-frame
	offset int   // of the cell in the page
}

func (d *Database) pageAt(p location) []byte {
	if p.at < 0 {
		return d.frame(-1 - p.at)
	}
	return d.page(p.at)
}

// rows gives every row of every leaf there is, those of the log first because
// they are newer. A row may come several times.
func (d *Database) rows() iter.Seq2[location, []any] {
	return func(yield func(location, []any) bool) {
		for n := d.frames - 1; n >= 0; n-- {
			if !d.leaf(-1-n, d.frame(n), 0, yield) {
				return
			}
		}
		for n := int64(1); n <= d.pages; n++ {
			start := 0
			if n == 1 {
				start = 100
			}
			if !d.leaf(n, d.page(n), start, yield) {
				return
			}
		}
	}
}

func (d *Database) leaf(at int64, page []byte, start int, yield func(location, []any) bool) bool {
	if len(page) < start+8 || page[start] != leafTable {
		return true
	}
	count := int(binary.BigEndian.Uint16(page[start+3:]))
	for i := range count {
		pointer := start + 8 + 2*i
		if pointer+2 > len(page) {
			return true
		}
		p := location{at, int(binary.BigEndian.Uint16(page[pointer:]))}
		if columns := d.row(page, p.offset); columns != nil && !yield(p, columns) {
			return false
		}
	}
	return true
}

// row reads the row in a cell. Its long end is looked for in the newest pages
// and then in the older ones, and taken where it makes an event's JSON.
func (d *Database) row(page []byte, offset int) []any {
	var readable []any
	for _, newest := range []bool{true, false} {
		payload, spilled := d.payload(page, offset, newest)
		columns := parse(payload)
		if len(columns) == 0 {
			continue
		}
		if !spilled {
			return columns
		}
		data, sum := contents(columns)
		if !json.Valid(data) {
			continue
		}
		if e, ok := asEvent(columns); !ok || sum == nil || !e.Altered {
			return columns
		}
		readable = columns
	}
	return readable
}

// contents gives the JSON with which a row ends, and the checksum behind it; nil:
// it has none.
func contents(columns []any) (data []byte, sum *int64) {
	last := len(columns) - 1
	if n, ok := columns[last].(int64); ok {
		sum = &n
	}
	if _, ok := columns[last].([]byte); !ok && last > 0 {
		last--
	}
	data, _ = columns[last].([]byte)
	return data, sum
}

// payload is a cell's content (§1.6), with what spilled into other pages.
func (d *Database) payload(page []byte, offset int, newest bool) (payload []byte, spilled bool) {
	if offset < 8 || offset >= len(page) {
		return nil, false
	}
	cell := page[offset:]
	size, n := varint(cell)
	_, m := varint(cell[n:])
	cell = cell[n+m:]
	if n == 0 || m == 0 || size <= 0 || size > d.limit {
		return nil, false
	}
	local := size
	usable := int64(d.size)
	if maxLocal := usable - 35; size > maxLocal {
		minLocal := (usable-12)*32/255 - 23
		if local = minLocal + (size-minLocal)%(usable-4); local > maxLocal {
			local = minLocal
		}
	}
	if local > int64(len(cell)) || !ours(cell[:local]) {
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
		more := d.page(int64(next))
		if n, ok := d.newest[next]; newest && ok {
			more = d.frame(n)
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
