package recovery

import (
	"encoding/json"
	"time"

	"belay/session"
)

// Unsent is a row of the table of what people were writing: in a session or, where
// there was none, in a folder.
type Unsent struct {
	Session session.ID
	Project string
	Updated time.Time
	Data    []byte
}

// UnsentSum is the checksum of what was being written, as it stands in its row.
func UnsentSum(id, project string, data []byte) int64 { return Sum(id, project, data) }

// Unsent finds the latest copy of all that was being written, as far as it is as it was
// written. Some of it may have been sent after that: rows that were removed are found
// as well.
func (d *Database) Unsent() []Unsent {
	type place struct {
		id      session.ID
		project string
	}
	latest := map[place]int{}
	var list []Unsent
	for _, columns := range d.rows() {
		u, ok := asUnsent(columns)
		if !ok {
			continue
		}
		at, known := latest[place{u.Session, u.Project}]
		switch {
		case !known:
			latest[place{u.Session, u.Project}] = len(list)
			list = append(list, u)
		case u.Updated.After(list[at].Updated):
			list[at] = u
		}
	}
	return list
}

// asUnsent reads a row as what was being written: session, folder, time, JSON and
// checksum.
func asUnsent(columns []any) (u Unsent, ok bool) {
	if len(columns) != 5 {
		return u, false
	}
	id, isID := columns[0].(string)
	project, isProject := columns[1].(string)
	at, isTime := columns[2].(int64)
	data, isData := columns[3].([]byte)
	sum, isSum := columns[4].(int64)
	if !isID || !isProject || !isTime || !isData || !isSum || (id == "") == (project == "") || len(id) > maxName {
		return u, false
	}
	if sum != UnsentSum(id, project, data) || !json.Valid(data) {
		return u, false
	}
	return Unsent{session.ID(id), project, time.Unix(0, at).UTC(), data}, true
}
