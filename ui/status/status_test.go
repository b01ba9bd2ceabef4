package status

import (
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
	noon   = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	colour = theme.New("dark", true, colorprofile.TrueColor)
	none   = theme.New("dark", true, colorprofile.ASCII)
)

func tiers() []models.Condition {
	return []models.Condition{
		{Tier: models.Heavy, Target: models.Target{Provider: "openai", Model: "gpt-5.6-sol"}, Short: "sol",
			State: models.Resting, Until: noon.Add(272 * time.Second)},
		{Tier: models.Medium, Target: models.Target{Provider: "openai", Model: "gpt-5.6-terra"}, Short: "terra",
			State: models.HalfOpen},
		{Tier: models.Light, Target: models.Target{Provider: "openai", Model: "gpt-5.6-luna"}, Short: "luna",
			State: models.Disabled},
	}
}

func TestTheStripTellsStatesApartWithoutColour(t *testing.T) {
	got := Top{Project: "shop", Branch: "main*", Title: "orders", Tiers: tiers(), Active: models.Medium,
		Now: noon}.View(none, 80)
	if want := "1 ○ sol 4:32   2 ◌ terra   3 ⏸ luna"; !strings.Contains(ansi.Strip(got), want) {
		t.Errorf("got %q, want %q in it", ansi.Strip(got), want)
	}
	if !strings.Contains(got, "\x1b[1;4mterra") {
		t.Errorf("the active tier is not underlined: %q", got)
	}
}

func TestTheBarFitsAnyWidthAndKeepsTheSymbols(t *testing.T) {
	top := Top{Project: strings.Repeat("long", 20), Title: strings.Repeat("題", 60), Tiers: tiers(),
		Active: models.Heavy, Now: noon, NeedPerson: 2}
	for w := 60; w <= 200; w += 7 {
		got := ansi.Strip(top.View(colour, w))
		if theme.Width(got) != w {
			t.Errorf("width %d: %d cells", w, theme.Width(got))
		}
		for _, symbol := range []string{"○", "◌", "⏸"} {
			if !strings.Contains(got, symbol) {
				t.Errorf("width %d lacks %s: %q", w, symbol, got)
			}
		}
	}
}

func TestTheLineSaysWhatHappens(t *testing.T) {
	s := &session.Session{ContextTokens: 41_210, Window: 272_000, Cost: 0.41, Queue: make([]session.Queued, 3),
		Status: session.Running}
	got := ansi.Strip(Bottom{Doing: "writing", Since: noon.Add(-12 * time.Second), Silence: 23 * time.Second,
		Session: s, Mode: session.All, Now: noon, Keys: [][2]string{{"?", "keys"},
			{"ctrl+p", "commands"}}}.View(colour, 130))
	for _, want := range []string{"writing 12s, nothing for 23s", "all run", "3 queued", "ctx 41k/272k ▓░░░░░░░ 15%",
		"$0.41", "? keys"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	s.Status = session.Parked
	if got := ansi.Strip(Bottom{Session: s, Now: noon}.View(colour, 130)); !strings.Contains(got, "3 held") {
		t.Errorf("%q lacks 3 held", got)
	}
}

func TestTheBoxOffersTheSettingWhereNothingHasEverAnswered(t *testing.T) {
	const hint = "Nothing has ever answered at https://a.example/v1: check base_url."
	for _, unproven := range []bool{true, false} {
		w := Wait{Fault: &models.Fault{Kind: models.KindNetwork, Hint: hint, Unproven: unproven}, Number: 1, Of: 4,
			From: noon, Until: noon.Add(time.Second), Now: noon}
		if got := ansi.Strip(strings.Join(w.View(none, 90, 20), "\n")); strings.Contains(got, hint) != unproven {
			t.Errorf("unproven is %v:\n%s", unproven, got)
		}
	}
}

func TestTheBoxFits(t *testing.T) {
	after := tiers()[1]
	w := Wait{Fault: &models.Fault{Kind: models.KindRate, Code: strings.Repeat("c", 90), Phase: models.InText,
		RequestID: "r", Raw: strings.Repeat("raw ", 400)},
		Target: after.Target, Next: after.Target, Number: 2, Of: 4, From: noon, Until: noon.Add(4 * time.Second),
		Now: noon.Add(time.Second), Then: after.Target, Tiers: tiers(), Details: true}
	for width := 60; width <= 200; width += 20 {
		for _, l := range w.View(colour, width, 40) {
			if theme.Width(l) > width {
				t.Errorf("width %d: %q", width, ansi.Strip(l))
			}
		}
	}
	if got := ansi.Strip(strings.Join(w.View(colour, 100, 40), "\n")); !strings.Contains(got, "in 3.0s  ▓▓▓░░░░░░░") {
		t.Errorf("got:\n%s", got)
	}
}

func TestTheLineSaysWhatNothingHolds(t *testing.T) {
	for word, open := range map[string]bool{"sandbox off": true, "sandbox in part": false, "": false} {
		for _, width := range []int{60, 80, 120} {
			line := Bottom{Mode: session.Ask, Now: noon, Unheld: word, Open: open}.View(colour, width)
			if !strings.Contains(ansi.Strip(line), word) {
				t.Errorf("%d: %q is missing in %q", width, word, ansi.Strip(line))
			}
			if red := strings.Contains(line, colour.Bad.Paint(word)); word != "" && red != open {
				t.Errorf("%q: red %v", word, red)
			}
		}
	}
}

// The whole kind: a box of any height keeps its border, how the wait goes, and its keys.
func TestTheBoxFitsAnyHeight(t *testing.T) {
	hint := strings.Repeat("Nothing has ever answered here: look at the settings. ", 6)
	for _, details := range []bool{true, false} {
		w := Wait{Fault: &models.Fault{Kind: models.KindNetwork, Hint: hint, Unproven: true,
			Message: strings.Repeat("no such host ", 20), Raw: strings.Repeat("raw ", 400)}, Number: 2, Of: 4,
			From: noon, Until: noon.Add(time.Second), Now: noon, Details: details}
		for height := 4; height < 24; height++ {
			lines := w.View(none, 60, height)
			got := ansi.Strip(strings.Join(lines, "\n"))
			if len(lines) > height {
				t.Errorf("height %d: %d lines", height, len(lines))
			}
			for _, want := range []string{"╭", "╰", "attempt 2 of 4", "F8"} {
				if !strings.Contains(got, want) {
					t.Errorf("height %d lacks %q:\n%s", height, want, got)
				}
			}
		}
	}
}

func TestTheBoxSaysWhatWasSaid(t *testing.T) {
	sol, terra := tiers()[0].Target, tiers()[1].Target
	for _, tt := range []struct {
		name   string
		fault  models.Fault
		then   models.Target
		want   []string
		unsaid string
	}{
		{"no connection", models.Fault{Kind: models.KindNetwork, Message: "lookup a.example: no such host"}, models.Target{},
			[]string{"no such host"}, "then"},
		{"a rate limit until a time", models.Fault{Kind: models.KindRate, Message: "Limit 30000, used 29000",
			ResetAt: noon.Add(time.Hour)}, models.Target{}, []string{"until 1", ": Limit 30000, used 29000"}, "then"},
		{"until another day", models.Fault{Kind: models.KindUsage, ResetAt: noon.Add(40 * time.Hour)}, models.Target{},
			[]string{"until Wed "}, "then"},
		{"a limit that has ended", models.Fault{Kind: models.KindRate, Message: "slow down",
			ResetAt: noon.Add(-time.Hour)}, models.Target{}, []string{"slow down"}, "until"},
		{"full, and terra takes over", models.Fault{Kind: models.KindCapacity, Message: "at capacity"}, terra,
			[]string{"then medium: gpt-5.6-terra ◌"}, "at capacity"},
	} {
		fault := tt.fault
		w := Wait{Fault: &fault, Target: sol, Next: sol, Number: 2, Of: 4, From: noon, Until: noon.Add(8 * time.Second),
			Now: noon, Then: tt.then, Tiers: tiers()}
		got := ansi.Strip(strings.Join(w.View(none, 110, 20), "\n"))
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in\n%s", tt.name, want, got)
			}
		}
		if strings.Contains(got, tt.unsaid) {
			t.Errorf("%s: %q stands in\n%s", tt.name, tt.unsaid, got)
		}
	}
}

func TestTheStripSaysWhoAnswersForWhom(t *testing.T) {
	list := tiers()
	list[0].State, list[0].Fault = models.Failing, &models.Fault{Kind: models.KindCapacity}
	list[0].StandIn, list[1].Answers, list[1].State = list[1].Target, true, models.Ready
	spare := list[0]
	spare.StandIn = models.Target{Provider: "other", Model: "spare"}
	for _, tt := range []struct {
		name   string
		tiers  []models.Condition
		width  int
		want   string
		marked string
	}{
		{"at full width", list, 100, "1 ○ sol 4:32 → terra   2 ● terra   3 ⏸ luna", "terra"},
		{"narrow", list, 48, "1 ○ → terra  2 ● terra  3 ⏸", "terra"},
		{"narrower", list, 36, "1 ○→2  2 ●  3 ⏸", "2"},
		{"by one that stands nowhere else", []models.Condition{spare, tiers()[1]}, 100,
			"1 ○ sol 4:32 → spare   2 ◌ terra", "spare"},
	} {
		got := Top{Project: "shop", Title: "orders", Tiers: tt.tiers, Active: models.Heavy, Now: noon}.View(none, tt.width)
		if !strings.Contains(ansi.Strip(got), tt.want) {
			t.Errorf("%s: %q, want %q in it", tt.name, ansi.Strip(got), tt.want)
		}
		if n := strings.Count(got, "\x1b[1;4m"); n != 1 || !strings.Contains(got, "\x1b[1;4m"+tt.marked) {
			t.Errorf("%s: %q is not the one that is marked in %q", tt.name, tt.marked, got)
		}
	}
}
