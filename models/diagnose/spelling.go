package diagnose

import (
	"fmt"
	"unicode"
)

// Spell says where two names part, character by character, so that a wrong
// case, a stray space or an invisible character can be seen. It is empty for
// equal names.
func Spell(got, want string) string {
	x, y := []rune(got), []rune(want)
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		i++
	}
	at := func(r []rune) string {
		if i >= len(r) {
			return "ends"
		}
		return "has " + show(r[i])
	}
	if i == len(x) && i == len(y) {
		return ""
	}
	return fmt.Sprintf("character %d: %q %s, %q %s", i+1, got, at(x), want, at(y))
}

func show(r rune) string {
	switch {
	case r == ' ':
		return "a space"
	case r == '\t':
		return "a tab"
	case !unicode.IsGraphic(r) || unicode.IsSpace(r):
		return fmt.Sprintf("an invisible character (U+%04X)", r)
	case unicode.IsUpper(r):
		return fmt.Sprintf("a capital %q", string(r))
	}
	return fmt.Sprintf("%q", string(r))
}
