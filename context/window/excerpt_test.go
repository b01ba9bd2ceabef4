package window

import (
	"fmt"
	"strings"
	"testing"
)

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestExcerpt(t *testing.T) {
	defs := ""
	for i := range 5 {
		defs += fmt.Sprintf("func f%d() {\n\t// says nothing\n\n\tbody%d()\n}\n%s", i, i, numbered(1, 30))
	}
	for _, tt := range []struct {
		name, text string
		has, lacks []string
	}{
		{"a short text stays whole", numbered(1, 50), []string{"line 1\n", "line 50\n"}, []string{truncatedNote}},
		{"a long one keeps its last 50 lines", numbered(1, 500), []string{truncatedNote + "\nline 451\n", "line 500\n"},
			[]string{"line 450\n"}},
		{"what speaks of an error stays",
			numbered(1, 100) + "panic: runtime error\n\nmain.go:12 +0x1d\n" + numbered(101, 400),
			[]string{"panic: runtime error\n", "main.go:12"}, []string{"line 100\n", "line 101\n"}},
		{"the last definitions stay, without remarks", defs + numbered(1, 200),
			[]string{"func f2() {\n\tbody2()\n}\n", "func f4()"}, []string{"func f1()", "says nothing"}},
		{"no line is endless", strings.Repeat("x", 1<<20), []string{"xxx " + truncatedNote},
			[]string{strings.Repeat("x", maxExcerptLine+1)}},
		{"no character is cut in two", strings.Repeat("世", 1000), []string{"世 " + truncatedNote}, []string{"\ufffd"}},
		{"nothing stays nothing", "", nil, []string{truncatedNote}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Excerpt(tt.text)
			for _, want := range tt.has {
				if !strings.Contains(got, want) {
					t.Errorf("Excerpt lacks %.60q:\n%.600s", want, got)
				}
			}
			for _, not := range tt.lacks {
				if strings.Contains(got, not) {
					t.Errorf("Excerpt has %.60q:\n%.600s", not, got)
				}
			}
			if len(got) > len(tt.text) {
				t.Errorf("Excerpt of %d bytes has %d", len(tt.text), len(got))
			}
		})
	}
}
