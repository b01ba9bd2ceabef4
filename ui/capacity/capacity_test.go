package capacity

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/models"
	"belay/ui/theme"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func view() View {
	full := &models.Fault{Kind: models.KindCapacity, Code: "server_is_overloaded"}
	row := func(tier models.Tier, name, short string, state models.State) Row {
		return Row{Condition: models.Condition{Tier: tier, Target: models.Target{Provider: "openai", Model: name},
			Short: short, State: state}, Share: 0.98, Attempts: 40, FirstToken: 1200 * time.Millisecond}
	}
	sol := row(models.Heavy, "gpt-5.6-sol", "sol", models.Resting)
	sol.Until, sol.Fault, sol.Streak, sol.Share = now.Add(102*time.Second), full, 3, 0.91
	luna := row(models.Light, "gpt-5.6-luna", "luna", models.Unknown)
	luna.Attempts, luna.FirstToken = 0, 0
	var week []Day
	for range 7 {
		var d Day
		for h := range d {
			d[h] = float64(h)/24 - 0.1
		}
		week = append(week, d)
	}
	return View{Rows: []Row{sol, row(models.Medium, "gpt-5.6-terra", "terra", models.Ready), luna}, Week: week,
		Findings: []string{"failures start above 96k input (22% against 3%)", "longest episode 14 min, median 2 min"}}
}

func draw(t *testing.T, w, h int) string {
	t.Helper()
	var p Pane
	p.Set(view(), models.Target{Provider: "openai", Model: "gpt-5.6-terra"})
	lines := p.View(theme.New("dark", true, colorprofile.TrueColor), w, h, now)
	for _, l := range lines {
		if theme.Width(l) > w {
			t.Errorf("%d cells wide, want %d at most: %q", theme.Width(l), w, l)
		}
	}
	if len(lines) > h {
		t.Errorf("%d lines, want %d at most", len(lines), h)
	}
	return ansi.Strip(strings.Join(lines, "\n"))
}

func TestThePanelShowsEachTargetAndItsState(t *testing.T) {
	got := draw(t, 110, 24)
	for _, want := range []string{"heavy   openai/gpt-5.6-sol", "○ resting 1:42", "server_is_overloaded ×3", "ok  91%",
		"first token 1.2s", "pinned, has room", "◌ unknown", "Mo ", "failures start above 96k", "enter pin"} {
		if !strings.Contains(got, want) {
			t.Errorf("the panel lacks %q:\n%s", want, got)
		}
	}
}

func TestThePanelFitsEverywhere(t *testing.T) {
	for _, size := range [][2]int{{60, 12}, {60, 9}, {80, 20}, {120, 30}, {200, 40}, {30, 5}} {
		if got := draw(t, size[0], size[1]); size[1] >= 9 && !strings.Contains(got, "sol") {
			t.Errorf("at %v:\n%s", size, got)
		}
	}
}

func TestTheChosenRowStaysInRange(t *testing.T) {
	var p Pane
	p.Set(view(), models.Target{})
	p.Move(9)
	if r, ok := p.Chosen(); !ok || r.Short != "luna" {
		t.Errorf("Chosen = %v, %v", r.Short, ok)
	}
	p.Set(View{}, models.Target{})
	if _, ok := p.Chosen(); ok {
		t.Error("an empty panel has a chosen row")
	}
}
