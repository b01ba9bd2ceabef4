package store

import (
	"testing"

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
