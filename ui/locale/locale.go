// Package locale decides in which language belay's own words are shown. The words
// stand in English where they are said, and in a catalogue for each other language.
package locale

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/leonelquinteros/gotext"
)

// Language is one that belay speaks, as BCP 47 names it.
type Language string

// The languages, and the setting that leaves the choice to the environment.
const (
	Auto    Language = "auto"
	English Language = "en"
	Chinese Language = "zh"
)

// Choose gives the language of a setting: the one that it names, or with "auto" that
// of the environment, which says it as POSIX has it (XBD 8.2): LC_ALL goes before
// LC_MESSAGES, and that before LANG.
func Choose(setting string, environment func(string) string) Language {
	if l := Language(setting); l == English || l == Chinese {
		return l
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		value := strings.ToLower(environment(name))
		if value == "" {
			continue
		}
		if tag := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("_-.@", r) }); len(tag) > 0 &&
			tag[0] == string(Chinese) {
			return Chinese
		}
		return English
	}
	return English
}

//go:embed zh.po
var chinese []byte

var catalogues = map[Language]func() *catalogue{
	Chinese: sync.OnceValue(func() *catalogue { return parse(chinese) }),
}

// current is the catalogue in use, nil for English. It is the one thing of the whole
// program that every word depends on, and so the one that is not handed around.
var current atomic.Pointer[catalogue]

// Use says in which language all words are from now on.
func Use(l Language) {
	load, known := catalogues[l]
	if !known {
		current.Store(nil)
		return
	}
	current.Store(load())
}

// T gives a text in the person's language. The English text is the key of its
// translation; with arguments it is a format of package fmt. A text that the
// catalogue lacks stays English.
func T(text string, args ...any) string {
	if c := current.Load(); c != nil {
		text = c.text(text)
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// N is T for a text that counts. Both formats have the number as their first argument,
// and args after it. Chinese has one form for all numbers, so that of many is its key.
func N(n int, one, many string, args ...any) string {
	text := many
	if n == 1 && current.Load() == nil {
		text = one
	}
	return T(text, append([]any{n}, args...)...)
}

// Said gives a text in the person's language that a package without a screen has put
// together: an error, a hint, what happened to a request. Records keep such texts in
// English, so that they can be read again in any language; here they are found again by
// the formats that they were made with, part by part where one text wraps another.
func Said(text string) string {
	c := current.Load()
	if c == nil || text == "" {
		return text
	}
	return c.said(text, 0)
}

// catalogue holds the texts of one language.
type catalogue struct {
	texts   map[string]string // by the English text
	formats func() []format   // from the most exact to the least; made when one is looked for
	known   sync.Map          // what was said before, so that a frame does not search again
	size    atomic.Int64
}

func parse(source []byte) *catalogue {
	po := gotext.NewPo()
	po.Parse(source)
	c := &catalogue{texts: map[string]string{}}
	for id, translation := range po.GetDomain().GetTranslations() {
		if id == "" {
			continue
		}
		c.texts[id] = translation.Get()
	}
	c.formats = sync.OnceValue(c.readFormats)
	return c
}

func (c *catalogue) readFormats() []format {
	var formats []format
	for id := range c.texts {
		if f, ok := readFormat(id); ok {
			formats = append(formats, f)
		}
	}
	slices.SortFunc(formats, func(a, b format) int {
		return cmp.Or(cmp.Compare(b.exactness, a.exactness), strings.Compare(a.id, b.id))
	})
	return formats
}

// text gives the translation of a text that stands in the catalogue, else the text.
// Blanks around it, such as an indent, are not part of its key.
func (c *catalogue) text(id string) string {
	if told, ok := c.texts[id]; ok {
		return told
	}
	bare := strings.TrimSpace(id)
	told, ok := c.texts[bare]
	if !ok || bare == "" {
		return id
	}
	before, after, _ := strings.Cut(id, bare)
	return before + told + after
}

// keptSayings bounds what is remembered of texts that were put together.
const keptSayings = 500

// deepest bounds how many texts may stand within one another.
const deepest = 8

func (c *catalogue) said(text string, depth int) string {
	if known, ok := c.known.Load(text); ok {
		return known.(string)
	}
	told := c.search(text, depth)
	if c.size.Add(1) < keptSayings {
		c.known.Store(text, told)
	}
	return told
}

func (c *catalogue) search(text string, depth int) string {
	if exact, ok := c.texts[text]; ok {
		return exact
	}
	if depth >= deepest || len(text) > longest {
		return text
	}
	for _, f := range c.formats() {
		parts, ok := f.match(text)
		if !ok {
			continue
		}
		for i, part := range parts {
			if f.verbs[i].wraps() {
				parts[i] = c.said(part, depth+1)
			}
		}
		return f.fill(c.text(f.id), parts)
	}
	if lines := strings.Split(text, "\n"); len(lines) > 1 {
		return c.each(lines, "\n", depth)
	}
	if told, ok := c.pair(text, " (", ")", "（", "）", depth); ok {
		return told
	}
	if sentences := strings.Split(text, ". "); len(sentences) > 1 {
		for i := range sentences[:len(sentences)-1] {
			sentences[i] += "."
		}
		return c.each(sentences, "", depth)
	}
	if told, ok := c.pair(text, "; ", "", "；", "", depth); ok {
		return told
	}
	told, _ := c.pair(text, ": ", "", "：", "", depth)
	return told
}

// pair says a text of two parts, such as what happened and in brackets what to do. It
// reports whether one of them is known.
func (c *catalogue) pair(text, open, end, opened, ended string, depth int) (string, bool) {
	first, second, both := strings.Cut(text, open)
	second, closes := strings.CutSuffix(second, end)
	if !both || !closes {
		return text, false
	}
	one, other := c.said(first, depth+1), c.said(second, depth+1)
	if one == first && other == second {
		return text, false
	}
	return one + opened + other + ended, true
}

// each says parts of a text one by one: the lines of several faults, the sentences of a
// hint. What stands before a line stays.
func (c *catalogue) each(parts []string, between string, depth int) string {
	for i, part := range parts {
		bare := strings.TrimLeft(part, " ")
		told := c.said(bare, depth+1)
		if told == bare && between == "" && i > 0 {
			told = " " + told
		}
		parts[i] = part[:len(part)-len(bare)] + told
	}
	return strings.Join(parts, between)
}
