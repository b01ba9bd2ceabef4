package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"belay/session"
)

// PermissionGrants returns what "always" has allowed in a project, oldest first.
func (s *Store) PermissionGrants(ctx context.Context, project string) ([]string, error) {
	const step = "read permissions"
	rows, err := s.r.QueryContext(ctx, "SELECT rule FROM grants WHERE project = ? ORDER BY time, rule", project)
	if err != nil {
		return nil, s.fail(step, err)
	}
	defer rows.Close()
	var rules []string
	for rows.Next() {
		var rule string
		if err := rows.Scan(&rule); err != nil {
			return nil, s.fail(step, err)
		}
		rules = append(rules, rule)
	}
	return rules, s.fail(step, rows.Err())
}

// GrantPermission allows something in a project from now on.
func (s *Store) GrantPermission(ctx context.Context, project, rule string) error {
	return s.write(ctx, "save permission", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO grants VALUES (?, ?, ?) ON CONFLICT DO NOTHING", project, rule, nanos(s.now()))
		return err
	})
}

// Trusted reports whether the user trusts the settings and instructions in a
// folder, and whether that was ever decided.
func (s *Store) Trusted(ctx context.Context, project string) (trusted, known bool, err error) {
	err = s.r.QueryRowContext(ctx, "SELECT trusted FROM trust WHERE project = ?", project).Scan(&trusted)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	if err != nil {
		return false, false, s.fail("read trust", err)
	}
	return trusted, true, nil
}

// SetTrusted keeps the user's word about a folder.
func (s *Store) SetTrusted(ctx context.Context, project string, trusted bool) error {
	return s.write(ctx, "save trust", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO trust VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET trusted = excluded.trusted, time = excluded.time",
			project, trusted, nanos(s.now()))
		return err
	})
}

// SnapshotTrees lists the working trees that a project's sessions may return to, those
// of sessions that were touched since a time.
func (s *Store) SnapshotTrees(ctx context.Context, project string, since time.Time) ([]string, error) {
	const step = "list working trees"
	rows, err := s.r.QueryContext(ctx, `SELECT e.type, e.data FROM sessions s JOIN events e ON e.session = s.id
		WHERE s.project = ? AND s.updated >= ? AND e.type IN ('checkpoint', 'rewinding')`, project, nanos(since))
	if err != nil {
		return nil, s.fail(step, err)
	}
	defer rows.Close()
	var trees []string
	for rows.Next() {
		var name string
		var data []byte
		if err := rows.Scan(&name, &data); err != nil {
			return nil, s.fail(step, err)
		}
		e, err := session.Decode(name, data)
		if err != nil {
			return nil, s.fail(step, err) // rather none is given up
		}
		switch e := e.(type) {
		case session.Checkpointed:
			trees = append(trees, e.Tree)
		case session.Rewinding:
			trees = append(trees, e.Tree, e.From)
		}
	}
	slices.Sort(trees)
	return slices.Compact(trees), s.fail(step, rows.Err())
}

// mostPrompts bounds what a person can page back through.
const mostPrompts = 200

// Prompts lists the last prompts of a project's sessions, the oldest first.
func (s *Store) Prompts(ctx context.Context, project string) ([]string, error) {
	const step = "read prompts"
	rows, err := s.r.QueryContext(ctx, `SELECT e.data FROM events e JOIN sessions s ON s.id = e.session
		WHERE e.type = 'turn.started' AND s.project = ? AND NOT EXISTS (SELECT 1 FROM parts WHERE parts.session = s.id) ORDER BY e.time DESC, e.seq DESC LIMIT ?`, project, mostPrompts)
	if err != nil {
		return nil, s.fail(step, err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return nil, s.fail(step, err)
		}
		if e, err := session.Decode("turn.started", data); err == nil {
			list = append(list, e.(session.TurnStarted).Prompt.Text)
		}
	}
	slices.Reverse(list)
	return list, s.fail(step, rows.Err())
}
