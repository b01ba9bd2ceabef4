package theme

import (
	"strings"
	"testing"
)

// Names, flags and paths stay whole where a line is broken.
func TestNoLineIsBrokenAtAHyphen(t *testing.T) {
	for text, want := range map[string]string{
		"answered by openai/gpt-5.6-sol": "answered by|openai/gpt-5.6-sol",
		"git push --force-with-lease":    "git push|--force-with-lease",
		"a-very-long-name-of-a-model":    "a-very-long-name-of-|a-model", // no line has room for it
	} {
		if got := strings.Join(Wrap(text, 20), "|"); got != want {
			t.Errorf("Wrap(%q) = %q, want %q", text, got, want)
		}
	}
}
