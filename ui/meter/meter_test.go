package meter

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/models"
	"belay/session"
	"belay/ui/theme"
)

var dark = theme.New("dark", true, colorprofile.TrueColor)

func full() (session.ContextUsage, session.Session) {
	v := session.ContextUsage{Failures: session.FailureThreshold{From: 96_000, Above: 0.2},
		Target: models.Target{Model: "a/\x1b[31mname"}, Budget: 1000, Trigger: 800, Counted: 1_234_567, Output: 9,
		Effort: "high", ToolCalls: 1, LeftOut: 3, SummaryThrough: 1}
	s := session.Session{Progress: session.Progress{PinnedNotes: []string{strings.Repeat("a long note 長い ", 30),
		"b\nc"}, Omitted: []session.Omission{{Label: session.OmittedSummary, Freed: 5}, {Label: "older outputs", Calls: 2,
		Freed: 90_000}, {Label: strings.Repeat("x", 200)}}}}
	for _, o := range session.Sources() {
		v.Parts = append(v.Parts, session.Part{Source: o, Tokens: 123_456})
	}
	return v, s
}

func plainText(lines []string) string { return ansi.Strip(strings.Join(lines, "\n")) }

func TestThePanelFitsEverywhere(t *testing.T) {
	some, s := full()
	for _, v := range []session.ContextUsage{{}, some} {
		for w := 20; w < 220; w += 13 {
			for h := range 40 {
				var p Pane
				p.Set(v, s)
				lines := p.View(dark, w, h)
				if len(lines) > h {
					t.Fatalf("%d×%d: %d lines", w, h, len(lines))
				}
				for _, l := range lines {
					if theme.Width(l) > w {
						t.Fatalf("%d×%d: %q is %d wide", w, h, ansi.Strip(l), theme.Width(l))
					}
				}
			}
		}
	}
}

func TestNothingIsClaimedBeforeItIsKnown(t *testing.T) {
	var p Pane
	if got := plainText(p.View(dark, 80, 20)); !strings.Contains(got, "counting …") || strings.Contains(got, "0") {
		t.Errorf("got:\n%s", got)
	}
}

func TestCountsAreExactOnlyWhenAProviderMadeThem(t *testing.T) {
	v := session.ContextUsage{Budget: 10_000, Counted: 2000,
		Parts: []session.Part{{Source: session.SourceTools, Tokens: 500}, {Source: session.SourceUser, Tokens: 1500}}}
	for _, tt := range []struct {
		name  string
		s     session.Session
		words []string
	}{
		{"counted by belay", session.Session{}, []string{"≈ 2,000 of 10,000", "500  25%", "1,500  75%", "≈2k in"}},
		{"counted by the provider", session.Session{Status: session.Idle, ContextTokens: 4000},
			[]string{"│ 4,000 of 10,000", "1,000  25%", "3,000  75%", " 4k in"}},
		{"after a change that no provider has counted", session.Session{Status: session.Idle,
			Usage: models.Usage{Input: 1}}, []string{"≈ 2,000 of 10,000 tokens, unknown until the next reply"}},
		{"while a turn adds to it", session.Session{Status: session.Running, ContextTokens: 4000},
			[]string{"≈ 2,000 of 10,000"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Pane
			p.Set(v, tt.s)
			got := plainText(p.View(dark, 100, 24))
			for _, w := range tt.words {
				if !strings.Contains(got, w) {
					t.Errorf("%q is missing:\n%s", w, got)
				}
			}
		})
	}
}

func TestThePanelSaysHowItCounts(t *testing.T) {
	for want, c := range map[string]session.CountAccuracy{
		"by length, until the vocabulary is read, not measured yet": {},
		"with o200k_base, as this model counts, not measured yet": {Encoding: "o200k_base",
			Exact: true},
		"with o200k_base in place of this model's own vocabulary, × 1.25 as its usage says": {Encoding: "o200k_base",
			Measured: true, Factor: 1.25},
	} {
		var p Pane
		p.Set(session.ContextUsage{Accuracy: c, Parts: []session.Part{{Source: session.SourceUser, Tokens: 1}}},
			session.Session{})
		if got := plainText(p.View(dark, 120, 30)); !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

func TestWhatWasTakenOutIsListedWithWhatItFreed(t *testing.T) {
	var p Pane
	v, s := full()
	v.SummaryThrough = 9
	p.Set(v, s)
	got := plainText(p.View(dark, 160, 30))
	for _, w := range []string{"turns 1–9, now a summary −5", "2 older outputs −90k", "3 older items without room",
		"123457%", "failures start above 96k input", "effort high", "1 tool step in this turn", "b c"} {
		if !strings.Contains(got, w) {
			t.Errorf("%q is missing:\n%s", w, got)
		}
	}
	if strings.Contains(strings.Join(p.View(dark, 160, 30), ""), "\x1b[31m") {
		t.Error("a foreign escape sequence came through")
	}
}
