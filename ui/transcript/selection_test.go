package transcript

import (
	"strings"
	"testing"

	"belay/session"
)

const longPath = "/srv/data/with/a/long/name/that/is/wider/than/the/narrowest/screen/by/far/orders.go"

// talk is a conversation in which everything is that a layout can break, and what of
// it a copy holds.
func talk() (events []session.Event, want string) {
	events = []session.Event{
		asked("port the module, 注文の合計は二回丸められるので直してください, and see " + longPath),
		said("The module mixes **pricing** and `storage`, which is why the total of an order is rounded twice before it " +
			"is stored; 端数は二回丸められる、これは一行に収まらない長い文章です。\n\n" +
			"- one rule lives twice, here and in the importer that nobody has looked at for years\n- two\n\n" +
			"```go\nfunc PriceOf(o Order, lines []Line, rates map[string]Rate, rounding func(int64) int64) int64 {\n" +
			"\tif o.Paid {\n\t\treturn 0\n\t}\n}\n```\n\nDone."),
		session.ToolEnded{CallID: "c", Tool: "shell", Title: "go test", Summary: "exit 1", Error: true,
			Output: "--- FAIL: TestTotal\n\tgot 1299, want 1300"},
	}
	want = "port the module, 注文の合計は二回丸められるので直してください, and see " + longPath + "\n\n" +
		"The module mixes pricing and storage, which is why the total of an order is rounded twice before it " +
		"is stored; 端数は二回丸められる、これは一行に収まらない長い文章です。\n\n" +
		"• one rule lives twice, here and in the importer that nobody has looked at for years\n• two\n\n" +
		"func PriceOf(o Order, lines []Line, rates map[string]Rate, rounding func(int64) int64) int64 {\n" +
		"\tif o.Paid {\n\t\treturn 0\n\t}\n}\n\nDone."
	return events, want
}

func TestWhatIsCopiedIsTheTextAtEveryWidth(t *testing.T) {
	events, want := talk()
	for _, w := range []int{28, 40, 60, 80, 120, 141, 200} {
		p := pane(w, 80)
		play(p, events...)
		p.View()
		p.Press(0, 0, 1)
		p.Drag(w-1, 79)
		text := p.Drop()
		if !strings.HasPrefix(text, want) {
			t.Errorf("width %d: copied\n%s\nwant\n%s", w, text, want)
		}
		if tail := "--- FAIL: TestTotal\n\tgot 1299, want 1300"; !strings.HasSuffix(text, tail) {
			t.Errorf("width %d: copied %q, want it to end with %q", w, text[max(0, len(text)-90):], tail)
		}
	}
}

// find gives where words stand in the view.
func find(t *testing.T, p *Pane, words string) (column, row int) {
	t.Helper()
	for i, line := range strings.Split(shown(p), "\n") {
		if before, _, ok := strings.Cut(line, words); ok {
			return len([]rune(before)), i
		}
	}
	t.Fatalf("%q is not in view:\n%s", words, shown(p))
	return 0, 0
}

func TestPressesTakeACharacterAWordALine(t *testing.T) {
	for _, tt := range []struct {
		name, at string
		presses  int
		want     string
	}{
		{"a press alone marks nothing", "mixes", 1, ""},
		{"two take a word", "mixes", 2, "mixes"},
		{"a word ends before a full stop", "Done", 2, "Done"},
		{"a path is a word, also where it is broken", "wider", 2, longPath},
		{"three take the paragraph as it was written", "mixes", 3, "The module mixes pricing and storage, which is why the " +
			"total of an order is rounded twice before it is stored; 端数は二回丸められる、これは一行に収まらない長い文章です。"},
		{"three take a line of code with its tabs", "return 0", 3, "\t\treturn 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events, _ := talk()
			p := pane(60, 80)
			play(p, events...)
			x, y := find(t, p, tt.at)
			p.Press(x, y, tt.presses)
			if got := p.Drop(); got != tt.want {
				t.Errorf("copied %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAMarkHoldsOnToItsText(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(p *Pane)
	}{
		{"while more arrives", func(p *Pane) {
			for range 40 {
				p.Apply(session.Record{Session: "s", Turn: 1, Event: session.TextDelta{Text: "more words\n\nand more "}})
				p.View()
			}
		}},
		{"while the view scrolls", func(p *Pane) { p.Scroll(3); p.View() }},
		{"when the width changes", func(p *Pane) { p.SetSize(44, 12); p.View() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events, _ := talk()
			p := pane(60, 12)
			play(p, events...)
			p.Top()
			x, y := find(t, p, "pricing")
			p.Press(x, y, 1)
			x, y = find(t, p, "which is")
			p.Drag(x+1, y)
			tt.do(p)
			const want = "pricing and storage, wh"
			if got := p.Drop(); got != want {
				t.Errorf("copied %q, want %q", got, want)
			}
		})
	}
}

func TestDraggingBeyondTheViewScrolls(t *testing.T) {
	events, want := talk()
	p := pane(60, 8)
	play(p, events...)
	p.Top()
	p.View()
	p.Press(0, 0, 1)
	for range 60 {
		p.DragBeyond(59, 1)
	}
	if got := p.Drop(); !strings.HasPrefix(got, want) {
		t.Errorf("copied %q", got)
	}
}

func TestACopyOfACallHasNoPadding(t *testing.T) {
	p := pane(80, 20)
	play(p, asked("x"), session.ToolEnded{CallID: "c", Tool: "read", Title: "a.go", Summary: "9 lines"},
		session.ToolEnded{CallID: "d", Tool: "shell", Title: "ls  -la", Output: "a\nb"})
	x, y := find(t, p, "a.go")
	p.Press(x, y, 1)
	p.Drag(79, y+3)
	if got, want := p.Drop(), "a.go\nls  -la\na\nb"; got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
}

func TestACopyOfAChangeHasNoNumbersAndOneSide(t *testing.T) {
	diff := "--- a/x\n+++ b/x\n@@ -9,3 +9,3 @@\n \tkeep\n-\told := round(price)\n+\tnow := PriceOf(order)\n"
	for _, tt := range []struct {
		name     string
		w        int
		from, to string
		want     string
	}{
		{"one column", 80, "keep", "PriceOf", "keep\n\told := round(price)\n\tnow := P"},
		{"the new side", 160, "now", "PriceOf", "now := P"},
		{"the old side", 160, "old", "price", "old := round(p"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := pane(tt.w, 20)
			play(p, asked("x"), session.ToolEnded{CallID: "c", Tool: "edit", Title: "x", Diff: diff})
			x, y := find(t, p, tt.from)
			p.Press(x, y, 1)
			x, y = find(t, p, tt.to)
			p.Drag(x, y)
			if got := p.Drop(); got != tt.want {
				t.Errorf("copied %q, want %q", got, tt.want)
			}
		})
	}
}
