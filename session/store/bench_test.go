package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
)

func BenchmarkAppend(b *testing.B) {
	for _, lines := range []int{20, 1250} { // 1 KB and 64 KB
		text := strings.Repeat("func (s *Service) PriceOf(o Order) int { return 0 }\n", lines)
		b.Run(fmt.Sprintf("%d KB", len(text)>>10), func(b *testing.B) {
			s := open(b, b.TempDir())
			id := create(b, s, "/p").ID
			for b.Loop() {
				add(b, s, id, session.ToolEnded{CallID: "c", Tool: "read", Title: "orders/service.go", Output: text})
			}
		})
	}
}

func BenchmarkSaveDraft(b *testing.B) {
	s := open(b, b.TempDir())
	id := create(b, s, "/p").ID
	d := session.Draft{Turn: 1, Text: strings.Repeat("word ", 4000)}
	for b.Loop() {
		if err := s.SaveDraft(ctx, id, d); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenLarge opens a database with a session of 100 MB, reads its state
// and its last 200 records or megabyte, as the screen does, and lists it.
func BenchmarkOpenLarge(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir)
	id := create(b, s, "/p").ID
	output := strings.Repeat("a line of some output that a tool gave\n", 1600) // 64 KB
	for range 20 {
		events := []session.Event{prompt("go on")}
		for range 80 {
			events = append(events, session.ToolEnded{Tool: "shell", Output: output}, says("and so on"))
		}
		add(b, s, id, events...)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(ctx, dir, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.List(ctx, session.Filter{}); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Load(ctx, id); err != nil {
			b.Fatal(err)
		}
		records, err := s.Records(ctx, id, 0, 200, 1<<20)
		if err != nil || len(records) < 10 {
			b.Fatal(len(records), err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// many fills a store with sessions of one turn each.
func many(b *testing.B, count int) *Store {
	s := open(b, b.TempDir())
	if _, err := s.writer.Exec("PRAGMA synchronous = off"); err != nil {
		b.Fatal(err)
	}
	for i := range count {
		id := create(b, s, fmt.Sprintf("/project/%d", i%50)).ID
		add(
			b,
			s,
			id,
			prompt(fmt.Sprintf("task %d: refactor the orders module", i)),
			says("All done, see the diff."),
			session.ReplyEnded{
				Tier:  models.Heavy,
				Usage: models.Usage{Input: 1000, Output: 50},
				Cost:  0.1,
			},
			session.TurnEnded{Outcome: session.OutcomeDone},
		)
	}
	return s
}

func BenchmarkList5000(b *testing.B) {
	s := many(b, 5000)
	for name, f := range map[string]session.Filter{"all": {}, "first 50": {Limit: 50},
		"project": {Project: "/project/7"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.List(ctx, f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSearch5000(b *testing.B) {
	s := many(b, 5000)
	for _, query := range []string{"orders", "task 4711", "re", "nowhere to be found"} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Search(ctx, query, session.Filter{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpenEmpty(b *testing.B) {
	for b.Loop() {
		s, err := Open(ctx, b.TempDir(), Options{Now: time.Now})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
