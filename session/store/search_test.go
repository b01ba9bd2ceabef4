package store

import (
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
)

func TestSearchFindsPartsOfWordsAndAllScripts(t *testing.T) {
	s := open(t, t.TempDir())
	id := create(t, s, "/p").ID
	add(t, s, id, prompt(`Refactor the orders module: "PriceOf(" and don't touch go.mod`))
	add(t, s, id, says("価格の計算を別のモジュールに移しました。 测试全部通过"))
	add(t, s, id, session.ToolEnded{
		Tool:   "shell",
		Title:  "go test ./...",
		Output: "\x1b[31mFAIL\x1b[0m orders/price_test.go:12\nwant 100% got 50%",
	})
	add(t, s, id, session.ItemAdded{Item: models.Item{Kind: models.Call, Arguments: "hidden"}})
	other := create(t, s, "/q").ID
	add(t, s, other, prompt("Ärger mit Straßen: refactoring"))
	for _, tt := range []struct {
		query string
		want  int
	}{
		{"refactor", 2}, {"REFACTOR", 2}, {"actor", 2}, {"orders refactor", 1}, {"orders", 2},
		{"PriceOf(", 1}, {"priceof", 1}, {`"orders module"`, 1}, {`"module orders"`, 0}, {"don't", 1},
		{"計算", 1}, {"算", 1}, {"モジュール", 1}, {"测试", 1}, {"试全部", 1}, {"价格", 0},
		{"go", 2}, {"r", 2}, {"re", 2}, {"100%", 1}, {"price_test.go:12", 1},
		{"straßen", 1}, {"ärger", 1},
		{"hidden", 0}, {"missing", 0}, {"", 0}, {"   ", 0},
		{`"`, 0}, {`""`, 0}, {"NOT", 0}, {"AND", 1}, {"a* OR (", 0}, {"text:x", 0}, {"-", 0}, {"^", 0}, {"\x00\xff", 0},
		{"NEAR(a b)", 0}, {"';--", 0},
	} {
		hits, err := s.Search(ctx, tt.query, session.Filter{})
		if err != nil || len(hits) != tt.want {
			t.Errorf("Search(%q) = %d hits, %v; want %d", tt.query, len(hits), err, tt.want)
		}
		for _, h := range hits {
			if !strings.Contains(h.Snippet, "\x02") || strings.Contains(h.Snippet, "\x1b") || h.Seq == 0 ||
				h.Session.ID == "" {
				t.Errorf("Search(%q) = %+v, want a marked snippet and a place", tt.query, h)
			}
		}
	}
	hits, err := s.Search(ctx, "refactor", session.Filter{Project: "/p"})
	if err != nil || len(hits) != 1 || hits[0].Snippet[:10] != "\x02Refactor\x03" {
		t.Errorf("Search(refactor in /p) = %+v, %v", hits, err)
	}
	add(t, s, id, session.ArchiveChanged{Deleted: time.Unix(1, 0)})
	if hits, err := s.Search(ctx, "orders", session.Filter{}); err != nil || len(hits) != 0 {
		t.Errorf("Search() in deleted sessions = %+v, %v; want none", hits, err)
	}
}

func TestSnippetsShowTheSurroundings(t *testing.T) {
	text := strings.Repeat("far ", 50) + "the needle is\nhere" + strings.Repeat(" away", 50)
	got, ok := snippet(text, []string{"needle", "here"})
	if !ok || !strings.Contains(got, "the \x02needle\x03 is \x02here\x03") || !strings.HasPrefix(got, "…") ||
		!strings.HasSuffix(got, "…") {
		t.Errorf("excerpt() = %q, %v", got, ok)
	}
}

func FuzzSearch(f *testing.F) {
	s := open(f, f.TempDir())
	id := create(f, s, "/p").ID
	add(f, s, id, prompt("some text"))
	for _, q := range []string{`a"b`, "x AND", "NEAR(", "日本", "\x00", "text:*", "'"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if _, err := s.Search(ctx, query, session.Filter{}); err != nil {
			t.Errorf("Search(%q) = %v", query, err)
		}
	})
}

func TestAForkStopsAtABorderAndIsQuiet(t *testing.T) {
	parked := session.TurnEnded{
		Outcome: session.OutcomeParked,
		RetryAt: time.Unix(1e10, 0),
		Fault:   &models.Fault{Kind: models.KindCapacity},
	}
	s := open(t, t.TempDir())
	id := create(t, s, "/p").ID
	add(t, s, id, prompt("one"), says("1"), session.TurnEnded{Outcome: session.OutcomeDone})               // 2 3 4
	add(t, s, id, prompt("two"), says("2"), session.PromptQueued{Prompt: session.Prompt{ID: "q"}}, parked) // 5 6 7 8
	add(t, s, id, session.TurnResumed{}, says("unfinished"))                                               // 9 10
	for _, tt := range []struct {
		name   string
		at     int64
		says   string
		copied int
		status session.Status
	}{
		{"the end of a live session is where the turn began", 0, "2", 8, session.Stopped},
		{"a place in a turn is the end of the one before", 6, "1", 4, session.Idle},
		{"an end of a turn is kept", 4, "1", 4, session.Idle},
		{"nothing but the beginning", 1, "", 1, session.Idle},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fork, err := s.Fork(ctx, id, tt.at)
			if err != nil {
				t.Fatal(err)
			}
			if fork.Parent != id || fork.ID == id || fork.Status != tt.status || len(fork.Queue) != 0 ||
				!fork.RetryAt.IsZero() ||
				fork.Project != "/p" {
				t.Errorf("Fork() = %+v", fork)
			}
			if loaded, err := s.Load(ctx, fork.ID); err != nil || loaded.LastSeq != fork.LastSeq ||
				loaded.LastSeq < int64(tt.copied) {
				t.Errorf("Load(fork) = %+v, %v", loaded, err)
			}
			log, err := s.Records(ctx, fork.ID, 0, 0, 0)
			if err != nil || log[0].Event.(session.Created).Parent != id {
				t.Fatalf("first record = %+v, %v; want Created with the parent", log[0], err)
			}
			var talk session.Conversation
			for _, r := range log {
				talk.Apply(r)
			}
			items := talk.Items()
			got := ""
			if len(items) > 0 {
				got = items[len(items)-1].Text
			}
			if got != tt.says {
				t.Errorf("last item = %q, want %q", got, tt.says)
			}
		})
	}
	hits, err := s.Search(ctx, "one", session.Filter{})
	if err != nil || len(hits) != 4 {
		t.Errorf("Search() over a session and three forks that hold it = %d, %v; want 4", len(hits), err)
	}
}

func TestPurgeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	keep, drop, held := create(t, s, "/p").ID, create(t, s, "/p").ID, create(t, s, "/p").ID
	const secret = "xyzzyplugh"
	add(t, s, keep, prompt("stays here"))
	add(t, s, drop, prompt("a word "+secret), says(strings.Repeat(secret+" ", 2000)))
	add(t, s, held, prompt("held"))
	for _, id := range []session.ID{drop, held} {
		add(t, s, id, session.ArchiveChanged{Deleted: time.Unix(1000, 0)})
	}
	other := open(t, dir)
	if _, err := other.Acquire(ctx, held, "run", false); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Purge(ctx, time.Unix(1000, 0), ""); err != nil || n != 0 {
		t.Errorf("Purge(before) = %d, %v; want 0", n, err)
	}
	if n, err := s.Purge(ctx, time.Unix(2000, 0), ""); err != nil || n != 1 {
		t.Fatalf("Purge() = %d, %v; want 1", n, err)
	}
	if _, err := s.Load(ctx, drop); err == nil {
		t.Error("Load(purged) succeeded")
	}
	if hits, err := s.Search(ctx, secret, session.Filter{Deleted: true}); err != nil || len(hits) != 0 {
		t.Errorf("Search(purged) = %v, %v", hits, err)
	}
	if hits, err := s.Search(ctx, "stays", session.Filter{}); err != nil || len(hits) != 1 {
		t.Errorf("Search(kept) = %v, %v; want 1", hits, err)
	}
	for _, name := range []string{File, File + "-wal"} {
		if strings.Contains(string(readFile(t, dir, name)), secret) {
			t.Errorf("%s still holds the words", name)
		}
	}
}
