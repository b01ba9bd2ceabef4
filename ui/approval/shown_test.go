package approval

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/session"
	"belay/ui/theme"
)

// shown is all that the pane shows of a call, without white space.
func shown(class session.Class, preview string) string {
	p := New(theme.New("dark", true, colorprofile.TrueColor), time.Now, nil)
	p.asked = session.Approval{Tool: "shell", Class: class, Preview: preview, Args: "{}"}
	return squeezed(ansi.Strip(strings.Join(p.Body(p.theme, 60, false), "")))
}

// squeezed leaves white space out, and the sign of a line that goes on.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune(goesOn, r) {
			return -1
		}
		return r
	}, s)
}

func TestACommandIsShownAsItself(t *testing.T) {
	for command, want := range map[string]string{
		"@@ -1 +1 @@\nrm -rf x":           "@@-1+1@@rm-rfx",
		"--- a\n+++ b\nrm -rf x\n-y":      "---a+++brm-rfx-y",
		"echo a\u202eb":                   "echoa<U+202E>b",
		"rm\u00a0x":                       "rm<U+00A0>x",
		"l\u200bs":                        "l<U+200B>s",
		"l\ufeffs \u00adx":                "l<U+FEFF>s<U+00AD>x",
		"ls \U000e0041":                   "ls<U+E0041>",
		"a\x1b[2Kb":                       "a␛[2Kb",
		"a\rb":                            "a␍b",
		strings.Repeat("long ", 40) + "!": strings.Repeat("long", 40) + "!",
	} {
		if got := shown(session.Run, command); got != want {
			t.Errorf("%q is shown as %q, want %q", command, got, want)
		}
	}
}

// FuzzNothingThatRunsIsHidden gives the pane any command: each of its characters must
// be seen, as itself or by its number.
func FuzzNothingThatRunsIsHidden(f *testing.F) {
	for _, seed := range []string{"@@ x\ny", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y", "a\x1b]0;t\x07b", "é́e", "\u202e", "a\tb", "👩\u200d💻"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		if want, got := squeezed(
			theme.Visible(command),
		), shown(
			session.Run,
			command,
		); got != want &&
			squeezed(command) != "" {
			t.Errorf("%q is shown as %q, want %q", command, got, want)
		}
		for _, r := range squeezed(theme.Visible(command)) {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Variation_Selector) {
				t.Errorf("%q shows %U, which nobody sees", command, r)
			}
		}
	})
}
