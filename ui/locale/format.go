package locale

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// verbPattern finds the verbs of a format of package fmt.
var verbPattern = regexp.MustCompile(`%[-+# 0]*\d*(?:\.\d+)?(?:\[(\d+)\])?([a-zA-Z%])`)

// longest bounds the texts that are compared with formats, in bytes.
const longest = 4 << 10

// format is a text of the catalogue with arguments, and the way to find them again.
type format struct {
	id        string
	prefix    string // what stands before the first argument
	pattern   func() *regexp.Regexp
	verbs     []verb
	exactness int // bytes that do not depend on arguments; fewer where it begins with one
}

// verb is one place of an argument in a format.
type verb struct {
	letter byte
	arg    int // from 0
}

// wraps reports whether the argument can be a text of ours itself.
func (v verb) wraps() bool { return v.letter == 'w' || v.letter == 'v' || v.letter == 's' }

// readFormat takes a format apart. A text without arguments, or with hardly anything
// but arguments, is none that could be found again.
func readFormat(id string) (format, bool) {
	f := format{id: id}
	var pattern, literal strings.Builder
	flush := func() {
		if len(f.verbs) == 0 {
			f.prefix = literal.String()
		}
		f.exactness += len(strings.TrimSpace(literal.String()))
		pattern.WriteString(regexp.QuoteMeta(literal.String()))
		literal.Reset()
	}
	last := 0
	for _, at := range verbPattern.FindAllStringSubmatchIndex(id, -1) {
		literal.WriteString(id[last:at[0]])
		last = at[1]
		letter := id[at[4]]
		if letter == '%' {
			literal.WriteByte('%')
			continue
		}
		flush()
		arg := len(f.verbs)
		if at[2] >= 0 {
			arg = position(id[at[2]:at[3]])
		}
		f.verbs = append(f.verbs, verb{letter: letter, arg: arg})
		pattern.WriteString(argumentPattern(letter))
	}
	literal.WriteString(id[last:])
	flush()
	if f.prefix == "" {
		f.exactness -= leadingVerb
	}
	if len(f.verbs) == 0 || f.exactness < minExactness {
		return format{}, false
	}
	f.pattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\A` + pattern.String() + `\z`) })
	return f, true
}

// minExactness is how many bytes of a format must not depend on its arguments. One that
// begins with an argument, such as "%s failed", would find itself in too many texts: it
// needs leadingVerb more.
const (
	minExactness = 3
	leadingVerb  = 7
)

// position reads the number of an argument in brackets, which begins at 1.
func position(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n - 1
}

// argumentPattern is what an argument of a verb can look like.
func argumentPattern(letter byte) string {
	switch letter {
	case 'd':
		return `(-?\d+)`
	case 'q':
		return "(\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`)"
	case 'f', 'g':
		return `(-?[\d.]+)`
	}
	return `(.*?)`
}

// match gives the arguments that a text was made with.
func (f format) match(text string) ([]string, bool) {
	if !strings.HasPrefix(text, f.prefix) {
		return nil, false
	}
	found := f.pattern().FindStringSubmatch(text)
	if found == nil {
		return nil, false
	}
	return found[1:], true
}

// fill puts arguments that were found again into the translation. They are texts by
// now, whatever they were.
func (f format) fill(translation string, parts []string) string {
	byArg := make(map[int]string, len(parts))
	for i, v := range f.verbs {
		byArg[v.arg] = parts[i]
	}
	next := 0
	return verbPattern.ReplaceAllStringFunc(translation, func(place string) string {
		found := verbPattern.FindStringSubmatch(place)
		if found[2] == "%" {
			return "%"
		}
		arg := next
		if found[1] != "" {
			arg = position(found[1])
		}
		next = arg + 1
		return byArg[arg]
	})
}
