package config

import (
	"strings"
	"testing"
)

func TestColoursOfOnesOwn(t *testing.T) {
	s := load(t, sources("[theme]\naccent = \"#6fd3b4\"\nadded_word = \"28\"\n", ""))
	if got := s.Theme.Named(); len(got) != 2 || got["accent"] != "#6fd3b4" || got["added_word"] != "28" {
		t.Errorf("the colours are %v", got)
	}
	for _, tt := range []struct{ line, want string }{
		{`accent = "teal"`, `"teal" is no colour`},
		{`accent = "#12345"`, `"#12345" is no colour`},
		{`accent = "256"`, `"256" is no colour`},
		{`acent = "#123456"`, "accent"},
	} {
		_, err := Load(sources("[theme]\n"+tt.line+"\n", ""))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "2") {
			t.Errorf("%s: %v, want the line and %q", tt.line, err, tt.want)
		}
	}
}
