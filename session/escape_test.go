package session

import (
	"encoding/json"
	"testing"
)

func TestInvisibleCharactersOfJSONAreEscaped(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain text stays":    {"tést → 日本 👍", `"tést → 日本 👍"`},
		"a C1 control":        {"a\u009b31m", `"a\u009b31m"`},
		"delete":              {"a\x7fb", `"a\u007fb"`},
		"bidi":                {"\u202egnp.\u2066x\u2069", `"\u202egnp.\u2066x\u2069"`},
		"zero width":          {"a\u200bb\ufeff", `"a\u200bb\ufeff"`},
		"soft hyphen":         {"a\u00adb", `"a\u00adb"`},
		"tags":                {"a\U000E0041\U000E007F", `"a\udb40\udc41\udb40\udc7f"`},
		"variation selectors": {"a\ufe0f\U000E0100", `"a\ufe0f\udb40\udd00"`},
		"hangul filler":       {"a\u3164", `"a\u3164"`},
		"a backslash before":  {"\\\u202e", `"\\\u202e"`},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := json.Marshal(c.text)
			if err != nil {
				t.Fatal(err)
			}
			got := EscapeInvisible(data)
			if string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			var back string
			if err := json.Unmarshal(got, &back); err != nil || back != c.text {
				t.Errorf("decoded %q, %v, want %q", back, err, c.text)
			}
		})
	}
}

func TestInvisibleCharactersOfATextAreEscaped(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain text stays":        {"tést → 日本 👍\n\tx", "tést → 日本 👍\n\tx"},
		"a C1 control":            {"a\u009b31m", `a\u009b31m`},
		"bidi":                    {"\u202egnp.", `\u202egnp.`},
		"zero width":              {"a\u200bb\ufeff", `a\u200bb\ufeff`},
		"tags":                    {"a\U000E0041", `a\U000e0041`},
		"an emoji of several":     {"👩\u200d💻 ❤\ufe0f\u200d🔥", "👩\u200d💻 ❤\ufe0f\u200d🔥"},
		"a joiner of a script":    {"क्\u200dष", "क्\u200dष"},
		"a joiner after a letter": {"a\u200db", `a\u200db`},
		"a row of selectors":      {"👍\ufe0f\ufe0f\ufe0e", "👍\ufe0f" + `\ufe0f\ufe0e`},
	} {
		if got := EscapeText(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
