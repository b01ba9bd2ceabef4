package window

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"belay/models"
)

// What is kept of an attachment when there is no room for the whole of it.
const (
	lastLines       = 50
	lastDefs        = 3
	definitionLines = 12  // of one definition
	maxTraceLines   = 40  // lines that speak of an error
	maxExcerptLine  = 400 // bytes of a line
)

// truncatedNote stands where lines of an attachment were left out.
const truncatedNote = "... (context trimmed)"

var (
	definition = lazyPattern(
		`^\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|unsafe|inline|pub(?:\([a-z]+\))?)\s+)*(?:func|def|class|fn|function|interface|struct|enum|trait|impl|module|sub|type\s+\w+\s+(?:struct|interface))\b`,
	)
	errorWords = lazyPattern(
		`(?i)\b(?:error|errors|exception|panic|fatal|traceback|failed|failure|caused by|assert\w*|segmentation fault|undefined|cannot|core dumped)\b|--- FAIL|^\s*at \S+.*[:(]\d+|^\s*File ".*", line \d+|^goroutine \d+|\S+\.\w{1,5}:\d+(?::\d+)?[:)\s]`,
	)
	commentLine = regexp.MustCompile(`^\s*(?://|#(?:\s|$)|--\s|/\*|\*/|\*\s)`)
)

// Excerpt shortens a text that came along with a person's words to what tells
// most of it: the last definitions, what speaks of an error, and the end. A
// text that does not become shorter is returned as it is.
func Excerpt(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	keep, dull := make([]bool, len(lines)), make([]bool, len(lines)) // dull: dropped without a mark
	tail := max(len(lines)-lastLines, 0)
	for i := tail; i < len(lines); i++ {
		keep[i] = true
	}
	defs, traces := 0, 0
	for i := tail - 1; i >= 0; i-- {
		line := lines[i][:min(len(lines[i]), maxExcerptLine)]
		if traces < maxTraceLines && errorWords().MatchString(line) {
			keep[i] = true
			traces++
		}
		if defs == lastDefs || !definition().MatchString(line) {
			continue
		}
		defs++
		for j := i; j < min(i+definitionLines, tail); j++ {
			keep[j] = true
			dull[j] = strings.TrimSpace(lines[j]) == "" || commentLine.MatchString(lines[j])
		}
	}
	var b strings.Builder
	gap := false
	for i, line := range lines {
		if !keep[i] {
			gap = true
			continue
		}
		if dull[i] {
			continue
		}
		if gap {
			b.WriteString(truncatedNote + "\n")
			gap = false
		}
		if len(line) > maxExcerptLine {
			line = cutAt(line, maxExcerptLine) + " " + truncatedNote
		}
		b.WriteString(line + "\n")
	}
	if b.Len() >= len(text) {
		return text
	}
	return b.String()
}

// excerpts shortens all that is attached to an item, and counts what became
// shorter by that.
func excerpts(it models.Item) (texts []string, shorter int) {
	for _, at := range it.Attachments {
		text := Excerpt(at.Text)
		if len(text) < len(at.Text) {
			shorter++
		}
		texts = append(texts, text)
	}
	return texts, shorter
}

// cutAt cuts a text after so many bytes, not within a character.
func cutAt(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// lazyPattern compiles a regular expression when it is used first: most runs
// never need it, and each would wait for it before the first frame.
func lazyPattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
