package store

import (
	"context"
	"database/sql"

	"belay/session/recovery"
)

// PermissionGrants returns what "always" has allowed in a project, oldest first.
func (s *Store) PermissionGrants(ctx context.Context, project string) ([]string, error) {
	const step = "read permissions"
	rows, err := s.reader.QueryContext(
		ctx,
		"SELECT rule, sum FROM grants WHERE project = ? ORDER BY time, rule",
		project,
	)
	if err != nil {
		return nil, s.wrap(step, err)
	}
	defer rows.Close()
	var rules []string
	for rows.Next() {
		var rule string
		var sum sql.NullInt64
		if err := rows.Scan(&rule, &sum); err != nil {
			return nil, s.wrap(step, err)
		}
		if !isAltered(sum, recovery.Sum(project, rule)) {
			rules = append(rules, rule)
		}
	}
	return rules, s.wrap(step, rows.Err())
}

// RevokePermission takes back what "always" has allowed in a project.
func (s *Store) RevokePermission(ctx context.Context, project, rule string) error {
	return s.write(ctx, "revoke permission", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM grants WHERE project = ? AND rule = ?", project, rule)
		return err
	})
}

// GrantPermission allows something in a project from now on.
func (s *Store) GrantPermission(ctx context.Context, project, rule string) error {
	return s.write(ctx, "save permission", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(
			ctx,
			"INSERT INTO grants VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET sum = excluded.sum",
			project,
			rule,
			nanos(s.now()),
			recovery.Sum(project, rule),
		)
		return err
	})
}
