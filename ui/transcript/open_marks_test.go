package transcript

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"belay/session"
)

func TestMarksThatAreNotClosedYetAreNotSeen(t *testing.T) {
	for _, reply := range []string{
		"A **bold word** and `some code` end.",
		"**Bold `code` in it** and ``after``.",
		"这是**重点**，还有`代码`。",
		"- one **item\n  that** goes on\n- `two` and **three**",
		"First **one**.\n\nThen **two** (**three**).",
	} {
		for n := range reply {
			p := pane(80, 10)
			play(p, asked("x"), session.TextDelta{Text: reply[:n]})
			if shown := ansi.Strip(strings.Join(p.View(), "\n")); strings.ContainsAny(shown, "*`") {
				t.Errorf("of %q is seen:\n%s", reply[:n], strings.TrimSpace(shown))
			}
		}
	}
}

func TestSignsThatAreNoMarksStay(t *testing.T) {
	for _, reply := range []string{"2**3 is 8", "2 ** 3", `\**x`, "a * b"} {
		if got := closeMarks(reply); got != reply {
			t.Errorf("closeMarks(%q) = %q", reply, got)
		}
	}
	p := pane(80, 10)
	play(p, asked("x"), session.TextDelta{Text: "- see\n  ```go\n  x := **p + `"})
	if shown := ansi.Strip(strings.Join(p.View(), "\n")); !strings.Contains(shown, "**p + `") {
		t.Errorf("code has lost its signs:\n%s", shown)
	}
}
