package store

import (
	"context"
	"slices"

	"belay/session"
)

// maxPrompts bounds what a person can page back through.
const maxPrompts = 200

// Prompts lists the last prompts of a project's sessions, the oldest first.
func (s *Store) Prompts(ctx context.Context, project string) ([]string, error) {
	const step = "read prompts"
	rows, err := s.reader.QueryContext(ctx, `SELECT e.data FROM events e JOIN sessions s ON s.id = e.session
		WHERE e.type = 'turn.started' AND s.project = ?
			AND NOT EXISTS (SELECT 1 FROM parts WHERE parts.session = s.id)
		ORDER BY e.time DESC, e.seq DESC LIMIT ?`, project, maxPrompts)
	if err != nil {
		return nil, s.wrap(step, err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return nil, s.wrap(step, err)
		}
		if e, err := session.Decode("turn.started", data); err == nil {
			list = append(list, e.(session.TurnStarted).Prompt.Text)
		}
	}
	slices.Reverse(list)
	return list, s.wrap(step, rows.Err())
}
