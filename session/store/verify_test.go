package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"belay/models"
	"belay/session"
)

// words is everything in a database that a person said, allowed or is shown.
func words(ctx context.Context, dir string, ids []session.ID) (string, error) {
	s, err := Open(ctx, dir, Options{ReadOnly: true})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	add := func(what any, err error) {
		data, _ := json.Marshal(what) // as much as is needed to see a difference
		fmt.Fprintf(&b, "%s %v\n", data, err)
	}
	for _, id := range ids {
		state, err := s.Load(ctx, id)
		add(state, err)
		records, err := s.Records(ctx, id, 0, 0, 0)
		add(records, err)
		draft, _, err := s.Draft(ctx, id)
		add(draft, err)
	}
	list, err := s.List(ctx, session.Filter{})
	add(list, err)
	grants, err := s.PermissionGrants(ctx, "/p")
	add(grants, err)
	trusted, known, err := s.Trusted(ctx, "/p")
	add([]bool{trusted, known}, err)
	return b.String(), s.Close()
}

// fillWords makes a small database, so that a byte that is flipped often hits a word.
func fillWords(t testing.TB, dir string) []session.ID {
	t.Helper()
	s := open(t, dir)
	var ids []session.ID
	for i := range 4 {
		id := create(t, s, "/p").ID
		ids = append(ids, id)
		for j := range 5 {
			add(t, s, id, prompt(fmt.Sprintf("do this, the %dth time", j)), says("all of it is done"),
				session.ToolEnded{Tool: "shell", Output: strings.Repeat("a line of output\n", 1+i*j*40)},
				session.ReplyEnded{Tier: models.Heavy, Usage: models.Usage{Input: 1000, Output: 50}, Cost: 0.1},
				session.TurnEnded{Outcome: session.OutcomeDone})
		}
		state := add(t, s, id, prompt("and what is under way"))
		if err := s.SaveDraft(
			ctx,
			id,
			session.Draft{Turn: state.Turn, Text: "half of what is to be said"},
		); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Fork(ctx, ids[0], 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		s.GrantPermission(ctx, "/p", "shell make"),
		s.SetTrusted(ctx, "/p", true),
		s.Close(),
	); err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestAFlippedBitThatChangesAWordIsNamed(t *testing.T) {
	master := t.TempDir()
	ids := fillWords(t, master)
	whole := readFile(t, master, File)
	before, err := words(ctx, master, ids)
	if err != nil {
		t.Fatal(err)
	}
	tries := 1000
	if testing.Short() {
		tries = 200
	}
	random := rand.New(rand.NewPCG(1, 2))
	changed := 0
	for range tries {
		at, bit := random.IntN(len(whole)), byte(1)<<random.IntN(8)
		data := bytes.Clone(whole)
		data[at] ^= bit
		dir := t.TempDir()
		write(t, filepath.Join(dir, File), data)
		after, err := words(ctx, dir, ids)
		if err == nil && after == before {
			continue
		}
		changed++
		report, err := Repair(ctx, dir)
		if err != nil && !errors.Is(err, ErrForeign) && !errors.Is(err, ErrNewer) {
			t.Errorf("byte %d, bit %d: Repair() = %v", at, bit, err)
		}
		if err == nil && report.Healthy {
			t.Errorf("byte %d, bit %d: called healthy, but\n%s", at, bit, difference(before, after))
		}
		if err != nil {
			continue
		}
		if again, err := Repair(ctx, dir); err != nil || !again.Healthy {
			t.Errorf("byte %d, bit %d: Repair() of the repaired = %+v, %v", at, bit, again, err)
		}
	}
	if changed < tries/30 {
		t.Errorf("%d of %d flips changed a word: too few to show something", changed, tries)
	}
}

// difference is the first line of b that is not in a, around the place where they part.
func difference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, i-60):min(len(s), i+60)] }
	return cut(a) + "\nbecame\n" + cut(b)
}

func TestWhatTheDiskAlteredIsNamedAndKept(t *testing.T) {
	for _, tt := range []struct {
		name, change string
		altered      int    // records
		want         string // in the report
		permissions  bool
	}{
		{"a word of an event", "UPDATE events SET data = CAST(replace(data, 'do this', 'do that') AS BLOB) WHERE seq = 2", 5,
			"record 2 of session", true},
		{"the kind of an event", "UPDATE events SET type = 'noted' WHERE seq = 4 AND session = %q", 1,
			"record 4 of session", true},
		{"the turn of an event", "UPDATE events SET turn = 9 WHERE seq = 3 AND session = %q", 1, "record 3", true},
		{"the time of an event", "UPDATE events SET time = time + 1 WHERE seq = 3 AND session = %q", 1, "record 3", true},
		{"an unfinished reply", "UPDATE drafts SET data = CAST(replace(data, 'half', 'most') AS BLOB) WHERE session = %q", 1,
			"the unfinished reply of session", true},
		{"a permission", "UPDATE grants SET rule = 'shell sudo'", 0, "or not all of it", false},
		{"the word about a folder", "UPDATE trust SET trusted = 0", 0, "or not all of it", false},
		{"a state", "UPDATE sessions SET head = replace(head, 'do this', 'do that')", 0, "the overview of 5 sessions", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			ids := fillWords(t, dir)
			tamper(t, dir, strings.ReplaceAll(tt.change, "%q", "'"+string(ids[1])+"'"))
			latest := 0
			if strings.HasPrefix(tt.want, "record") {
				latest = tt.altered
			}
			if list, err := checkLatest(t, dir); len(list) != latest || err != nil {
				t.Errorf("CheckLatest() = %v, %v, want %d records", list, err, latest)
			}
			report, err := Repair(ctx, dir)
			if err != nil || report.Healthy || len(report.Altered) != tt.altered || report.Lost != 0 ||
				report.PermissionsKept != tt.permissions || !strings.Contains(report.String(), tt.want) {
				t.Fatalf("Repair() = %+v, %v\n%s\nwant %d altered and %q", report, err, report, tt.altered, tt.want)
			}
			s := open(t, dir)
			notes := 0
			for _, id := range ids {
				records, err := s.Records(ctx, id, 0, 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range records {
					if n, ok := r.Event.(session.Noted); ok && strings.Contains(n.Text, "altered") {
						notes++
					}
				}
			}
			if strings.HasPrefix(tt.want, "record") && notes != min(tt.altered, len(ids)) {
				t.Errorf("%d notes, want one for each altered record", notes)
			}
			grants, err := s.PermissionGrants(ctx, "/p")
			if err != nil || len(grants) > 0 && grants[0] != "shell make" {
				t.Errorf("PermissionGrants() = %q, %v", grants, err)
			}
		})
	}
}

func checkLatest(t *testing.T, dir string) ([]Altered, error) {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	list, err := CheckLatest(t.Context(), s)
	return list, errors.Join(err, s.Close())
}

func tamper(t testing.TB, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAPermissionThatWasAlteredAllowsNothing(t *testing.T) {
	dir := t.TempDir()
	fillWords(t, dir)
	tamper(t, dir, "UPDATE grants SET rule = 'shell sudo'; UPDATE trust SET trusted = 1 - trusted")
	s := open(t, dir)
	if rules, err := s.PermissionGrants(ctx, "/p"); err != nil || len(rules) > 0 {
		t.Errorf("PermissionGrants() = %q, %v, want none", rules, err)
	}
	if _, known, err := s.Trusted(ctx, "/p"); err != nil || known {
		t.Errorf("Trusted() is known: %v, %v", known, err)
	}
	if err := errors.Join(s.GrantPermission(ctx, "/p", "shell sudo"), s.SetTrusted(ctx, "/p", false)); err != nil {
		t.Fatal(err)
	}
	rules, err := s.PermissionGrants(ctx, "/p")
	trusted, known, trustErr := s.Trusted(ctx, "/p")
	if len(rules) != 1 || trusted || !known {
		t.Errorf("allowed anew: %q %v, %v %v %v", rules, err, trusted, known, trustErr)
	}
}

// withoutSums takes back what versions 4 and 5 of the schema added.
const withoutSums = `DROP INDEX events_taken; DROP TABLE unsent;
	ALTER TABLE events DROP COLUMN sum; ALTER TABLE drafts DROP COLUMN sum;
	ALTER TABLE grants DROP COLUMN sum; ALTER TABLE trust DROP COLUMN sum; `

// What an older belay wrote has no checksums: it is read as before, and repaired.
func TestRowsWithoutAChecksumAreTakenAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	ids := fillWords(t, dir)
	before, err := words(ctx, dir, ids)
	if err != nil {
		t.Fatal(err)
	}
	tamper(t, dir, withoutSums+"PRAGMA user_version = 3")
	if report, err := Repair(ctx, dir); err != nil || !report.Healthy {
		t.Fatalf("Repair() = %+v, %v, want healthy", report, err)
	}
	if after, err := words(ctx, dir, ids); err != nil || after != before {
		t.Fatalf("after the migration: %v\n%s", err, difference(before, after))
	}
	s := open(t, dir)
	forked, err := s.Fork(ctx, ids[1], 0)
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, forked.ID, prompt("goes on"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data := readFile(t, dir, File)
	clear(data[:100]) // SQLite cannot open it any more
	write(t, filepath.Join(dir, File), data)
	report, err := Repair(ctx, dir)
	if err != nil || report.Healthy || report.Lost != 0 || len(report.Altered) != 0 {
		t.Fatalf("Repair() = %+v, %v, want everything", report, err)
	}
	s = open(t, dir)
	if got, err := s.Load(ctx, forked.ID); err != nil || got.LastLine != "goes on" {
		t.Errorf("Load(forked) = %+v, %v", got, err)
	}
}
