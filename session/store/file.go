package store

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// magic begins every SQLite 3 database: https://www.sqlite.org/fileformat2.html §1.3.
const magic = "SQLite format 3\x00"

// geometry reads page size and number of pages from a database's first 100
// bytes; zero where they make no sense or are not kept.
func geometry(head []byte) (page int, pages int64) {
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

// foreign reports whether the beginning of a database says that it holds
// something and that it is not ours: application id, user version (§1.3) and
// the number of rows in the schema's page (§1.6).
func foreign(head []byte) bool {
	return binary.BigEndian.Uint32(head[68:]) != application &&
		(binary.BigEndian.Uint32(head[60:]) != 0 || binary.BigEndian.Uint16(head[103:]) != 0)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
