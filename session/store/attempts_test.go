package store

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/models/ledger"
	"belay/session"
)

var _ ledger.Log = (*Store)(nil)

var day = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// whole is an attempt with a value of its own in every field that is kept.
func whole(t testing.TB) ledger.Attempt {
	t.Helper()
	var a ledger.Attempt
	v := reflect.ValueOf(&a).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") == "-" {
			continue
		}
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(fmt.Sprintf("text%d", i))
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(i + 1000))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float64:
			f.SetFloat(float64(i) / 8)
		case reflect.Struct:
			f.Set(reflect.ValueOf(day.Add(123456789)))
		default:
			t.Fatalf("field %s has a kind of its own", v.Type().Field(i).Name)
		}
	}
	a.Endpoint = "https://host/v1"
	return a
}

func record(t testing.TB, s *Store, list ...ledger.Attempt) {
	t.Helper()
	for _, a := range list {
		if err := s.AppendAttempts(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
}

func attempts(t testing.TB, s *Store, since, until time.Time) []ledger.Attempt {
	t.Helper()
	list, err := ledger.Read(ctx, s, since, until)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAnAttemptIsReadAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	want := whole(t)
	record(t, open(t, dir), want)
	got := attempts(t, open(t, dir), time.Time{}, time.Time{})
	if len(got) != 1 || got[0] != want {
		t.Errorf("Attempts() = %+v, want %+v", got, want)
	}
}

func TestTheColumnsHaveTheNamesOfTheRecord(t *testing.T) {
	s := open(t, t.TempDir())
	rows, err := s.reader.Query("SELECT name FROM pragma_table_info('attempts') WHERE name <> 'id'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got, want []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	for f := range reflect.TypeFor[ledger.Attempt]().Fields() {
		if name := f.Tag.Get("json"); name != "-" {
			want = append(want, name)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("columns are\n%v, want\n%v", got, want)
	}
	if columns := strings.Join(strings.Fields(attemptColumns), " "); columns != strings.Join(want, ", ") {
		t.Errorf("columns are read as\n%s, want\n%v", columns, want)
	}
}

func TestAttemptsOfATimeComeInItsOrder(t *testing.T) {
	s := open(t, t.TempDir())
	for _, hour := range []int{3, 1, 2, 0} {
		record(t, s, ledger.Attempt{CreatedAt: day.Add(time.Duration(hour) * time.Hour), Turn: hour})
	}
	for _, tt := range []struct {
		name         string
		since, until time.Time
		want         string
	}{
		{"all", time.Time{}, time.Time{}, "[0 1 2 3]"},
		{"since counts itself", day.Add(time.Hour), time.Time{}, "[1 2 3]"},
		{"until does not", time.Time{}, day.Add(2 * time.Hour), "[0 1]"},
		{"between", day.Add(time.Hour), day.Add(3 * time.Hour), "[1 2]"},
		{"none", day.Add(9 * time.Hour), time.Time{}, "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := []int{}
			for _, a := range attempts(t, s, tt.since, tt.until) {
				got = append(got, a.Turn)
			}
			if fmt.Sprint(got) != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
	t.Run("a reader may stop early", func(t *testing.T) {
		for a, err := range s.Attempts(ctx, time.Time{}, time.Time{}) {
			if err != nil || a.Turn != 0 {
				t.Fatal(a, err)
			}
			break
		}
		record(t, s, ledger.Attempt{CreatedAt: day.Add(100 * time.Hour)})
	})
}

func TestWhatIsRecordedIsHarmless(t *testing.T) {
	s := open(t, t.TempDir())
	record(t, s, ledger.Attempt{
		Endpoint:  "https://user:secret@host/v1?key=secret#secret",
		ErrorCode: "a\x1b[2Jb\u202e\n" + strings.Repeat("ä", 200), Cost: math.NaN(),
		Model: "\xff", CreatedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("x", 3600)),
	})
	got := attempts(t, s, time.Time{}, time.Time{})[0]
	if got.Endpoint != "https://host/v1" {
		t.Errorf("endpoint is %q", got.Endpoint)
	}
	if !strings.HasPrefix(got.ErrorCode, "a[2Jbä") || len(got.ErrorCode) > 200 ||
		!strings.HasSuffix(got.ErrorCode, "ä") {
		t.Errorf("error code is %q", got.ErrorCode)
	}
	if got.Cost != 0 || got.Model != "�" || !got.CreatedAt.Equal(time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v", got)
	}
}

func TestOldAttemptsAreForgotten(t *testing.T) {
	s := open(t, t.TempDir())
	for n := range 4 {
		record(t, s, ledger.Attempt{CreatedAt: day.AddDate(0, 0, n)})
	}
	if n, err := s.ForgetAttempts(ctx, day.AddDate(0, 0, 3)); n != 3 || err != nil {
		t.Errorf("ForgetAttempts() = %d, %v; want 3", n, err)
	}
	if left := attempts(t, s, time.Time{}, time.Time{}); len(left) != 1 ||
		!left[0].CreatedAt.Equal(day.AddDate(0, 0, 3)) {
		t.Errorf("left is %v", left)
	}
}

// first makes a database as the first belay wrote it.
func first(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	create(t, s, "/p")
	const toVersion1 = withoutSums + "DROP TABLE capacity; DROP TABLE attempts; DROP TABLE parts; DROP INDEX events_trees; " +
		"PRAGMA user_version = 1"
	if _, err := s.writer.Exec(toVersion1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestADatabaseOfTheFirstVersionGoesOn(t *testing.T) {
	for _, tt := range []struct {
		name    string
		o       Options
		prepare func(t *testing.T, dir string)
		left    int // the version of the file
	}{
		{"for writing", Options{}, nil, len(migrations)},
		{"for reading", Options{ReadOnly: true}, nil, len(migrations)},
		{"for reading, where nothing can be written", Options{ReadOnly: true}, func(t *testing.T, dir string) {
			if os.Getuid() == 0 {
				t.Skip("root may write everywhere")
			}
			for name, mode := range map[string]os.FileMode{filepath.Join(dir, File): 0o400, dir: 0o500} {
				if err := os.Chmod(name, mode); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := first(t)
			if tt.prepare != nil {
				tt.prepare(t, dir)
			}
			s, err := Open(ctx, dir, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			heads, err := s.List(ctx, session.Filter{})
			if err != nil || len(heads) != 1 {
				t.Errorf("List() = %v, %v; want the session", heads, err)
			}
			if list := attempts(t, s, time.Time{}, time.Time{}); len(list) != 0 {
				t.Errorf("Attempts() = %v", list)
			}
			if !tt.o.ReadOnly {
				record(t, s, whole(t))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := connect(filepath.Join(dir, File), "mode=ro&immutable=1", "")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if v, err := schemaVersion(ctx, db); err != nil || v != tt.left {
				t.Errorf("the file's version is %d, %v; want %d", v, err, tt.left)
			}
		})
	}
}

func TestARepairKeepsTheRecord(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	create(t, s, "/p")
	record(t, s, whole(t))
	if _, err := s.writer.Exec("PRAGMA wal_checkpoint(truncate)"); err != nil {
		t.Fatal(err)
	}
	var root int64
	if err := s.writer.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'sessions_all'").
		Scan(&root); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, File)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("!", 4096)), (root-1)*4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := Repair(ctx, dir); err != nil || report.Healthy || report.Sessions != 1 {
		t.Fatalf("Repair() = %+v, %v", report, err)
	}
	if got := attempts(t, open(t, dir), time.Time{}, time.Time{}); len(got) != 1 || got[0] != whole(t) {
		t.Errorf("Attempts() = %v", got)
	}
}

// manyAttempts fills a store with a month of record.
func manyAttempts(b *testing.B, count int) *Store {
	s := open(b, b.TempDir())
	if _, err := s.writer.Exec("PRAGMA synchronous = off"); err != nil {
		b.Fatal(err)
	}
	tx, err := s.writer.Begin()
	if err != nil {
		b.Fatal(err)
	}
	a := ledger.Attempt{
		RequestID:    "req_0123456789",
		ProjectID:    "/home/u/shop",
		Environment:  "screen",
		Model:        "gpt-5.6-sol",
		Endpoint:     "https://api.openai.com/v1",
		Stream:       true,
		InputTokens:  41_000,
		OutputTokens: 800,
		Concurrency:  1,
		StatusCode:   200,
		LatencyMS:    9000,
		Session:      "abcdefgh",
		Turn:         3,
		Provider:     "openai",
		Tier:         models.Heavy,
		FirstTokenMS: 1900,
		Cost:         0.1,
	}
	for n := range count {
		a.CreatedAt = day.Add(time.Duration(n) * 30 * time.Second)
		if err := writeAttempt(ctx, tx, a); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkWriteAttempt(b *testing.B) {
	s := open(b, b.TempDir())
	a := whole(b)
	for b.Loop() {
		record(b, s, a)
	}
}

func BenchmarkRead100000Attempts(b *testing.B) {
	s := manyAttempts(b, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		if list := attempts(b, s, time.Time{}, time.Time{}); len(list) != 100_000 {
			b.Fatal(len(list))
		}
	}
}
