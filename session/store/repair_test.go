package store

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
)

// fill makes a database with a few sessions, one of them with records that
// span pages, and returns its folder and the log of each session.
func fill(t testing.TB, dir string) map[session.ID][]session.Record {
	t.Helper()
	n := 0
	s, err := Open(ctx, dir, Options{
		Now:   func() time.Time { n++; return time.Unix(int64(1e9+n), 0) },
		NewID: func() session.ID { return session.ID(fmt.Sprintf("sess%04d", n)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	logs := make(map[session.ID][]session.Record)
	for i := range 3 {
		head, err := s.Create(ctx, session.Created{Project: "/p", Tier: models.Light})
		if err != nil {
			t.Fatal(err)
		}
		for j := range 30 {
			big := strings.Repeat(fmt.Sprintf("output %d %d ", i, j), 1+j*j)
			add(t, s, head.ID, prompt("do"), session.ToolEnded{Tool: "shell", Output: big},
				session.TurnEnded{Outcome: session.OutcomeDone})
		}
		if logs[head.ID], err = s.Records(ctx, head.ID, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.GrantPermission(ctx, "/p", "make"), s.SetTrusted(ctx, "/p", true), s.Close()); err != nil {
		t.Fatal(err)
	}
	return logs
}

func TestRuinsAreNamedAndRepaired(t *testing.T) {
	master := t.TempDir()
	logs := fill(t, master)
	whole := readFile(t, master, File)
	zero := func(data []byte, from, to int) []byte {
		data = bytes.Clone(data)
		clear(data[from:min(to, len(data))])
		return data
	}
	for _, tt := range []struct {
		name string
		data []byte
		open error // nil: damage that only shows later
		all  bool  // nothing is lost
		some bool  // something is saved
	}{
		{"a garbled header", zero(whole, 0, 100), ErrNotDatabase, true, true},
		{"a first page full of zeros", zero(whole, 0, 4096), ErrNotDatabase, true, true},
		{"a garbled mark", zero(whole, 68, 72), ErrForeign, true, true},
		{"another kind of file", []byte(strings.Repeat("once upon a time ", 1000)), ErrNotDatabase, false, false},
		{"a few bytes", whole[:60], ErrTruncated, false, false},
		{"cut short", whole[:len(whole)/2], ErrTruncated, false, true},
		{"cut in the middle of a page", whole[:len(whole)-1000], ErrTruncated, false, true},
		{"zeros in the middle", zero(whole, len(whole)/2, len(whole)/2+20*4096), nil, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, File), tt.data)
			s, err := Open(ctx, dir, Options{})
			if !errors.Is(err, tt.open) {
				t.Errorf("Open() = %v, want %v", err, tt.open)
			}
			if e := (*Error)(nil); err != nil &&
				(!errors.As(err, &e) || !strings.Contains(e.Hint(), "repair") && tt.open != ErrForeign) {
				t.Errorf("Open() = %v, want a hint to repair", err)
			}
			if err == nil {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if got := readFile(t, dir, File); tt.open != nil && !bytes.Equal(got, tt.data) {
				t.Error("Open() changed the damaged file")
			}
			report, err := Repair(ctx, dir)
			if err != nil || report.Healthy {
				t.Fatalf("Repair() = %+v, %v", report, err)
			}
			if kept := readFile(t, report.KeptFile); tt.open != nil && !bytes.Equal(kept, tt.data) {
				t.Error("the old file was not kept as it was")
			}
			compare(t, dir, logs, report, tt.all, tt.some)
			if report, err := Repair(ctx, dir); err != nil || !report.Healthy {
				t.Errorf("Repair() of the repaired = %+v, %v; want healthy", report, err)
			}
		})
	}
}

// compare checks that what a repaired database holds is true, without gaps,
// and writable.
func compare(t *testing.T, dir string, logs map[session.ID][]session.Record, report Report, all, some bool) {
	t.Helper()
	s := open(t, dir)
	heads, err := s.List(ctx, session.Filter{})
	if err != nil || len(heads) != report.Sessions {
		t.Fatalf("List() = %d sessions, %v; the report says %d", len(heads), err, report.Sessions)
	}
	right := 0
	for _, h := range heads {
		log, err := s.Records(ctx, h.ID, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range log {
			if r.Seq != int64(i+1) {
				t.Fatalf("record %d has number %d", i+1, r.Seq)
			}
			for _, want := range logs[h.ID] {
				if want.Seq >= r.Seq && want.Time.Equal(r.Time) && reflect.DeepEqual(want.Event, r.Event) {
					right++
					break
				}
			}
		}
		if h.Project != "/p" {
			t.Errorf("Project = %q, want /p", h.Project)
		}
		add(t, s, h.ID, prompt("goes on"))
	}
	total := 0
	for _, log := range logs {
		total += len(log)
	}
	if all && (right != total || report.Lost != 0) || some && right < total/10 {
		t.Errorf("saved %d of %d records, %d reported as lost; want all: %v", right, total, report.Lost, all)
	}
	if some {
		if hits, err := s.Search(ctx, "output", session.Filter{}); err != nil || len(hits) == 0 {
			t.Errorf("Search() = %d, %v; want the saved to be found", len(hits), err)
		}
	}
}

func TestRepairReadsTheLogBesideTheDatabase(t *testing.T) {
	dir, ruin := t.TempDir(), t.TempDir()
	s := open(t, dir)
	id := create(t, s, "/p").ID
	add(t, s, id, prompt("only in the log"))
	if err := s.SaveDraft(ctx, id, session.Draft{Turn: 1, Text: "half"}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(ruin, File), []byte("garbage that once was a database"))
	write(t, filepath.Join(ruin, File+"-wal"), readFile(t, dir, File+"-wal"))
	report, err := Repair(ctx, ruin)
	if err != nil || report.Sessions != 1 || report.Lost != 0 {
		t.Fatalf("Repair() = %+v, %v; want one whole session", report, err)
	}
	s = open(t, ruin)
	head, err := s.Load(ctx, id)
	if err != nil || head.LastLine != "only in the log" {
		t.Errorf("Load() = %+v, %v", head, err)
	}
	if d, ok, err := s.Draft(ctx, id); err != nil || !ok || d.Text != "half" {
		t.Errorf("Draft() = %+v, %v, %v; want half", d, ok, err)
	}
}

func TestATornLogOpensWithAnUnbrokenBeginning(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := create(t, s, "/p").ID
	for i := range 40 {
		add(t, s, id, session.Noted{Text: strings.Repeat("n", 100*i)})
	}
	data, wal := readFile(t, dir, File), readFile(t, dir, File+"-wal")
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		torn := bytes.Clone(wal)
		at := 4096*4 + random.IntN(len(torn)-4096*4)
		if random.IntN(2) == 0 {
			torn = torn[:at]
		} else {
			for i := at; i < min(at+500, len(torn)); i++ {
				torn[i] = byte(random.IntN(256))
			}
		}
		copied := t.TempDir()
		write(t, filepath.Join(copied, File), data)
		write(t, filepath.Join(copied, File+"-wal"), torn)
		s, err := Open(ctx, copied, Options{})
		if err != nil {
			t.Fatal(err)
		}
		heads, err := s.List(ctx, session.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range heads {
			log, err := s.Records(ctx, h.ID, 0, 0, 0)
			if err != nil || int64(len(log)) != h.LastSeq {
				t.Errorf("Records() = %d, %v; the state says %d", len(log), err, h.LastSeq)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRepairLeavesAloneWhatIsNotBroken(t *testing.T) {
	t.Run("a healthy database", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir)
		before := readFile(t, dir, File)
		report, err := Repair(ctx, dir)
		if err != nil || !report.Healthy || report.Sessions != 3 || !report.PermissionsKept {
			t.Errorf("Repair() = %+v, %v", report, err)
		}
		if !bytes.Equal(before, readFile(t, dir, File)) {
			t.Error("the file was changed")
		}
	})
	t.Run("another program's database", func(t *testing.T) {
		dir := t.TempDir()
		db, err := sql.Open("sqlite", filepath.Join(dir, File))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("CREATE TABLE theirs (x)"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Repair(ctx, dir); !errors.Is(err, ErrForeign) {
			t.Errorf("Repair() = %v, want ErrForeign", err)
		}
		if _, err := Open(ctx, dir, Options{}); !errors.Is(err, ErrForeign) {
			t.Errorf("Open() = %v, want ErrForeign", err)
		}
	})
	t.Run("a folder without a database", func(t *testing.T) {
		if _, err := Repair(ctx, t.TempDir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Repair() = %v, want that there is none", err)
		}
	})
}

func TestPermissionsAreSavedOnlyWhenTheyCanBeTrusted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		from    int // zeros
		settled bool
	}{{"readable by SQLite", 40 * 4096, true}, {"dug out", 0, false}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir)
			data := readFile(t, dir, File)
			clear(data[tt.from : tt.from+4096])
			write(t, filepath.Join(dir, File), data)
			report, err := Repair(ctx, dir)
			if err != nil || report.PermissionsKept != tt.settled {
				t.Fatalf("Repair() = %+v, %v; want settled %v", report, err, tt.settled)
			}
			s := open(t, dir)
			if trusted, known, err := s.Trusted(ctx, "/p"); err != nil || known != tt.settled || trusted != tt.settled {
				t.Errorf("Trusted() = %v %v %v, want %v", trusted, known, err, tt.settled)
			}
		})
	}
}

func FuzzRepair(f *testing.F) {
	master := f.TempDir()
	fill(f, master)
	whole := readFile(f, master, File)
	f.Add(uint32(0), []byte("x"), uint32(len(whole)))
	f.Add(uint32(5000), bytes.Repeat([]byte{0xff}, 64), uint32(len(whole)))
	f.Add(uint32(8192), []byte{0x0d, 0, 0, 0xff, 0xff, 0, 0}, uint32(len(whole)/3))
	f.Fuzz(func(t *testing.T, at uint32, garbage []byte, size uint32) {
		data := bytes.Clone(whole)
		copy(data[int(at)%len(data):], garbage)
		data = data[:min(int(size), len(data))]
		dir := t.TempDir()
		write(t, filepath.Join(dir, File), data)
		report, err := Repair(ctx, dir)
		if errors.Is(err, ErrForeign) || errors.Is(err, ErrNewer) {
			return // the garbage hit the marks in the header
		}
		if err != nil {
			t.Fatalf("Repair() = %+v, %v", report, err)
		}
		s, err := Open(ctx, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		heads, err := s.List(ctx, session.Filter{})
		for _, h := range heads {
			if _, err := s.Records(ctx, h.ID, 0, 0, 0); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(err, s.Close()); err != nil {
			t.Error(err)
		}
	})
}

func FuzzRows(f *testing.F) {
	s := open(f, f.TempDir())
	id := create(f, s, "/p").ID
	f.Add("noted", []byte(`{"text":"x"}`))
	f.Add("created", []byte("{"))
	f.Add("", []byte{0xff})
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if data == nil {
			data = []byte{}
		}
		const statement = "INSERT OR REPLACE INTO events (session, seq, turn, time, type, data) VALUES (?, 2, 1, 1, ?, ?)"
		if _, err := s.writer.Exec(statement, id, name, data); err != nil {
			t.Skip(err)
		}
		log, err := s.Records(ctx, id, 0, 0, 0)
		if err != nil || len(log) != 2 {
			t.Fatalf("Records() = %v, %v", log, err)
		}
		if _, err := foldState(ctx, s.reader, id); err != nil {
			t.Error(err)
		}
		for _, format := range []string{"markdown", "jsonl"} {
			if err := s.Export(ctx, id, &bytes.Buffer{}, format); err != nil {
				t.Errorf("Export(%s) = %v", format, err)
			}
		}
	})
}
