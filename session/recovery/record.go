package recovery

// ours reports whether a record's header is that of a table we look for, before
// any long end is followed: sessions, events, drafts and unsent text end in a blob, or in a
// checksum behind it.
func ours(payload []byte) bool {
	header, n := varint(payload)
	if n == 0 || header < int64(n) || header > int64(len(payload)) {
		return false
	}
	columns, kind, before := 0, int64(0), int64(0)
	for types := payload[n:header]; len(types) > 0; columns++ {
		var n int
		before = kind
		if kind, n = varint(types); n == 0 {
			return false
		}
		types = types[n:]
	}
	if kind == 0 || isNumber(kind) { // NULL: copied from a row that had none
		return (columns == 3 || columns == 5 || columns == 8) && isBlob(before)
	}
	return (columns == 2 || columns == 7 || columns == 8) && isBlob(kind)
}

// isNumber and isBlob tell what a serial type stands for (§2.1).
func isNumber(kind int64) bool { return kind >= 1 && kind <= 6 || kind == 8 || kind == 9 }

func isBlob(kind int64) bool { return kind >= 12 && kind%2 == 0 }

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
