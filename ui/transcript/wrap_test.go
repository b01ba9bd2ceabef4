package transcript

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/ui/theme"
)

func rendered(source string, width int) []string {
	m := &markdown{}
	lines := m.render(theme.New("dark", true, colorprofile.TrueColor), width, source)
	for i, line := range lines {
		lines[i] = ansi.Strip(line)
	}
	return lines
}

func TestWhatIsTooLongKeepsItsForm(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		want         []string
	}{
		{"the rest of an item stands below its words",
			"- one item that is longer than thirty cells\n  1. a nested one that is longer as well\n- two",
			[]string{"• one item that is longer than", "  thirty cells", "  1. a nested one that is", "     longer as well", "• two"}},
		{"wide characters too", "- 端数は二回丸められる端数は二回丸められる と言う",
			[]string{"• ", "  端数は二回丸められる端数は二", "  回丸められる と言う"}},
		{"code keeps its indent, and its rest has a sign",
			"```go\nfunc f() {\n\tcall(first, second, third, fourth)\n}\n```",
			[]string{"  func f() {", "      call(first, second, thir", "      ↪ d, fourth)", "  }"}},
		{"so do long lines without blanks", "```\n" + strings.Repeat("x", 60) + "\n```",
			[]string{"  " + strings.Repeat("x", 28), "  ↪ " + strings.Repeat("x", 26), "  ↪ " + strings.Repeat("x", 6)}},
		{"a flag and a path are not split at their signs", "use the flag --no-verify and a/b/c",
			[]string{"use the flag --no-verify and", "a/b/c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := rendered(tt.source, 30)
			if tt.want[0] == "• " { // where the words begin is the renderer's
				got, tt.want = slices.DeleteFunc(got, func(l string) bool { return strings.HasPrefix(l, "• ") }), nil
				for _, line := range got {
					if !strings.HasPrefix(line, "  ") {
						t.Errorf("%q does not stand below its words", line)
					}
				}
				return
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("rendered as\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestTheRestOfAChangedLineIsNoLineOfItsOwn(t *testing.T) {
	th := theme.New("dark", true, colorprofile.TrueColor)
	diff := "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+" + strings.Repeat("new ", 20) + "\n"
	signs := 0
	for _, line := range Diff(th, diff, 40, false) {
		if strings.Contains(ansi.Strip(line), "+ ") {
			signs++
		}
	}
	if signs != 1 {
		t.Errorf("%d lines look as if they were added", signs)
	}
}

// FuzzCode breaks a line and puts it together again.
func FuzzCode(f *testing.F) {
	f.Add("    call(first, second)", 12)
	f.Add("端数は二回丸められる👍", 7)
	f.Fuzz(func(t *testing.T, line string, width int) {
		line = strings.ReplaceAll(theme.Sanitize(line), "\n", " ")
		width = 4 + (width%60+60)%60
		var whole strings.Builder
		for i, part := range theme.Code(line, width) {
			if theme.Width(part) > width {
				t.Errorf("%q is wider than %d", part, width)
			}
			if _, rest, ok := strings.Cut(part, "↪ "); ok && i > 0 {
				part = rest
			}
			whole.WriteString(part)
		}
		if got, want := strings.Join(strings.Fields(whole.String()), ""), strings.Join(strings.Fields(line), ""); got != want &&
			!strings.Contains(line, "↪") && width > 12 {
			t.Errorf("%q became %q", want, got)
		}
	})
}
