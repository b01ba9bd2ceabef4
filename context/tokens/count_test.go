package tokens

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// oracles are tiktoken-go itself, which takes time quadratic in a long piece.
var oracles = map[pattern]func() *tiktoken.Tiktoken{
	cased: oracle(tiktoken.MODEL_O200K_BASE),
	plain: oracle(tiktoken.MODEL_CL100K_BASE),
}

func oracle(name string) func() *tiktoken.Tiktoken {
	return sync.OnceValue(func() *tiktoken.Tiktoken {
		tiktoken.SetBpeLoader(loader.NewOfflineLoader())
		enc, err := tiktoken.GetEncoding(name)
		if err != nil {
			panic(err)
		}
		return enc
	})
}

func read(t testing.TB, e *encoding) *vocabulary {
	t.Helper()
	v, err := e.read()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// each runs a test with every encoding.
func each(t *testing.T, test func(*testing.T, *vocabulary)) {
	for _, e := range encodings {
		t.Run(e.name, func(t *testing.T) { test(t, read(t, e)) })
	}
}

// encode is what count counts, for comparison token by token.
func encode(v *vocabulary, text string) []uint32 {
	var m merger
	var ids []uint32
	for i := 0; i < len(text); {
		end := v.split(text, i)
		piece := text[i:end]
		i = end
		if v.word(piece) {
			ids = append(ids, none)
			continue
		}
		ids = append(ids, merge(&m, v, piece)...)
	}
	return ids
}

// agree compares with tiktoken-go: the count, and each token that was merged.
func agree(t *testing.T, v *vocabulary, text string) {
	t.Helper()
	want := oracles[v.pattern]().EncodeOrdinary(text)
	if got := v.count(text); got != len(want) {
		t.Fatalf("count(%q) = %d, want %d", text, got, len(want))
	}
	if !utf8.ValidString(text) {
		return
	}
	for i, id := range encode(v, text) {
		if id != none && int(id) != want[i] {
			t.Fatalf("token %d of %q = %d, want %d", i, text, id, want[i])
		}
	}
}

var nasty = []string{
	"", " ", "  ", "a", "a ", " a", "  a", "\n", "\r\n", "\n \n", "a\n \n b", "  \t\n\n", " \r \n x", "\t\tfoo", "\tfoo",
	"\t!", " \t!", "a\u0085b", "\u0085\u0085x", "a\u2028\u2028 b", "\u2029\n\u00a0", "\u3000\u3000全角",
	"\u1680\u200b\u180e x",
	"it's IT'S we'll WE'LL I'Ll they've you'RE I'm he'd don't 'tis '' 's' x'ſ x'sx 'LL'", "a'", "a'l", "a'r", "'S",
	"HelloWorld helloWorld HTTPServer XMLHttpRequest aB Ab AB ABc abC ǅ ǅa aǅ ʰa Aʰ ªº Ǆ",
	"1 12 123 1234 12345678901234567890 ١٢٣٤ Ⅷ ½ x² 3.14 1,000,000 0xDEADBEEF a1b2c3",
	"!!! ... /// //\n//\n! /*\n*/ !\r\n\r\n/ -/\n/a ~~/x http://a.b/c?d=e#f",
	"日本語のテキスト、漢字とかな。ｶﾀｶﾅ 中文测试 한국어 시험", "العربية مُحَمَّد ١٢", "ภาษาไทยกำลัง", "हिन्दी देवनागरी", "עִבְרִית",
	"Ελληνικά Ρωσικά Русский ЁЛКА",
	"👩‍👩‍👧 👍🏽 🏳️‍🌈 1️⃣ ☎︎", "e\u0301 \u0301 \u0301A \u0301AB \u0301Ab !\u0301 !!\u0301 1\u0301 \u0301\u0301",
	"A\u0301B\u0301c", "A\u0301BC", "字AB字CD", " \u0301", "\n\u0301", "\u20e3a",
	"𠀀𠀁 𡃁 \U000e0101 𝐀𝐁𝐂 𐐀𐐨 \U0010ffff \U00031350",
	"aGVsbG8gd29ybGQhIFRoaXMgaXMgYmFzZTY0IHRleHQu/+aGVsbG8gd29ybGQ==",
	`!function(e,t){"object"==typeof exports?module.exports=t():e.x=t()}(this,function(){return 1});`,
	"a\xff b", "\xff\xfe\xfd", "\xed\xa0\x80", "\xc3", "é\xc3(", "\xf0\x9f\x92", "<|endoftext|> <|im_start|>",
	"\x00\x00\x01 \x1b[31m",
	"func main() {\n\tfmt.Println(\"héllo 世界\")\n}\n", "if x {\r\n\t\treturn nil, fmt.Errorf(\"a: %w\", err)\r\n\t}\r\n",
	"SELECT * FROM t WHERE a='b';--\n",
	" unfortunately", "antidisestablishmentarianism", " \n \n \n", "---------- ======== ________", "a_b__c___d",
	"\u200d\u200d", "ß ẞ ŉ İi", "\ufeffpackage",
}

func TestCountsAreThoseOfTiktoken(t *testing.T) { each(t, countsAreThoseOfTiktoken) }

func countsAreThoseOfTiktoken(t *testing.T, v *vocabulary) {
	for _, text := range nasty {
		agree(t, v, text)
		for _, other := range nasty {
			agree(t, v, text+other)
		}
	}
	t.Run("of repeated units", func(t *testing.T) {
		for _, text := range nasty {
			if text != "" {
				agree(t, v, strings.Repeat(text, 1+300/len(text)))
			}
		}
	})
	t.Run("of this package's code", func(t *testing.T) {
		agree(t, v, code(t))
	})
	t.Run("of random text", func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		for range 3000 {
			agree(t, v, scramble(random))
		}
	})
}

var awkward = []rune("aAsL' \n\r\t/1!字\u0301ǅʰ\u2028é.-_")

// scramble joins parts that meet in ways real text seldom does.
func scramble(random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.IntN(12) {
		switch random.IntN(4) {
		case 0:
			b.WriteString(nasty[random.IntN(len(nasty))])
		case 1:
			b.WriteString(strings.Repeat(string(awkward[random.IntN(len(awkward))]), 1+random.IntN(5)))
		case 2:
			b.WriteRune(rune(random.IntN(unicode.MaxRune)))
		case 3:
			for range random.IntN(6) {
				b.WriteRune(rune(random.IntN(0x3000)))
			}
		}
	}
	return b.String()
}

func FuzzCount(f *testing.F) {
	one, other := read(f, o200k), read(f, cl100k)
	for _, text := range []string{"a\xff b", "It's\r\n \n\tx", "字AB\u0301c", "!/\n 12345"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = text[:min(len(text), 2000)]
		agree(t, one, text)
		agree(t, other, text)
	})
}

// Windows so small that they meet in all sorts of places must change nothing.
func TestWindowsAreJoinedExactly(t *testing.T) { each(t, windowsAreJoinedExactly) }

func windowsAreJoinedExactly(t *testing.T, v *vocabulary) {
	random := rand.New(rand.NewPCG(3, 4))
	units := []string{
		"a",
		"ab",
		"abcab",
		" ",
		"\n",
		" \n",
		"字",
		"\u0301",
		"0",
		"=",
		"-=",
		"=-=-==",
		"aaaab",
		"的人",
		"//",
		"zq",
		"x\u0301",
	}
	var texts []string
	for _, unit := range units {
		texts = append(texts, strings.Repeat(unit, 700/len(unit)))
	}
	for range 150 {
		var b strings.Builder
		for b.Len() < 900 {
			b.WriteString(strings.Repeat(units[random.IntN(len(units))], 1+random.IntN(40)))
		}
		texts = append(texts, b.String())
	}
	var s scratch
	var m merger
	for _, text := range texts {
		want := len(merge(&m, v, text))
		for _, size := range [][2]int{{maxToken + 1, 1}, {maxToken + 12, 4}, {200, 16}, {300, 100}, {window, overlap}} {
			if got := s.long(v, text, size[0], size[1]); got != want {
				t.Errorf("windows of %d, %d over: %.40q… = %d, want %d", size[0], size[1], text, got, want)
			}
		}
	}
}

var hostile = map[string]string{
	"a": "a", "space": " ", "newline": "\n", "space newline": " \n", "cjk": "字",
	"base64": "aGVsbG8gd29ybGQhIFRoaXMgaXMgYmFzZTY0", "emoji": "👩‍👩‍👧", "cut rune": "\xe5\xad", "ff": "\xff",
	"digit": "7", "mark": "\u0301", "upper": "A", "upper mark": "A\u0301", "dash": "-", "slash": "/", "apostrophe": "'",
	"tab": "\t", "astral": "𠀀", "nul": "\x00", "hangul": "안녕",
}

// What takes quadratic time needs minutes for each of these.
func TestHostileTextIsCounted(t *testing.T) { each(t, hostileTextIsCounted) }

func hostileTextIsCounted(t *testing.T, v *vocabulary) {
	for name, unit := range hostile {
		t.Run(name, func(t *testing.T) {
			small := v.count(strings.Repeat(unit, 25_000/len(unit)))
			large := v.count(strings.Repeat(unit, 250_000/len(unit)))
			if ratio := float64(large) / float64(small); ratio < 9.8 || ratio > 10.2 {
				t.Errorf("10 times the text has %.2f times the tokens: %d, %d", ratio, small, large)
			}
			if want := len(oracles[v.pattern]().EncodeOrdinary(strings.Repeat(unit, 1500/len(unit)))); v.count(
				strings.Repeat(unit, 1500/len(unit)),
			) != want {
				t.Errorf("count differs from tiktoken's %d", want)
			}
		})
	}
}

func TestWindowsThatDoNotJoinAreMergedWhole(t *testing.T) {
	v := read(t, o200k)
	var s scratch
	piece := strings.Repeat("abcab", 10_000)
	if got, want := s.whole(v, piece), v.count(piece); got != want {
		t.Errorf("whole = %d, want %d", got, want)
	}
	if got := cap(s.window.nodes); got != 0 {
		t.Errorf("%d nodes kept", got)
	}
}

func TestALongPieceTakesNoMoreMemoryThanAWindow(t *testing.T) {
	each(t, aLongPieceTakesNoMoreMemoryThanAWindow)
}

func aLongPieceTakesNoMoreMemoryThanAWindow(t *testing.T, v *vocabulary) {
	for name, unit := range hostile {
		var s scratch
		piece := strings.Repeat(unit, 100_000/len(unit))
		s.long(v, repair(piece), window, overlap)
		if got := cap(s.window.nodes); got > 2*window {
			t.Errorf("%s: %d nodes", name, got)
		}
	}
}

func TestCountingAllocatesNothing(t *testing.T) { each(t, countingAllocatesNothing) }

func countingAllocatesNothing(t *testing.T, v *vocabulary) {
	text := code(t) + strings.Join(nasty[:30], "\n") + strings.Repeat("ab", 10_000)
	var s scratch
	s.count(v, text)
	if got := testing.AllocsPerRun(10, func() { s.count(v, text) }); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

func TestVocabulary(t *testing.T) {
	for _, e := range encodings {
		t.Run(e.name, func(t *testing.T) { vocabularyIs(t, e, read(t, e)) })
	}
}

func vocabularyIs(t *testing.T, e *encoding, v *vocabulary) {
	t.Run("is whole", func(t *testing.T) {
		if got := v.size(); got != e.size || len(v.text) != e.text {
			t.Errorf("%d tokens of %d bytes, want %d of %d", got, len(v.text), e.size, e.text)
		}
		longest := 0
		for id := range uint32(v.size()) {
			if longest = max(longest, v.width(id)); !v.word(string(v.token(id))) {
				t.Fatalf("token %d %q is not found", id, v.token(id))
			}
		}
		if longest != maxToken {
			t.Errorf("the longest token has %d bytes, want %d", longest, maxToken)
		}
	})
	t.Run("has every merge", func(t *testing.T) {
		var m merger
		for id := range uint32(v.size()) {
			parts := merge(&m, v, v.token(id))
			if len(parts) != 1 || parts[0] != id {
				t.Errorf("token %d %q is merged into %d", id, v.token(id), parts)
			}
		}
	})
	t.Run("is not read from a damaged file", func(t *testing.T) {
		for _, text := range []string{"", "\x01!", "\x00", "\x02!", "\xff!", strings.Repeat("\x01A", 1000)} {
			if _, err := readVocabulary(strings.NewReader(text), e); err == nil {
				t.Errorf("no error for %.20q", text)
			}
		}
	})
}

func code(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{"tokens.go", "count.go", "split.go", "merge.go", "vocabulary.go", "calibrate.go",
		"count_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

func megabyte(text string) string {
	return strings.Repeat(text, 1+1_000_000/len(text))[:1_000_000]
}

// BenchmarkLoad also shows in B/op the most that the vocabulary takes.
func BenchmarkLoad(b *testing.B) {
	for _, e := range encodings {
		b.Run(e.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				file, err := e.open()
				if err != nil {
					b.Fatal(err)
				}
				if _, err := readVocabulary(file, e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

const prose = "The quick brown fox doesn't jump over the lazy dog; it merely considers, at some length, whether jumping would be worthwhile. Meanwhile the dog, unimpressed, went back to sleep.\n\nNobody in the village remembered who had built the bridge (or why), but everyone agreed that it shouldn't be torn down.\n"

func BenchmarkCount(b *testing.B) {
	texts := map[string]string{
		"code": code(
			b,
		), "prose": prose, "chinese": "从前有一座山，山里有一座庙，庙里有个老和尚在讲故事。今天天气很好，我们一起去公园散步吧！", "thai": "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอนหรือวรรณยุกต์เช่นเดียวกับภาษาจีน ",
		"minified": `!function(e,t){"object"==typeof exports&&"undefined"!=typeof module?module.exports=t():"function"==typeof define&&define.amd?define(t):(e=e||self).X=t()}(this,function(){"use strict";var e,n=0;return e})`,
	}
	for name, unit := range hostile {
		texts["hostile "+name] = unit
	}
	random := rand.New(rand.NewPCG(5, 6))
	var letters strings.Builder
	for range 1_000_000 {
		letters.WriteByte("abcdefghijklmnopqrstuvwxyz"[random.IntN(26)])
	}
	texts["hostile random letters"] = letters.String()
	for _, e := range encodings {
		v := read(b, e)
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			text := megabyte(texts[name])
			b.Run(fmt.Sprint(e.name, "/1 MB ", name), func(b *testing.B) {
				v.count(text)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					v.count(text)
				}
			})
		}
	}
}
