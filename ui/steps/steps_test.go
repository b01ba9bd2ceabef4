package steps

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/models"
	"belay/session"
	"belay/ui/theme"
)

var (
	dark = theme.New("dark", true, colorprofile.TrueColor)
	noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
)

func states() []session.StepState {
	return []session.StepState{session.StepPending, session.StepRunning, session.StepParked, session.StepPerson,
		session.StepDone, session.StepFailed, session.StepSkipped}
}

func TestMain(m *testing.M) {
	time.Local = time.UTC // panels show times of day
	os.Exit(m.Run())
}

// every is a plan with a step of each state, with long and hostile words.
func every() *session.Plan {
	s := &session.Plan{Task: "a \x1b[31mlarge\ntask 大きな仕事 " + strings.Repeat("and more ", 20)}
	for i, state := range states() {
		s.Steps = append(s.Steps, session.Step{
			Title: strings.Repeat("端数 title ", i*3+1), Instructions: strings.Repeat("長い do\n",
				5), Proof: "p\x1b]0;x\x07", Check: strings.Repeat("go test ", 12), Tier: models.Heavy, Pinned: i%2 == 0,
			StepProgress: session.StepProgress{State: state, Reason: "because\nof it", Note: "note",
				RetryAt: noon.Add(90 * time.Second), ToolCalls: i, Cost: 0.5, StartedAt: noon, EndedAt: noon.Add(time.Minute)},
			Needs: []int{1}, Pause: true,
		})
	}
	return s
}

func plainText(lines []string) string { return ansi.Strip(strings.Join(lines, "\n")) }

func fits(t *testing.T, lines []string, w, h int) {
	t.Helper()
	if len(lines) > h {
		t.Fatalf("%d×%d: %d lines", w, h, len(lines))
	}
	for _, l := range lines {
		if theme.Width(l) > w {
			t.Fatalf("%d×%d: %q is %d wide", w, h, ansi.Strip(l), theme.Width(l))
		}
		if strings.Contains(l, "\x1b[31m") || strings.Contains(l, "\x07") {
			t.Fatalf("a foreign escape sequence came through: %q", l)
		}
	}
}

func TestThePanelFitsEverywhere(t *testing.T) {
	for _, v := range []View{{}, {Planning: "thinking\n"}, {Steps: &session.Plan{}, Keys: true},
		{Steps: every(), Now: noon}, {Steps: every(), Keys: true, Asked: true, Checkpoint: noon, Now: noon,
			Live: Live{Words: strings.Repeat("◐ wait ", 9), Waits: true}}} {
		for w := 20; w <= 220; w += 25 {
			for h := 0; h < 40; h += 1 + h/8 {
				p := New(plainMarkdown)
				p.Set(v)
				for n := range 8 {
					p.Choose(n)
					fits(t, p.View(dark, w, h), w, h)
				}
			}
		}
	}
}

func TestTheChosenStepIsInView(t *testing.T) {
	p := New(plainMarkdown)
	s := every()
	for range 30 {
		s.Steps = append(s.Steps, session.Step{Title: "more", StepProgress: session.StepProgress{State: session.StepPending}})
	}
	for h := 5; h < 40; h++ {
		for n := range s.Steps {
			p.Set(View{Steps: s, Keys: true})
			p.Choose(n + 1)
			if got := plainText(p.View(dark, 80, h)); !strings.Contains(got, "❯") ||
				!strings.Contains(got, fmt.Sprintf(" %d ", n+1)) {
				t.Fatalf("height %d, step %d:\n%s", h, n+1, got)
			}
		}
	}
}

func TestStatesDifferWithoutColour(t *testing.T) {
	seen := map[string]session.StepState{}
	for _, s := range states() {
		symbol, _ := Symbol(dark, s)
		if before, ok := seen[symbol]; ok {
			t.Errorf("%s and %s are both %s", before, s, symbol)
		}
		seen[symbol] = s
	}
}

func TestTheWordsOfARow(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    session.Step
		live Live
		want string
	}{
		{"what is asked for", session.Step{StepProgress: session.StepProgress{State: session.StepPending},
			Check: "go test ./orders/…", Needs: []int{1,
				2}, Pause: true}, Live{}, "pause before · after 1, 2 · check: go test ./orders/…"},
		{"builds on nothing", session.Step{StepProgress: session.StepProgress{State: session.StepPending},
			Needs: []int{}}, Live{}, "after none"},
		{"no capacity", session.Step{StepProgress: session.StepProgress{State: session.StepRunning}},
			Live{Words: "◐ no capacity, again in 12s", Waits: true}, "▶ 1 x  heavy ⊙  ◐ no capacity, again in 12s"},
		{"asks", session.Step{StepProgress: session.StepProgress{State: session.StepRunning}}, Live{Asks: true},
			"? 1 x  heavy ⊙  asks you"},
		{"parked", session.Step{StepProgress: session.StepProgress{State: session.StepParked,
			RetryAt: noon.Add(95 * time.Second)}}, Live{}, "again in 1:35, at 12:01"},
		{"parked for good", session.Step{StepProgress: session.StepProgress{State: session.StepParked}}, Live{},
			"parked, goes on when told to"},
		{"failed", session.Step{StepProgress: session.StepProgress{State: session.StepFailed,
			Fault: &models.Fault{Kind: models.KindAuth}}}, Live{}, "failed: key refused"},
		{"needs a person", session.Step{StepProgress: session.StepProgress{State: session.StepPerson,
			Reason: "the check failed 3 times"}}, Live{}, "needs you: the check failed 3 times"},
		{"done", session.Step{StepProgress: session.StepProgress{State: session.StepDone, ToolCalls: 3, Cost: 0.02}},
			Live{}, "3 calls  $0.02"},
		{"skipped", session.Step{StepProgress: session.StepProgress{State: session.StepSkipped}}, Live{},
			"– 1 x  heavy ⊙  skipped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.s.Title, tt.s.Tier, tt.s.Pinned = "x", models.Heavy, true
			p := New(plainMarkdown)
			p.Set(View{Steps: &session.Plan{Task: "t", Steps: []session.Step{tt.s}}, Live: tt.live, Now: noon})
			if got := plainText(p.View(dark, 100, 20)); !strings.Contains(got, tt.want) {
				t.Errorf("%q is missing:\n%s", tt.want, got)
			}
		})
	}
}

func TestTheChoiceFollowsTheWorkUntilThePanelHasTheKeys(t *testing.T) {
	s := &session.Plan{Task: "t", Steps: []session.Step{{StepProgress: session.StepProgress{State: session.StepDone}},
		{StepProgress: session.StepProgress{State: session.StepRunning}},
		{StepProgress: session.StepProgress{State: session.StepPending}}}}
	p := New(plainMarkdown)
	p.Set(View{Steps: s, Keys: true})
	if n, _, _ := p.Chosen(); n != 2 {
		t.Errorf("step %d is chosen, want 2", n)
	}
	p.Move(-1)
	p.Set(View{Steps: s, Keys: true})
	if n, _, _ := p.Chosen(); n != 1 {
		t.Errorf("step %d is chosen, want 1", n)
	}
	p.Set(View{Steps: s})
	if n, _, _ := p.Chosen(); n != 2 {
		t.Errorf("step %d is chosen, want 2", n)
	}
}

func lines(_ *theme.Theme, diff string, width int, _ bool) []string {
	var out []string
	for _, l := range strings.Split(strings.TrimRight(theme.Visible(diff), "\n"), "\n") {
		out = append(out, theme.Cut(l, width))
	}
	return out
}

func TestTheRewindFitsEverywhere(t *testing.T) {
	long := strings.Repeat("長い/path-", 30)
	points := []session.Checkpoint{{Seq: 3, Title: "a\x1b[31m\nb " + long, Tree: "x"}, {Seq: 2, Step: 4}, {Seq: 1}}
	preview := session.Preview{Checkpoint: points[0], Turns: 3,
		Commands: []string{"a\x1b[31m", long, "c", "d", "e", "f", "g", "h"}, Skipped: []string{long},
		Changes: []session.Change{{Path: long, Kind: "added", Added: 12345}, {Path: "\x07", Kind: "mode"},
			{Path: "z", Kind: "removed", Binary: true}}, Patch: "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-" +
			long + "\n+y\n"}
	for w := 20; w <= 220; w += 13 {
		for h := range 40 {
			p := NewRewind(dark, lines)
			fits(t, p.View(w, h), w, h)
			p.Set(nil)
			fits(t, p.View(w, h), w, h)
			p.Set(points)
			fits(t, p.View(w, h), w, h)
			p.Open()
			fits(t, p.View(w, h), w, h)
			p.Problem(long)
			p.Show(preview)
			fits(t, p.View(w, h), w, h)
			p.Key("end")
			fits(t, p.View(w, h), w, h)
		}
	}
}

func TestAPreviewOfAnotherCheckpointIsNotShown(t *testing.T) {
	p := NewRewind(dark, lines)
	p.Set([]session.Checkpoint{{Seq: 1, Tree: "a"}, {Seq: 2, Tree: "b"}})
	p.Open()
	p.Show(session.Preview{Checkpoint: session.Checkpoint{Seq: 1}})
	if _, ok := p.Shown(); ok {
		t.Error("it is shown")
	}
	p.Show(session.Preview{Checkpoint: session.Checkpoint{Seq: 2}})
	if v, ok := p.Shown(); !ok || v.Checkpoint.Seq != 2 {
		t.Errorf("shown = %+v, %v", v, ok)
	}
}

func FuzzFiles(f *testing.F) {
	f.Add("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
	f.Fuzz(func(t *testing.T, patch string) {
		for _, x := range theme.SplitPatch(patch) {
			if strings.ContainsAny(x.Name, "\n\x1b") {
				t.Errorf("name %q", x.Name)
			}
		}
	})
}

func plainMarkdown(_ *theme.Theme, source string, width int) []string {
	return theme.Wrap(theme.Plain(source), width)
}
