package store

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// isForeign reports whether the beginning of a database says that it holds
// something and that it is not ours: application id, user version (§1.3) and
// the number of rows in the schema's page (§1.6).
func isForeign(head []byte) bool {
	return binary.BigEndian.Uint32(head[68:]) != applicationID &&
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
