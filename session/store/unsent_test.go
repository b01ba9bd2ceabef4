package store

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"belay/session"
)

func TestWhatWasBeingWrittenIsKeptUntilItIsSent(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := create(t, s, "/p").ID
	want := session.Unsent{Text: "why [pasted 20 lines]", Pastes: []session.Paste{{Mark: "[pasted 20 lines]", Text: "x\ny"}}}
	if err := NewUnsent(s).SaveUnsent(ctx, id, "/p", session.Unsent{Text: "wh"}); err != nil {
		t.Fatal(err)
	}
	if err := NewUnsent(s).SaveUnsent(ctx, id, "/p", want); err != nil {
		t.Fatal(err)
	}
	if err := NewUnsent(s).SaveUnsent(ctx, "", "/p", session.Unsent{Text: "no session yet"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if got, err := NewUnsent(s).LoadUnsent(ctx, id, "/p"); err != nil || got.Text != want.Text || len(got.Pastes) != 1 ||
		got.Pastes[0] != want.Pastes[0] {
		t.Errorf("LoadUnsent() = %+v, %v; want %+v", got, err, want)
	}
	if got, err := NewUnsent(s).LoadUnsent(ctx, "", "/p"); err != nil || got.Text != "no session yet" {
		t.Errorf("LoadUnsent() of the folder = %+v, %v", got, err)
	}
	if got, err := NewUnsent(s).LoadUnsent(ctx, "", "/other"); err != nil || !got.Empty() {
		t.Errorf("LoadUnsent() of another folder = %+v, %v", got, err)
	}
	tamper := func(query string) {
		if _, err := s.writer.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("another belay that is writing keeps its own", func(t *testing.T) {
		other := unsent{session.Unsent{Text: "theirs"}, 1, processStart(1)} // always there
		data := []byte(`{"text":"theirs","pid":1,"born":"` + other.Born + `"}`)
		if _, err := s.writer.Exec("UPDATE unsent SET data = ?, sum = ? WHERE session = ''", data,
			unsentSum("", "/p", data)); err != nil {
			t.Fatal(err)
		}
		if got, err := NewUnsent(s).LoadUnsent(ctx, "", "/p"); err != nil || !got.Empty() {
			t.Errorf("LoadUnsent() = %+v, %v, want nothing", got, err)
		}
	})
	t.Run("what the disk altered is not shown", func(t *testing.T) {
		tamper("UPDATE unsent SET data = replace(data, 'why', 'not') WHERE session <> ''")
		if got, err := NewUnsent(s).LoadUnsent(ctx, id, ""); err != nil || !got.Empty() {
			t.Errorf("LoadUnsent() = %+v, %v, want nothing", got, err)
		}
	})
	if err := NewUnsent(s).SaveUnsent(ctx, id, "", session.Unsent{}); err != nil {
		t.Fatal(err)
	}
	var rows int
	if err := s.reader.QueryRow("SELECT count(*) FROM unsent WHERE session <> ''").Scan(&rows); err != nil || rows != 0 {
		t.Errorf("after it was sent there are %d rows, %v", rows, err)
	}
}

// A repair takes over what was being written, and nothing that was sent.
func TestARepairKeepsWhatWasBeingWritten(t *testing.T) {
	for name, damage := range map[string]func(data []byte){
		"where SQLite can read it": func([]byte) {},
		"from the pages":           func(data []byte) { clear(data[:100]) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			clock := time.Unix(1e9, 0)
			s, err := Open(ctx, dir, Options{Now: func() time.Time { clock = clock.Add(time.Second); return clock }})
			if err != nil {
				t.Fatal(err)
			}
			writing, sent, gone := create(t, s, "/p").ID, create(t, s, "/p").ID, create(t, s, "/p").ID
			long := session.Unsent{Text: "why [pasted]", Pastes: []session.Paste{{Mark: "[pasted]", Text: strings.Repeat("long\n", 5000)}}}
			save := func(id session.ID, project string, u session.Unsent) {
				if err := NewUnsent(s).SaveUnsent(ctx, id, project, u); err != nil {
					t.Fatal(err)
				}
			}
			add(t, s, writing, prompt("do"), session.TurnEnded{Outcome: session.OutcomeDone})
			save(writing, "", session.Unsent{Text: "wh"})
			save(writing, "", long)
			save(sent, "", session.Unsent{Text: "do it"})
			add(t, s, sent, prompt("do it"))
			save(sent, "", session.Unsent{})
			save("", "/q", session.Unsent{Text: "no session yet"})
			save(gone, "", session.Unsent{Text: "x"})
			for i := range 40 { // something to damage
				add(t, s, gone, prompt(strings.Repeat(fmt.Sprint("words ", i), 2000)), session.TurnEnded{Outcome: session.OutcomeDone})
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			data := readFile(t, dir, File)
			damage(data)
			clear(data[len(data)/2 : len(data)/2+8*4096])
			write(t, filepath.Join(dir, File), data)
			if report, err := Repair(ctx, dir); err != nil || report.Healthy {
				t.Fatalf("Repair() = %+v, %v", report, err)
			}
			s = open(t, dir)
			for _, tt := range []struct {
				id      session.ID
				project string
				want    session.Unsent
			}{{writing, "", long}, {sent, "", session.Unsent{}}, {"", "/q", session.Unsent{Text: "no session yet"}}} {
				if got, err := NewUnsent(s).LoadUnsent(ctx, tt.id, tt.project); err != nil || !reflect.DeepEqual(got, tt.want) {
					t.Errorf("LoadUnsent(%q, %q) = %.60v, %v; want %.60v", tt.id, tt.project, got, err, tt.want)
				}
			}
		})
	}
}
