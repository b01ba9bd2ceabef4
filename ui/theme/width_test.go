package theme

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// FuzzWidth holds that the short way counts as the long one does.
func FuzzWidth(f *testing.F) {
	for _, s := range []string{
		"", "plain", "\x1b[1;38;2;10;20;30mbold\x1b[m", "│ ─ ╭╮ ● · … ’ – “”", "端数 and é e\u0301", "a\u200db", "·\u0301", "…\ufe0f",
		"─\u200d─", "\x1b[31", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "tab\there", "\u2028\u2011", "\x7f\x80", "\x1b[4:3mcurl",
		"👩‍👩‍👧 and more", "\xe2\x94", "\xc2", "1\ufe0f\u20e3", "\x1b[?25h…", "\r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := Width(s), ansi.StringWidth(s); got != want {
			t.Errorf("%q: got %d cells, want %d", s, got, want)
		}
	})
}
