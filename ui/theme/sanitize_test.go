package theme

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"belay/models"
)

func TestSanitize(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain text passes", "héllo 世界 👨‍👩‍👧\n\tcode", "héllo 世界 👨‍👩‍👧\n\tcode"},
		{"colours go", "\x1b[31mred\x1b[0m", "red"},
		{"a title is not set", "a\x1b]0;owned\x07b", "ab"},
		{"the clipboard is not set", "a\x1b]52;c;eA==\x1b\\b", "ab"},
		{"C1 goes", "a\u009b31mb", "a31mb"},
		{"raw bytes become marks", "a\x9bb", "a\uFFFDb"},
		{"a carriage return hides nothing", "rm -rf /\rls", "rm -rf /\nls"},
		{"lines of Windows", "a\r\nb", "a\nb"},
		{"text is not reordered", "abc\u202edef", "abcdef"},
		{"invisible letters go", "a\U000E0041b", "ab"},
		{"backspaces go", "ab\b\bcd\x00", "abcd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Sanitize(tt.in); got != tt.want {
				t.Errorf("Sanitize(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestVisibleHidesNothing(t *testing.T) {
	if got, want := Visible("ls\x1b[8m;rm\t\u202ex\r\n"), "ls␛[8m;rm    <U+202E>x\n"; got != want {
		t.Errorf("Visible = %q, want %q", got, want)
	}
}

func TestRenderedKeepsColoursAndLinksOnly(t *testing.T) {
	in := "\x1b[1mbold\x1b[0m \x1b]8;;https://x.y\x07link\x1b]8;;\x07 \x1b]52;c;eA==\x07\x1b[2J\x1bPq\x1b\\\u202eend"
	want := "\x1b[1mbold\x1b[0m \x1b]8;;https://x.y\x07link\x1b]8;;\x07 end"
	if got := Rendered(in); got != want {
		t.Errorf("Rendered = %q, want %q", got, want)
	}
}

func TestRenderedLinksLeadToPagesOnly(t *testing.T) {
	for _, address := range []string{
		"file:///etc/passwd", "javascript:alert(1)", "vscode://x", "x-man-page://ls", "https://a\nb", "//host/x", "ssh://h",
	} {
		got := Rendered("\x1b]8;;" + address + "\x07words\x1b]8;;\x07")
		if strings.Contains(got, "8;;"+address) || !strings.Contains(got, "words") {
			t.Errorf("a link to %q is written: %q", address, got)
		}
	}
	for _, address := range []string{"https://x.y/z?a=b;c", "HTTP://x", "mailto:a@b.c"} {
		if got := Rendered("\x1b]8;id=1;" + address + "\x1b\\words\x1b]8;;\x1b\\"); !strings.Contains(got, address) {
			t.Errorf("a link to %q is left out: %q", address, got)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[31mred", "\x1b]52;c;x\x07", "\u009b1m", "\x9b", "a\r\nb\rc",
		"\x1bPq\x1b\\", "\u202e", "\x1b\x1b[[m", "\xc2\x1b\x9b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for name, out := range map[string]string{"Sanitize": Sanitize(in), "Line": Line(in), "Plain": Plain(in),
			"Visible": Visible(in)} {
			if !utf8.ValidString(out) {
				t.Fatalf("%s(%q) = %q is not UTF-8", name, in, out)
			}
			if i := strings.IndexFunc(out, func(r rune) bool {
				return unicode.IsControl(r) && r != '\n' && r != '\t' ||
					r >= 0x202a && r <= 0x202e
			}); i >= 0 {
				t.Fatalf("%s(%q) = %q lets a control through", name, in, out)
			}
		}
		if once := Sanitize(in); Sanitize(once) != once {
			t.Fatalf("Sanitize is not idempotent on %q: %q", in, once)
		}
		left := ansi.Strip(Rendered(in))
		if i := strings.IndexFunc(left, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 {
			t.Fatalf("Rendered(%q) leaves %q", in, left)
		}
	})
}

func TestFitCountsCells(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  string
	}{
		{"abc", 5, "abc  "},
		{"abcdef", 4, "abc…"},
		{"世界", 5, "世界 "},
		{"世界", 3, "世…"},
		{"e\u0301a", 3, "e\u0301a "},
		{"👍👍", 3, "👍…"},
		{"x", 0, ""},
	} {
		if got := Fit(tt.in, tt.width); got != tt.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for got, want := range map[string]string{
		Elapsed(40 * time.Millisecond): "<0.1s", Elapsed(3250 * time.Millisecond): "3.2s", Elapsed(272 * time.Second): "4:32",
		Clock(3723 * time.Second): "1:02:03", Clock(-time.Second): "0s",
		Count(850): "850", Count(4100): "4.1k", Count(41_210): "41k", Count(1_000_000): "1M", Count(1_250_000): "1.2M",
		Money(0.41): "$0.41", Money(0.001): "<1¢", Money(0): "$0", Plural(1, "line"): "1 line", Plural(0, "line"): "0 lines",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestShortNames(t *testing.T) {
	for model, want := range map[string]string{
		"gpt-5.6-sol": "sol", "qwen3-coder": "coder", "gpt-5.6": "gpt-5.6", "anthropic/claude-4.5": "claude-4.5",
		"llama3:8b": "8b",
	} {
		if got := Short(models.Target{Provider: "p", Model: model}); got != want {
			t.Errorf("Short(%q) = %q, want %q", model, got, want)
		}
	}
}
