package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"belay/models"
	"belay/session/batch"
	"belay/session/queue"
	"belay/ui/cli/app"
	"belay/ui/locale"
)

func TestARowIsFoldedBetweenItsParts(t *testing.T) {
	for _, tt := range []struct {
		row   string
		width int
		want  []string
	}{
		{"one · two", 9, []string{"one · two"}},
		{"one · two · three", 9, []string{"one · two", "three"}},
		{"much too long for it · two", 9, []string{"much too long for it", "two"}},
		{"一二三 · 四", 10, []string{"一二三", "四"}},
		{"", 9, []string{""}},
	} {
		if got := folded(tt.row, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("folded(%q, %d) = %q, want %q", tt.row, tt.width, got, tt.want)
		}
	}
}

func TestANoteSaysUntilWhenATaskWaits(t *testing.T) {
	now := time.Date(2026, 12, 1, 20, 0, 0, 0, time.Local) //nolint:gosmopolitan // times are shown as the person's
	for _, tt := range []struct {
		name  string
		entry queue.Entry
		want  string
	}{
		{"it waits for quiet hours", queue.Entry{State: batch.Waiting, NotBefore: now.Add(7 * time.Hour)}, "until Wed 03:00"},
		{"it is to be tried again", queue.Entry{
			State: batch.Waiting, NotBefore: now.Add(30 * time.Second), Result: batch.Result{Error: "no room"},
		}, "until 20:00:30: no room"},
		{"its time has come", queue.Entry{State: batch.Waiting, NotBefore: now.Add(-time.Second)}, ""},
		{"it is parked", queue.Entry{
			State: batch.Parked, NotBefore: now.Add(time.Minute), Progress: batch.Progress{Waits: "full"},
		}, "until 20:01:00: full"},
		{"it waits for weeks", queue.Entry{State: batch.Waiting, NotBefore: now.Add(20 * 24 * time.Hour)}, "until 2026-12-21 20:00"},
		{"it failed", queue.Entry{State: batch.Failed, Result: batch.Result{Error: "refused"}}, "refused"},
		{"it is done", queue.Entry{State: batch.Done, Result: batch.Result{Error: "left over"}}, ""},
	} {
		if got := taskNote(tt.entry, now); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTheTableOfABatchFitsItsTerminal(t *testing.T) {
	now := time.Date(2026, 12, 1, 20, 0, 0, 0, time.Local) //nolint:gosmopolitan // times are shown as the person's
	entries := []queue.Entry{{
		State: batch.Waiting, NotBefore: now.Add(7 * time.Hour),
		Task: batch.Task{Name: "夜里的任务夜里的任务夜里的任务", Prompt: strings.Repeat("把测试修好，", 20)},
	}}
	for range 30 {
		entries = append(entries, queue.Entry{State: batch.Done, Task: batch.Task{Name: "task", Prompt: strings.Repeat("x", 200)}})
	}
	t.Cleanup(func() { locale.Use(locale.English) })
	for _, language := range []locale.Language{locale.English, locale.Chinese} {
		locale.Use(language)
		for _, size := range [][2]int{{60, 16}, {80, 24}, {200, 50}} {
			table := &batchTable{
				cli: batchCLI{CLI{Env: app.Env{Now: func() time.Time { return now }}}}, batch: queue.Batch{ID: "abcdefgh"}, tasks: entries,
				pace: func() (int, int) { return 2, 3 }, started: now.Add(-75 * time.Minute), input: noKeys{}, said: "fails",
			}
			rows := table.rowsLocked(size[0], size[1])
			if len(rows) >= size[1] {
				t.Errorf("%s %v: %d rows", language, size, len(rows))
			}
			shown := strings.Join(rows, "\n")
			for _, want := range []string{"abcdefgh", "$0.00", "1:15:00", "F2 F3 F4", "enter", "ctrl+c", "03:00"} {
				if !strings.Contains(shown, want) {
					t.Errorf("%s %v: %q is not there:\n%s", language, size, want, shown)
				}
			}
			if strings.Contains(shown, "%!") {
				t.Errorf("%s %v: %s", language, size, shown)
			}
			for _, row := range append(folded(rows[0], size[0]-1), rows[len(rows)-2:]...) {
				if ansi.StringWidth(row) >= size[0] {
					t.Errorf("%s %v: this is cut: %q", language, size, row)
				}
			}
			entries[0].Task.Tier = models.Heavy // from here on there is a column of tiers
		}
		entries[0].Task.Tier = ""
	}
}

// noKeys is a keyboard that nobody touches.
type noKeys struct{}

func (noKeys) Read([]byte) (int, error) { select {} }
func (noKeys) Cancel() bool             { return true }
func (noKeys) Close() error             { return nil }

// heard keeps what a view of a batch is told.
type heard struct{ events []batch.Event }

func (h *heard) event(e batch.Event)                       { h.events = append(h.events, e) }
func (h *heard) say(string)                                {}
func (h *heard) tick(context.Context, map[batch.State]int) {}
func (h *heard) close()                                    {}

func TestATaskThatWaitsForItsTimeIsTold(t *testing.T) {
	now := time.Now()
	id := 0
	q, err := queue.Open(t.Context(), queue.Options{
		Dir: filepath.Join(t.TempDir(), "data"), Now: func() time.Time { return now },
		NewID: func() string { id++; return strings.Repeat("ab", 5) + string(rune('a'+id)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close() //nolint:errcheck // nothing is read after this
	night := now.Add(8 * time.Hour)
	b, err := q.Submit(t.Context(), queue.Submission{
		Name: "tasks", Tasks: []batch.Task{{Name: "night", Quiet: true, Lane: batch.Bulk}, {Name: "now", Lane: batch.Bulk}},
		At: func(task batch.Task) time.Time {
			if task.Quiet {
				return night
			}
			return time.Time{}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var view heard
	cli := batchCLI{CLI{Env: app.Env{Now: func() time.Time { return now }}}}
	if err := cli.tellScheduled(t.Context(), q, b.ID, &view); err != nil {
		t.Fatal(err)
	}
	if len(view.events) != 1 || view.events[0].Name != "night" || !view.events[0].Until.Equal(night) ||
		view.events[0].Type != batch.TaskScheduled {
		t.Errorf("told %+v, want the task that waits, and until when", view.events)
	}
}
