package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"belay/ui/keys"
	"belay/ui/theme"
)

// hintRows is how many of the last rows of a dialog may name its keys.
const hintRows = 4

// hintAt is the key that is named by the hint in a place of a dialog: "" where there is
// none, where other words stand, and where a hint has several keys.
func hintAt(rows []string, column, row int) string {
	if row < max(len(rows)-hintRows, 0) || row >= len(rows) {
		return ""
	}
	text := ansi.Strip(rows[row])
	inner := strings.TrimLeft(text, " │")
	at := theme.Width(text) - theme.Width(inner)
	found := ""
	for _, hint := range strings.Split(strings.TrimRight(inner, " │"), "   ") {
		label, rest, _ := strings.Cut(hint, " ")
		key := keys.KeyNamed(label)
		if key == "" {
			return "" // a row of other words
		}
		next, _, _ := strings.Cut(rest, " ")
		if column >= at && column < at+theme.Width(hint) && keys.KeyNamed(next) == "" {
			found = key
		}
		at += theme.Width(hint) + 3
	}
	return found
}
