package queue

import "strings"

const schemaVersion = 1

// schema makes belay's own tables. Times are nanoseconds since 1970, 0 is none.
func (q *Queue) schema() []string {
	blob := "BLOB"
	if q.postgres {
		blob = "BYTEA"
	}
	text := strings.ReplaceAll(`
CREATE TABLE IF NOT EXISTS belay_queue (version BIGINT NOT NULL);

CREATE TABLE IF NOT EXISTS belay_batch (
	id      TEXT PRIMARY KEY,
	name    TEXT NOT NULL,      -- of its file
	scope   TEXT NOT NULL,      -- who may work on it: "work" are all workers, else the one that runs it
	machine TEXT NOT NULL,      -- that it came from
	created BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS belay_task (
	id         TEXT PRIMARY KEY,
	batch      TEXT NOT NULL REFERENCES belay_batch (id),
	number     BIGINT NOT NULL, -- in its batch, from 1
	name       TEXT NOT NULL,
	spec       TEXT NOT NULL,   -- JSON
	tier       TEXT NOT NULL,   -- what --shift-tier changes
	lane       TEXT NOT NULL,
	priority   BIGINT NOT NULL,
	scope      TEXT NOT NULL,
	place      TEXT NOT NULL,   -- the folder that it works in; empty: a worktree of its own
	state      TEXT NOT NULL,
	not_before BIGINT NOT NULL,
	tries      BIGINT NOT NULL,
	failures   BIGINT NOT NULL, -- of tries, which retries are counted by
	restarts   BIGINT NOT NULL, -- begun anew, as its machine was gone
	job        BIGINT NOT NULL, -- river's

	token       BIGINT NOT NULL, -- grows with each lease: an older one writes nothing any more
	worker      TEXT NOT NULL,   -- who holds it
	machine     TEXT NOT NULL,   -- where its session and its files are
	lease_until BIGINT NOT NULL,
	cancelling  BIGINT NOT NULL, -- somebody wants it to end

	progress TEXT NOT NULL,      -- JSON
	started  BIGINT NOT NULL,
	ended    BIGINT NOT NULL,
	updated  BIGINT NOT NULL,
	result   TEXT NOT NULL,      -- JSON
	patch    blob,
	record   blob                -- the session's log, gzip
);
CREATE INDEX IF NOT EXISTS belay_task_batch ON belay_task (batch, number);
CREATE INDEX IF NOT EXISTS belay_task_next ON belay_task (batch, lane, state, place, priority, number);
CREATE INDEX IF NOT EXISTS belay_task_counts ON belay_task (batch, state);
CREATE INDEX IF NOT EXISTS belay_task_job ON belay_task (job);
CREATE INDEX IF NOT EXISTS belay_task_place ON belay_task (place, state);
CREATE INDEX IF NOT EXISTS belay_task_leases ON belay_task (state, lease_until);

CREATE TABLE IF NOT EXISTS belay_worker (
	id      TEXT PRIMARY KEY,
	machine TEXT NOT NULL,
	host    TEXT NOT NULL,
	pid     BIGINT NOT NULL,
	born    TEXT NOT NULL,       -- with the pid names the process
	scopes  TEXT NOT NULL,
	since   BIGINT NOT NULL,
	beat    BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS belay_shared (
	key     TEXT PRIMARY KEY,
	value   blob NOT NULL,
	updated BIGINT NOT NULL
)`, " blob", " "+blob)
	var statements []string
	for part := range strings.SplitSeq(text, ";\n") {
		if strings.TrimSpace(part) != "" {
			statements = append(statements, part)
		}
	}
	return statements
}
