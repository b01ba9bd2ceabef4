package transcript

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/ui/theme"
)

var plainTheme = theme.New("dark", true, colorprofile.TrueColor)

// markdownPieces are pieces of Markdown that a reply may consist of.
var markdownPieces = []string{
	"# Heading\n\n", "Some prose with *words* and `code`\nover two lines.\n\n", "- one\n- two\n\n",
	"- loose\n\n- list\n\n  with a paragraph\n\n",
	"1. first\n2. second\n\n", "1. a\n\n   ```sh\n   ls\n\n   pwd\n   ```\n\n2. b\n\n", "> quoted\n> more\n\n",
	"```go\nfunc f() {\n\n}\n```\n",
	"Prose before\n```\ncode\n\ncode\n```\nprose after\n\n", "~~~\ntilde ``` inside\n\n~~~\n\n",
	"    indented code\n\n    more of it\n\n", "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
	"Title\n=====\n\n", "---\n\n", "<!-- a\n\ncomment -->\n\n", "Words\n- item right after\n\n  still the item\n\n",
	"日本語の段落。\n\n", "````\n```\nnested\n```\n````\n\n", "\n\n\n", "no blank at the end\n",
}

func compose(pick []byte) string {
	var b strings.Builder
	for _, p := range pick {
		b.WriteString(markdownPieces[int(p)%len(markdownPieces)])
	}
	return b.String()
}

// joinPieces is what a render says, without looks and blank lines.
func joinPieces(lines []string) string {
	var out []string
	for _, l := range lines {
		if l = strings.TrimSpace(ansi.Strip(l)); l != "" {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
	}
	return strings.Join(out, "\n")
}

func cutAll(source string, steps []byte) *blocks {
	b := &blocks{}
	for i := 0; len(source) > 0; i++ {
		n := len(source)
		if len(steps) > 0 {
			n = min(n, int(steps[i%len(steps)])+1)
		}
		b.add(source[:n])
		source = source[n:]
	}
	return b
}

func checkPieces(t *testing.T, source string, steps []byte) {
	t.Helper()
	whole, b := cutAll(source, nil), cutAll(source, steps)
	var joined strings.Builder
	for i := range b.closed() {
		joined.WriteString(b.piece(i))
	}
	joined.WriteString(b.open())
	if joined.String() != source {
		t.Fatalf("the pieces of %q make %q", source, joined.String())
	}
	if b.closed() != whole.closed() {
		t.Fatalf("%q in steps of %v has %d pieces, at once %d", source, steps, b.closed(), whole.closed())
	}
}

func FuzzPiecesReadLikeTheWhole(f *testing.F) {
	for i := range markdownPieces {
		f.Add([]byte{byte(i), byte(i * 7), byte(i * 3)}, []byte{byte(i), 5})
	}
	f.Fuzz(func(t *testing.T, pick, steps []byte) {
		if len(pick) > 12 {
			return
		}
		source := compose(pick)
		checkPieces(t, source, steps)
		var m markdown
		want := joinPieces(m.render(plainTheme, 60, source))
		b := cutAll(source, steps)
		var got []string
		for i := range b.closed() {
			got = append(got, m.render(plainTheme, 60, b.piece(i))...)
		}
		got = append(got, m.render(plainTheme, 60, b.open())...)
		// The width of a table's columns is its own business.
		loose := strings.NewReplacer("─", "", "┼", "", "│", "", " ", "", "\n", "")
		if a, b := loose.Replace(joinPieces(got)), loose.Replace(want); a != b {
			t.Fatalf("%q in pieces reads\n%s\nas a whole\n%s", source, joinPieces(got), want)
		}
	})
}

func FuzzAnyTextInPieces(f *testing.F) {
	f.Add("a\n\nb", []byte{1})
	f.Add("```\n\n```\nx\n\n- a\n\n- b\n\nc", []byte{0, 3})
	f.Fuzz(func(t *testing.T, source string, steps []byte) { checkPieces(t, source, steps) })
}

func TestAnOpenFenceIsShownPlainUntilItCloses(t *testing.T) {
	b := &blocks{}
	b.add("words\n\n```go\nfunc f")
	if lang, code, ok := b.code(); !ok || lang != "go" || code != "func f" {
		t.Errorf("code() = %q, %q, %v", lang, code, ok)
	}
	b.add("() {}\n```\n")
	if _, _, ok := b.code(); ok || b.closed() != 2 {
		t.Errorf("after the close: open %v, %d pieces, want 2", ok, b.closed())
	}
}
