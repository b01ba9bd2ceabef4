package tokens

import (
	"strings"
	"testing"
)

func loaded(t testing.TB) *Counter {
	t.Helper()
	c := New()
	if err := c.Load(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCountsAreThoseOfTiktoken(t *testing.T) {
	c := loaded(t)
	for _, text := range []string{"hello world", "func main() {\n\tfmt.Println(\"héllo 世界\")\n}\n", "a\n \n b", "  \t\n\n", "👩‍👩‍👧 é", strings.Repeat("ab 12 ", 300)} {
		if got, want := c.Text(text), len(c.enc.EncodeOrdinary(text)); got != want {
			t.Errorf("Text(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestHostileTextIsBounded(t *testing.T) {
	c := loaded(t)
	// Without the cut each of these takes tens of seconds.
	for _, unit := range []string{"a", " ", "\n", "!", "7"} {
		text := strings.Repeat(unit, 100_000)
		if got := c.Text(text); got < 100 || got > len(text) {
			t.Errorf("Text(%q × 100000) = %d", unit, got)
		}
	}
}

func TestAnEstimateServesUntilTheVocabularyIsLoaded(t *testing.T) {
	if got := New().Text(strings.Repeat("x", 340)); got < 90 || got > 110 {
		t.Errorf("Text = %d, want about 100", got)
	}
}

func FuzzText(f *testing.F) {
	c := loaded(f)
	f.Add("a\xff b")
	f.Fuzz(func(t *testing.T, text string) {
		got := c.Text(text)
		if got < 0 || got > 3*len(text) { // an invalid byte becomes U+FFFD, three bytes
			t.Errorf("Text(%q) = %d", text, got)
		}
		if len(text) < longestRun {
			if want := len(c.enc.EncodeOrdinary(strings.ToValidUTF8(text, "\uFFFD"))); got != want {
				t.Errorf("Text(%q) = %d, want %d", text, got, want)
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	c := loaded(b)
	text := strings.Repeat("func (s *Set) read(p place, args readArgs) Result { return failed(err) }\n", 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		c.count(text)
	}
}

func BenchmarkTextKnown(b *testing.B) {
	c := loaded(b)
	text := strings.Repeat("func (s *Set) read(p place, args readArgs) Result { return failed(err) }\n", 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		c.Text(text)
	}
}
