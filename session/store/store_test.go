package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"belay/models"
	"belay/session"
)

var ctx = context.Background()

// open opens a store with a clock that moves a second at each look.
func open(t testing.TB, dir string) *Store {
	t.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s, err := Open(ctx, dir, Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func create(t testing.TB, s *Store, project string) session.Session {
	t.Helper()
	head, err := s.Create(ctx, session.Created{Project: project, Tier: models.Heavy, Mode: session.Edits})
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func add(t testing.TB, s *Store, id session.ID, events ...session.Event) session.Session {
	t.Helper()
	_, head, err := s.Append(ctx, id, 1, events...)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func prompt(text string) session.TurnStarted {
	return session.TurnStarted{Prompt: session.Prompt{ID: text, Text: text}}
}

func says(text string) session.ItemAdded {
	return session.ItemAdded{Item: models.NewMessage(models.Assistant, text)}
}

func TestWhatIsAppendedIsThereAfterReopening(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := create(t, s, "/p").ID
	records, head, err := s.Append(ctx, id, 1, prompt("hello"), says("hi"),
		session.TurnEnded{Outcome: session.OutcomeDone})
	if err != nil {
		t.Fatal(err)
	}
	if len(id) != 8 {
		t.Errorf("id = %q, want eight characters", id)
	}
	s = open(t, dir)
	got, err := s.Load(ctx, id)
	if err != nil || !reflect.DeepEqual(got, head) {
		t.Errorf("Load() = %+v, %v; want what Append returned, %+v", got, err, head)
	}
	log, err := s.Records(ctx, id, 0, 0, 0)
	if err != nil || len(log) != 4 || !reflect.DeepEqual(log[1:], records) {
		t.Errorf("Records() = %+v, %v; want Created and %+v", log, err, records)
	}
	refolded, err := foldState(ctx, s.reader, id)
	if err != nil || !reflect.DeepEqual(refolded, head) {
		t.Errorf("fold() = %+v, %v; want %+v", refolded, err, head)
	}
}

func TestAppendStoresAllEventsOrNone(t *testing.T) {
	s := open(t, t.TempDir())
	id := create(t, s, "/p").ID
	if _, _, err := s.Append(ctx, id, 1, prompt("a"), session.TextDelta{Text: "b"}); err == nil {
		t.Error("Append(TextDelta) succeeded; it is not durable")
	}
	if head, err := s.Load(ctx, id); err != nil || head.LastSeq != 1 {
		t.Errorf("Events = %d, %v; want 1", head.LastSeq, err)
	}
}

func TestCreateTriesAgainWhenAnIDIsTaken(t *testing.T) {
	ids := []session.ID{"aaaa", "aaaa", "bbbb"}
	s, err := Open(ctx, t.TempDir(), Options{NewID: func() session.ID { id := ids[0]; ids = ids[1:]; return id }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, b := create(t, s, "/p"), create(t, s, "/p")
	if a.ID != "aaaa" || b.ID != "bbbb" {
		t.Errorf("ids = %s %s, want aaaa bbbb", a.ID, b.ID)
	}
}

func TestADraftGivesWayToWhatIsFinal(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event session.Event
		kept  bool
	}{
		{"assistant message", says("all"), false},
		{"cut-off", session.CutOff{Text: "part"}, false},
		{"end of the turn", session.TurnEnded{Outcome: session.OutcomeDone}, false},
		{"finished call", session.ItemAdded{Item: models.Item{Kind: models.Call}}, false},
		{"a note does not touch it", session.Noted{Text: "n"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, t.TempDir())
			id := create(t, s, "/p").ID
			for _, text := range []string{"p", "part"} {
				if err := s.SaveDraft(ctx, id, session.Draft{Turn: 1, Text: text}); err != nil {
					t.Fatal(err)
				}
			}
			if d, ok, err := s.Draft(ctx, id); err != nil || !ok || d.Text != "part" {
				t.Fatalf("Draft() = %+v, %v, %v; want part", d, ok, err)
			}
			add(t, s, id, tt.event)
			if _, ok, err := s.Draft(ctx, id); err != nil || ok != tt.kept {
				t.Errorf("Draft() after the event = %v, %v; want %v", ok, err, tt.kept)
			}
		})
	}
}

func TestManyGoroutinesShareAStore(t *testing.T) {
	s, err := Open(ctx, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	shared := create(t, s, "/p").ID
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			own := create(t, s, "/p").ID
			for i := range 25 {
				add(t, s, own, session.Noted{Text: fmt.Sprint(n, i)})
				add(t, s, shared, session.Noted{Text: fmt.Sprint(n, i)})
				_, err1 := s.Records(ctx, shared, 0, 10, 0)
				_, err2 := s.Search(ctx, "2", session.Filter{})
				_, err3 := s.Changed(ctx)
				err4 := s.SaveDraft(ctx, own, session.Draft{Text: "d"})
				if err := errors.Join(err1, err2, err3, err4); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if head, err := s.Load(ctx, shared); err != nil || head.LastSeq != 101 {
		t.Errorf("Events = %d, %v; want 101", head.LastSeq, err)
	}
}

func TestFindTellsNoneFromSeveral(t *testing.T) {
	ids := []session.ID{"abcd1234", "abce1234", "zz00zz11"}
	s, err := Open(ctx, t.TempDir(), Options{NewID: func() session.ID { id := ids[0]; ids = ids[1:]; return id }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		create(t, s, "/p")
	}
	for _, tt := range []struct {
		prefix string
		want   session.ID
		kind   error
		hint   string
	}{
		{"abcd", "abcd1234", nil, ""},
		{"ABCD1234", "abcd1234", nil, ""},
		{"zzooZZl", "zz00zz11", nil, ""},
		{"abc", "", ErrAmbiguous, "abce1234"},
		{"abdd1234", "", ErrNotFound, "abcd1234"},
		{"qqqqqqqq", "", ErrNotFound, "sessions list"},
		{"q", "", ErrNotFound, "sessions list"},
		{"", "", ErrNotFound, "sessions list"},
		{"%", "", ErrNotFound, ""},
	} {
		got, err := s.Find(ctx, tt.prefix)
		if got.ID != tt.want || !errors.Is(err, tt.kind) {
			t.Errorf("Find(%q) = %q, %v; want %q, %v", tt.prefix, got.ID, err, tt.want, tt.kind)
		}
		if e := (*Error)(nil); tt.kind != nil && (!errors.As(err, &e) || !strings.Contains(e.Hint(), tt.hint)) {
			t.Errorf("Find(%q) = %v with hint %q, want %q in it", tt.prefix, err, e.Hint(), tt.hint)
		}
	}
	if _, err := s.Load(ctx, "abcd"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Load(prefix) = %v, want ErrNotFound", err)
	}
	if _, _, err := s.Append(ctx, "nope", 1, prompt("x")); !errors.Is(err, ErrNotFound) {
		t.Errorf("Append(unknown) = %v, want ErrNotFound", err)
	}
}

func TestListHoldsWhatTheFilterNames(t *testing.T) {
	s := open(t, t.TempDir())
	a, b, c, d := create(t, s, "/p").ID, create(t, s, "/p").ID, create(t, s, "/q").ID, create(t, s, "/p").ID
	add(t, s, c, session.ArchiveChanged{Archived: true})
	add(t, s, d, session.ArchiveChanged{Deleted: time.Unix(1000, 0)})
	add(t, s, a, prompt("later"))
	names := map[session.ID]string{a: "a", b: "b", c: "c", d: "d"}
	for _, tt := range []struct {
		f    session.Filter
		want string
	}{
		{session.Filter{}, "ab"},
		{session.Filter{Limit: 1}, "a"},
		{session.Filter{Project: "/q"}, ""},
		{session.Filter{Archived: true}, "c"},
		{session.Filter{Deleted: true}, "d"},
	} {
		list, err := s.List(ctx, tt.f)
		got := ""
		for _, h := range list {
			got += names[h.ID]
		}
		if err != nil || got != tt.want {
			t.Errorf("List(%+v) = %q, %v; want %q", tt.f, got, err, tt.want)
		}
	}
	if last, ok, err := s.Last(ctx, "/p"); err != nil || !ok || last.ID != a {
		t.Errorf("Last(/p) = %v %v %v, want %v", last.ID, ok, err, a)
	}
	if _, ok, err := s.Last(ctx, "/q"); err != nil || ok {
		t.Errorf("Last(/q) = %v %v, want none", ok, err)
	}
}

func TestRecordsPageBackwards(t *testing.T) {
	s := open(t, t.TempDir())
	id := create(t, s, "/p").ID
	for i := range 9 {
		add(t, s, id, session.Noted{Text: fmt.Sprint(i, strings.Repeat("x", 100*i))})
	}
	seqs := func(records []session.Record) (list []int64) {
		for _, r := range records {
			list = append(list, r.Seq)
		}
		return list
	}
	for _, tt := range []struct {
		before       int64
		limit, bytes int
		want         []int64
	}{
		{0, 3, 0, []int64{8, 9, 10}},
		{8, 2, 0, []int64{6, 7}},
		{3, 10, 0, []int64{1, 2}},
		{1, 10, 0, nil},
		{0, 0, 1, []int64{10}},
		{0, 0, 1600, []int64{9, 10}},
	} {
		got, err := s.Records(ctx, id, tt.before, tt.limit, tt.bytes)
		if err != nil || !reflect.DeepEqual(seqs(got), tt.want) {
			t.Errorf("Records(%d, %d, %d) = %v, %v; want %v", tt.before, tt.limit, tt.bytes, seqs(got), err, tt.want)
		}
	}
}

func TestABrokenRowIsToldInItsPlace(t *testing.T) {
	s := open(t, t.TempDir())
	id := create(t, s, "/p").ID
	add(t, s, id, prompt("a"), says("b"), says("c"))
	if _, err := s.writer.Exec("UPDATE events SET data = '{' WHERE seq = 3"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.writer.Exec("UPDATE sessions SET head = '{broken'"); err != nil {
		t.Fatal(err)
	}
	log, err := s.Records(ctx, id, 0, 0, 0)
	if err != nil || len(log) != 4 {
		t.Fatalf("Records() = %d records, %v; want 4", len(log), err)
	}
	if n, ok := log[2].Event.(session.Noted); !ok || !strings.Contains(n.Text, "record 3") {
		t.Errorf("the broken record = %+v, want a note that names it", log[2].Event)
	}
	heads, err := s.List(ctx, session.Filter{})
	if err != nil || len(heads) != 1 || heads[0].LastLine != "c" {
		t.Errorf("List() with a broken state = %+v, %v; want it folded anew", heads, err)
	}
	add(t, s, id, says("d"))
}

func TestGrantsAndTrustBelongToAProject(t *testing.T) {
	s := open(t, t.TempDir())
	for _, rule := range []string{"go test", "make", "go test"} {
		if err := s.GrantPermission(ctx, "/p", rule); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.PermissionGrants(ctx, "/p"); err != nil || !reflect.DeepEqual(got, []string{"go test", "make"}) {
		t.Errorf("Grants() = %v, %v", got, err)
	}
	if got, err := s.PermissionGrants(ctx, "/q"); err != nil || got != nil {
		t.Errorf("Grants(other) = %v, %v; want none", got, err)
	}
	if _, known, err := s.Trusted(ctx, "/p"); err != nil || known {
		t.Errorf("Trusted() at first = %v, %v; want unknown", known, err)
	}
	for _, want := range []bool{true, false} {
		if err := s.SetTrusted(ctx, "/p", want); err != nil {
			t.Fatal(err)
		}
		if got, known, err := s.Trusted(ctx, "/p"); err != nil || !known || got != want {
			t.Errorf("Trusted() = %v, %v, %v; want %v", got, known, err, want)
		}
	}
}

func TestChangedNoticesOnlyOthers(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	changed := func(s *Store) bool {
		t.Helper()
		got, err := s.Changed(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	changed(a)
	id := create(t, a, "/p").ID
	if err := a.SaveDraft(ctx, id, session.Draft{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if changed(a) {
		t.Error("Changed() after own writes = true")
	}
	add(t, b, id, prompt("x"))
	if !changed(a) {
		t.Error("Changed() after another's write = false")
	}
	if changed(a) {
		t.Error("Changed() a second time = true")
	}
	long := a.now().Add(-time.Hour) // nobody has written for an hour
	if err := os.Chtimes(filepath.Join(dir, File+"-wal"), long, long); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time without asking SQLite
		if changed(a) {
			t.Error("Changed() after an hour = true")
		}
	}
	if a.settledLog == nil {
		t.Error("SQLite is asked each time")
	}
	add(t, b, id, prompt("y"))
	if !changed(a) {
		t.Error("Changed() after a write that follows an hour of none = false")
	}
}

func BenchmarkNothingChanged(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir)
	long := s.now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, File+"-wal"), long, long); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Changed(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTheTreesOfAProjectsSessionsAreListed(t *testing.T) {
	s := open(t, t.TempDir())
	a, other := create(t, s, "/p"), create(t, s, "/q")
	for id, tree := range map[session.ID]string{a.ID: "t1", other.ID: "t9"} {
		if _, _, err := s.Append(ctx, id, 1, session.Checkpointed{Tree: tree},
			session.Rewinding{Tree: "t1", From: "t2"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.SnapshotTrees(ctx, "/p", time.Time{})
	if err != nil || !slices.Equal(got, []string{"t1", "t2"}) {
		t.Errorf("Trees = %v, %v; want t1, t2", got, err)
	}
	if got, err := s.SnapshotTrees(ctx, "/p", time.Now().Add(time.Hour)); err != nil || len(got) != 0 {
		t.Errorf("of sessions touched later: %v, %v", got, err)
	}
}
