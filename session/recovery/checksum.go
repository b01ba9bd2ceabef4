package recovery

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The checksum of a row: CRC-32C (RFC 3720, appendix B.4), which finds every change
// of up to 32 neighbouring bits. A session's id is no part of an event's, so that a
// fork takes events over as they are.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// EventSum is the checksum of an event, as it stands in its row.
func EventSum(seq int64, turn int, nanos int64, name string, data []byte) int64 {
	return Sum(seq, int64(turn), nanos, name, data)
}

// DraftSum is the checksum of a draft, as it stands in its row.
func DraftSum(id string, data []byte) int64 { return Sum(id, data) }

// Sum is the checksum of the columns of a row: int64, string or []byte. It is a
// number of 32 bits with a sign, which takes SQLite the fewest bytes.
func Sum(columns ...any) int64 {
	sum := uint32(0)
	var number [8]byte
	add := func(n int64) {
		binary.BigEndian.PutUint64(number[:], uint64(n))
		sum = crc32.Update(sum, castagnoli, number[:])
	}
	for _, c := range columns {
		switch c := c.(type) {
		case int64:
			add(c)
		case string:
			add(int64(len(c)))
			sum = crc32.Update(sum, castagnoli, []byte(c))
		case []byte:
			add(int64(len(c)))
			sum = crc32.Update(sum, castagnoli, c)
		default:
			panic(fmt.Sprintf("checksum of a %T", c))
		}
	}
	return int64(int32(sum))
}
