package openai

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// What reads strings and objects faster agrees with what it replaces.
func FuzzText(f *testing.F) {
	for _, seed := range []string{
		`"a\ud83d\ude00b\n\u00e9\\\/\""`, `"\ude00\ud83d"`, `{"a":1,"b":{"c":["}",{}]},"d":"\"","":null}`, `{ "a" : [ ] , "b" : -1.5e3 }`,
		"\"\xf0\x9f\"", `{"a":true}`, `{}`, `[{"a":1}]`, `"\uD83D\u0041"`,
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, document []byte, size int) {
		document = skipSpace(document)
		if !json.Valid(document) {
			return
		}
		if end := len(strings.TrimRight(string(document), " \t\r\n")); valueLength(document) != end {
			t.Errorf("%s: %d bytes long, want %d", document, valueLength(document), end)
		}
		if back := replaceHalves(document); !json.Valid(back) {
			t.Errorf("%s: %s is not JSON", document, back)
		}
		switch document[0] {
		case '"':
			compareString(t, document, size)
		case '{':
			compareObject(t, document)
		}
	})
}

func compareString(t *testing.T, document []byte, size int) {
	t.Helper()
	var want string
	if err := json.Unmarshal(document, &want); err != nil {
		t.Fatal(err)
	}
	var loose looseString
	if err := json.Unmarshal(document, &loose); err != nil {
		t.Fatal(err)
	}
	// encoding/json replaces each wrong byte, and this each run of them.
	if shorter(string(loose)) != shorter(want) {
		t.Errorf("%s: %q, want %q", document, loose, want)
	}
	// In pieces it is the same.
	text := unquote(document[:valueLength(document)])
	var built textBuilder
	said := ""
	for size = max(size, 1); text != ""; {
		piece := text[:min(size, len(text))]
		text = text[len(piece):]
		part := built.add(textPiece(piece))
		if !utf8.ValidString(part) {
			t.Errorf("%s: piece %q", document, part)
		}
		said += part
	}
	said += built.end()
	if shorter(said) != shorter(want) || built.whole() != said {
		t.Errorf("%s in pieces of %d: %q and %q, want %q", document, size, said, built.whole(), want)
	}
}

func shorter(s string) string {
	for strings.Contains(s, "\uFFFD\uFFFD") {
		s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
	}
	return s
}

func compareObject(t *testing.T, document []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	if err := json.Unmarshal(document, &want); err != nil {
		t.Fatal(err)
	}
	got := map[string]json.RawMessage{}
	members(document, func(name string, value json.RawMessage) {
		got[strings.ToValidUTF8(name, "\uFFFD")] = value
	})
	if len(shorterKeys(got)) != len(shorterKeys(want)) {
		t.Errorf("%s: %d members, want %d", document, len(got), len(want))
	}
	for name, value := range want {
		if own, ok := got[name]; ok && string(own) != string(value) {
			t.Errorf("%s: %q is %s, want %s", document, name, own, value)
		}
	}
}

func shorterKeys(m map[string]json.RawMessage) map[string]bool {
	keys := map[string]bool{}
	for k := range m {
		keys[shorter(k)] = true
	}
	return keys
}
