package store

import (
	"context"
	"slices"
	"time"

	"belay/session"
)

// SnapshotTrees lists the working trees that a project's sessions may return to, those
// of sessions that were touched since a time.
func (s *Store) SnapshotTrees(ctx context.Context, project string, since time.Time) ([]string, error) {
	const step = "list working trees"
	rows, err := s.reader.QueryContext(ctx, `SELECT e.type, e.data FROM sessions s JOIN events e ON e.session = s.id
		WHERE s.project = ? AND s.updated >= ? AND e.type IN ('checkpoint', 'rewinding')`, project, nanos(since))
	if err != nil {
		return nil, s.wrap(step, err)
	}
	defer rows.Close()
	var trees []string
	for rows.Next() {
		var name string
		var data []byte
		if err := rows.Scan(&name, &data); err != nil {
			return nil, s.wrap(step, err)
		}
		e, err := session.Decode(name, data)
		if err != nil {
			return nil, s.wrap(step, err) // rather none is given up
		}
		switch e := e.(type) {
		case session.Checkpointed:
			trees = append(trees, e.Tree)
		case session.Rewinding:
			trees = append(trees, e.Tree, e.From)
		}
	}
	slices.Sort(trees)
	return slices.Compact(trees), s.wrap(step, rows.Err())
}
