package transcript

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"belay/models"
	"belay/session"
	"belay/ui/theme"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func pane(w, h int) *Pane {
	p := New(plainTheme, func() time.Time { return start })
	p.SetSize(w, h)
	return p
}

func play(p *Pane, events ...session.Event) {
	turn := 0
	for i, e := range events {
		if _, ok := e.(session.TurnStarted); ok {
			turn++
		}
		p.Apply(session.Record{Session: "s", Seq: int64(i + 1), Turn: turn,
			Time: start.Add(time.Duration(i) * time.Second), Event: e})
	}
}

func shown(p *Pane) string {
	lines := p.View()
	for i := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(lines[i]), " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func asked(text string) session.Event { return session.TurnStarted{Prompt: session.Prompt{Text: text}} }

func said(text string) session.Event {
	it := models.NewMessage(models.Assistant, text)
	it.Origin.Model = "gpt-5.6-sol"
	return session.ItemAdded{Item: it}
}

func TestViewIsExactlyAsHighAndNeverTooWide(t *testing.T) {
	for _, w := range []int{20, 60, 141, 200} {
		p := pane(w, 15)
		play(p, asked(strings.Repeat("word ", 80)), said(strings.Repeat("長い文章です。", 40)+"\n\n```go\n"+strings.Repeat("x",
			300)+"\n```\n\n| a | b |\n|---|---|\n| "+strings.Repeat("y ", 90)+" | z |\n"),
			session.ToolEnded{CallID: "c", Tool: strings.Repeat("t", 40), Title: strings.Repeat("p/", 90),
				Summary: strings.Repeat("s", 90), Diff: "@@ -1 +1 @@\n-" + strings.Repeat("a", 200) + "\n+b"})
		for range 30 {
			lines := p.View()
			if len(lines) != 15 {
				t.Fatalf("width %d: %d lines, want 15", w, len(lines))
			}
			for _, l := range lines {
				if theme.Width(l) > w {
					t.Fatalf("width %d: %q is %d wide", w, ansi.Strip(l), theme.Width(l))
				}
			}
			p.Scroll(-4)
			p.Open()
		}
	}
}

func TestStreamedTextReadsLikeTheFinishedItem(t *testing.T) {
	source := "First *words*.\n\n- a\n- b\n\n```go\nfunc f() {}\n```\n\nLast."
	streamed, whole := pane(60, 30), pane(60, 30)
	events := []session.Event{asked("x"), session.ReplyOpened{Target: models.Target{Model: "gpt-5.6-sol"}}}
	for _, c := range strings.SplitAfter(source, " ") {
		events = append(events, session.TextDelta{Text: c})
	}
	play(streamed, append(events, said(source))...)
	play(whole, asked("x"), said(source))
	if got, want := shown(streamed), shown(whole); got != want {
		t.Errorf("streamed:\n%s\nwhole:\n%s", got, want)
	}
}

func TestWhatArrivedBesideACallIsShownOnce(t *testing.T) {
	thought := session.ItemAdded{Item: models.Item{Kind: models.Reasoning, Text: "I ponder."}}
	called := session.ItemAdded{Item: models.Item{Kind: models.Call, CallID: "c", Name: "read", Arguments: "{}"}}
	arriving := []session.Event{asked("x"), session.ReasoningDelta{Text: "I ponder."},
		session.TextDelta{Text: "I look "}, session.TextDelta{Text: "first.\n\nReally."},
		session.CallDelta{CallID: "c", Name: "read", Bytes: 1}}
	t.Run("when the call is done", func(t *testing.T) {
		p := pane(80, 20)
		play(p, append(arriving, thought, said("I look first.\n\nReally."), called, session.TextDelta{Text: "Then."})...)
		got := shown(p)
		if strings.Count(got, "I look first.") != 1 || strings.Count(got, "Really.") != 1 ||
			strings.Count(got, "I ponder.") != 1 || !strings.Contains(got, "Then.") {
			t.Errorf("got:\n%s", got)
		}
	})
	t.Run("when it ended differently", func(t *testing.T) {
		p := pane(80, 20)
		play(p, append(arriving, said("I look again."), called)...)
		if got := shown(p); strings.Contains(got, "first") || strings.Count(got, "I look again.") != 1 {
			t.Errorf("got:\n%s", got)
		}
	})
	t.Run("when it is cut off", func(t *testing.T) {
		p := pane(80, 20)
		play(p, append(arriving, session.CutOff{Text: "I look first.\n\nReally.", Tool: "read"})...)
		if got := shown(p); strings.Count(got, "I look first.") != 1 || strings.Contains(got, "ponder") {
			t.Errorf("got:\n%s", got)
		}
	})
}

func TestCutOffTextGivesWay(t *testing.T) {
	p := pane(80, 20)
	target := models.Target{Provider: "openai", Model: "gpt-5.6-sol"}
	play(p, asked("x"), session.ReplyOpened{Target: target}, session.TextDelta{Text: "The first try.\n\nMore of"},
		session.CutOff{Text: "The first try.\n\nMore of"})
	if got := shown(p); strings.Count(got, "The first try.") != 1 ||
		!strings.Contains(got, "(cut off; will be written again)") {
		t.Errorf("after the cut:\n%s", got)
	}
	play(p, session.ReplyOpened{Target: target}, session.TextDelta{Text: "The second try."})
	if got := shown(p); strings.Contains(got, "first try") || strings.Contains(got, "cut off") ||
		!strings.Contains(got, "● sol  The second try.") {
		t.Errorf("after the new words:\n%s", got)
	}
	t.Run("stopped text stays", func(t *testing.T) {
		p := pane(80, 20)
		play(p, asked("x"), session.TextDelta{Text: "half"}, session.CutOff{Text: "half", Stopped: true},
			session.TurnEnded{Outcome: session.OutcomeStopped}, asked("y"), said("new"))
		if got := shown(p); !strings.Contains(got, "half  (stopped here)") {
			t.Errorf("got:\n%s", got)
		}
	})
}

func TestAdviceGoesWhenItIsFollowed(t *testing.T) {
	for _, next := range []session.Event{session.TurnResumed{Why: "by the user"}, asked("two")} {
		p := pane(80, 15)
		play(p, asked("one"), session.TurnEnded{Outcome: session.OutcomeStopped, Interrupted: true})
		if got := shown(p); !strings.Contains(got, "F8 goes on") {
			t.Fatalf("after the end:\n%s", got)
		}
		play(p, next)
		if got := shown(p); strings.Contains(got, "F8 goes on") || !strings.Contains(got, "belay ended here") {
			t.Errorf("after %T:\n%s", next, got)
		}
	}
}

func TestOlderPagesJoinWithoutMovingTheView(t *testing.T) {
	var all []session.Record
	seq := int64(0)
	put := func(turn int, e session.Event) {
		seq++
		all = append(all, session.Record{Session: "s", Seq: seq, Turn: turn, Time: start, Event: e})
	}
	for i := range 40 {
		put(i, asked(fmt.Sprint("question ", i)))
		put(i, session.ItemAdded{Item: models.Item{Kind: models.Call, CallID: fmt.Sprint("c", i), Name: "read",
			Arguments: `{"path":"a.go"}`}})
		put(i, session.ToolEnded{CallID: fmt.Sprint("c", i), Tool: "read", Title: "a.go", Summary: "1 line"})
		put(i, session.TurnEnded{Outcome: session.OutcomeDone})
	}
	p := pane(80, 12)
	cut := 82 // between a call and its result
	p.Load(all[cut:], true)
	p.Top()
	before := shown(p)
	if at, ok := p.WantsOlder(); !ok || at != int64(cut+1) {
		t.Fatalf("WantsOlder = %d, %v", at, ok)
	}
	p.Prepend(all[:cut], false)
	after := shown(p)
	if !strings.Contains(after, strings.TrimSpace(strings.SplitN(before, "\n", 2)[0])) {
		t.Errorf("the view moved:\n%s\nfrom\n%s", after, before)
	}
	p.Top()
	if got := shown(p); !strings.HasPrefix(got, " › question 0") {
		t.Errorf("top:\n%s", got)
	}
	calls := 0
	for _, e := range p.entries {
		if e.kind == call {
			calls++
		}
	}
	if calls != 40 {
		t.Errorf("%d calls, want 40: one of two pages shows once", calls)
	}
	whole := pane(80, 12)
	whole.Load(all, false)
	if len(whole.entries) != len(p.entries) {
		t.Errorf("%d entries in pages, %d at once", len(p.entries), len(whole.entries))
	}
}

func TestLinkDefinitionsReachEarlierPieces(t *testing.T) {
	p := pane(80, 20)
	play(p, asked("x"), said("See [the docs][1] first.\n\nMore.\n\n[1]: https://example.com/docs\n"))
	if got := shown(p); !strings.Contains(got, "See the docs https://example.com/docs first.") {
		t.Errorf("got:\n%s", got)
	}
}

func TestReasoningIsFoldedToALine(t *testing.T) {
	p := pane(80, 20)
	play(p, asked("x"), session.ReasoningDelta{Text: "**Weighing**\nlong thoughts\nover lines"}, said("So."))
	if got := shown(p); strings.Contains(got, "long thoughts") || !strings.Contains(got, "∴ thought  Weighing") {
		t.Errorf("folded:\n%s", got)
	}
	p.Unfold()
	if got := shown(p); !strings.Contains(got, "long thoughts") {
		t.Errorf("unfolded:\n%s", got)
	}
}

func TestDiffSideBySide(t *testing.T) {
	lines := Diff(plainTheme, "--- a\n+++ b\n@@ -7,3 +7,2 @@\n same\n-old one\n-old two\n+new one\n", 80, true)
	var got []string
	for _, l := range lines {
		if theme.Width(l) > 80 {
			t.Errorf("%q is too wide", ansi.Strip(l))
		}
		got = append(got, strings.Join(strings.Fields(ansi.Strip(l)), " "))
	}
	want := "7 same │ 7 same\n8 − old one │ 8 + new one\n9 − old two │"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

func TestAReplyThatIsTakenUpAgainIsShownOnce(t *testing.T) {
	p := pane(80, 20)
	play(p, asked("x"), session.TextDelta{Text: "One half "}, session.ReplyResumed{},
		session.TextDelta{Text: "and the other."})
	if got := shown(p); !strings.Contains(got, "One half and the other.") {
		t.Errorf("while it is written:\n%s", got)
	}
	play(p, said("One half and the other."))
	if got := shown(p); strings.Count(got, "One half") != 1 || strings.Count(got, "and the other.") != 1 ||
		!strings.Contains(got, "the connection broke") {
		t.Errorf("got:\n%s", got)
	}
}

func TestASummaryIsFolded(t *testing.T) {
	p := pane(80, 20)
	play(p, asked("x"), session.Compacted{Through: 1, Summary: "## Goal\n- the rules move", Before: 90_000, After: 9_000})
	if got := shown(p); strings.Contains(got, "the rules move") ||
		!strings.Contains(got, "older work is now a summary: 90k → 9k tokens") {
		t.Errorf("folded:\n%s", got)
	}
	p.Open()
	if got := shown(p); !strings.Contains(got, "the rules move") {
		t.Errorf("opened:\n%s", got)
	}
}

func TestAMessageWithinATurnIsShownAndNoTurnOfItsOwn(t *testing.T) {
	p := pane(80, 20)
	play(p, asked("go on"), said("I look."), session.PromptTaken{Prompt: session.Prompt{Text: "use tabs"}}, said("With tabs."),
		session.TurnEnded{Outcome: session.OutcomeDone})
	text := shown(p)
	if a, b, c := strings.Index(text, "I look."), strings.Index(text, "use tabs"), strings.Index(text, "With tabs."); a < 0 ||
		b < a || c < b {
		t.Errorf("it does not stand in its place:\n%s", text)
	}
	p.Apply(session.Record{Seq: 9, Event: session.Rewound{Rewinding: session.Rewinding{Conversation: true}}})
	if text := shown(p); strings.Contains(text, "use tabs") || !strings.Contains(text, "taken back: 1 turn") {
		t.Errorf("after a rewind of one turn:\n%s", text)
	}
}
