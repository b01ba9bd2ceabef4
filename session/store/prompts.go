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
	rows, err := s.reader.QueryContext(ctx, `SELECT type, data FROM (
			SELECT type, data, time, seq, session FROM events WHERE type = 'turn.started'
			UNION ALL SELECT type, data, time, seq, session FROM events WHERE type = 'prompt.taken') e
		JOIN sessions s ON s.id = e.session
		WHERE s.project = ? AND NOT EXISTS (SELECT 1 FROM parts WHERE parts.session = s.id)
		ORDER BY e.time DESC, e.seq DESC LIMIT ?`, project, maxPrompts)
	if err != nil {
		return nil, s.wrap(step, err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var name string
		var data []byte
		if err := rows.Scan(&name, &data); err != nil {
			return nil, s.wrap(step, err)
		}
		switch e, _ := session.Decode(name, data); e := e.(type) { // one that the disk altered is left out
		case session.TurnStarted:
			list = append(list, e.Prompt.Text)
		case session.PromptTaken:
			list = append(list, e.Prompt.Text)
		}
	}
	slices.Reverse(list)
	return list, s.wrap(step, rows.Err())
}
