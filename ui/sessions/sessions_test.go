package sessions

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/session"
	"belay/ui/theme"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func pane() *Pane {
	p := New(theme.New("dark", true, colorprofile.TrueColor), func() time.Time { return noon }, "/p")
	p.Set([]session.Session{
		{ID: "a", Title: "old and done", Project: "/p", Status: session.Idle, Updated: noon.Add(-time.Hour)},
		{ID: "b", Title: "new and done", Project: "/q", Status: session.Idle, Updated: noon},
		{ID: "c", Title: "running", Status: session.Running, Updated: noon.Add(-2 * time.Hour)},
		{ID: "d", Title: "asking", Status: session.Asking, Updated: noon.Add(-3 * time.Hour)},
	}, nil)
	return p
}

func order(p *Pane) string {
	var ids []string
	for _, r := range p.shown {
		ids = append(ids, string(r.s.ID))
	}
	return strings.Join(ids, "")
}

func TestThoseThatNeedAPersonComeFirst(t *testing.T) {
	p := pane()
	if got := order(p); got != "dcba" {
		t.Errorf("order = %s, want dcba", got)
	}
	p.SetOpen(session.Session{ID: "a", Title: "old and done", Status: session.NeedsPerson, Updated: noon})
	if got := order(p); got != "adcb" {
		t.Errorf("order = %s, want adcb", got)
	}
}

func TestFilterKeepsWhatTextsHold(t *testing.T) {
	p := pane()
	for _, k := range strings.Split("done", "") {
		p.Key(k, k)
	}
	p.SetHits("other words", []session.Hit{{Session: session.Session{ID: "x"}}})
	p.SetHits("done", []session.Hit{{Session: session.Session{ID: "z", Title: "elsewhere"},
		Snippet: "all \x02done\x03 now"}})
	if got := order(p); got != "baz" {
		t.Errorf("order = %s, want baz: titles, then texts, not those of an old query", got)
	}
	lines, _, _ := p.View(100, 24)
	if got := ansi.Strip(strings.Join(lines, "\n")); !strings.Contains(got, "all done now") {
		t.Errorf("the place is not shown:\n%s", got)
	}
}

func TestTheBoxIsAsLargeAsAsked(t *testing.T) {
	p := pane()
	for _, size := range [][2]int{{60, 14}, {80, 22}, {200, 48}} {
		lines, _, _ := p.View(size[0], size[1])
		if len(lines) != size[1]-1 && len(lines) != size[1] {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range lines {
			if theme.Width(l) != size[0] {
				t.Errorf("%v: %q is %d wide", size, ansi.Strip(l), theme.Width(l))
			}
		}
	}
}

func TestADeletionCanBeTakenBackOnce(t *testing.T) {
	p := pane()
	s, _ := p.Chosen()
	p.Remove(s)
	if got := order(p); got != "cba" {
		t.Errorf("order = %s, want cba", got)
	}
	next, _ := p.Chosen()
	p.Remove(next)
	for _, want := range []session.ID{next.ID, "d"} { // the last one first
		if got, ok := p.TakeDeleted(); !ok || got.ID != want {
			t.Errorf("taken back %v, %v: want %s", got.ID, ok, want)
		}
	}
	if _, ok := p.TakeDeleted(); ok {
		t.Error("taken back twice")
	}
}
