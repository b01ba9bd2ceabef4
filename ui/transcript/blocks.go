package transcript

import "strings"

// blocks cuts Markdown that is still growing into pieces that can be rendered
// alone. A piece is closed when nothing that follows can change how it looks;
// closed pieces are rendered once. Only the last, open piece is rendered again
// while text arrives.
type blocks struct {
	text   strings.Builder
	source string // everything so far; shares the builder's memory
	cuts   []int  // ends of the closed pieces
	at     int    // start of the first line not yet looked at
	start  int    // start of the open piece
	fence  string // the marker that an open code fence waits for, or ""
	indent int    // of that fence
	html   string // what ends an open HTML block, or ""
	list   bool   // the open piece is a list
	quoted bool   // the open piece is a block quote
	blank  bool   // the last line was blank
	refs   bool   // a link definition was seen: pieces depend on each other
}

// add appends text and looks at the lines that it completes.
func (b *blocks) add(text string) {
	b.text.WriteString(text)
	b.source = b.text.String()
	for {
		n := strings.IndexByte(b.source[b.at:], '\n')
		if n < 0 {
			return
		}
		b.line(b.source[b.at:b.at+n], b.at, b.at+n+1)
		b.at += n + 1
	}
}

// closed gives the number of closed pieces, and piece i.
func (b *blocks) closed() int { return len(b.cuts) }

func (b *blocks) piece(i int) string {
	from := 0
	if i > 0 {
		from = b.cuts[i-1]
	}
	return b.source[from:b.cuts[i]]
}

// open is the last piece, which may still change.
func (b *blocks) open() string { return b.source[b.start:] }

// code reports whether the open piece is a fence at the margin that is not
// closed yet, and gives its text without the marker line.
func (b *blocks) code() (lang, text string, ok bool) {
	if b.fence == "" || b.list || b.quoted || b.indent > 0 {
		return "", "", false
	}
	head, rest, ok := strings.Cut(b.open(), "\n")
	if !ok || !strings.HasPrefix(head, b.fence) {
		return "", "", false
	}
	return strings.TrimSpace(strings.Trim(head, b.fence[:1])), rest, true
}

func (b *blocks) cut(at int) {
	if at > b.start {
		b.cuts = append(b.cuts, at)
	}
	b.start = at
	b.list, b.quoted = false, false
}

// line looks at a line that is complete: where it stands, and whether a piece ends
// before it or with it.
func (b *blocks) line(text string, from, to int) {
	body := strings.TrimLeft(text, " \t")
	switch {
	case b.fence != "":
		b.insideFence(body, to)
	case b.html != "":
		if strings.Contains(text, b.html) {
			b.html = ""
		}
	case strings.TrimSpace(body) == "":
		b.blank = true
	default:
		b.words(body, len(text)-len(body), from)
		b.blank = false
	}
}

func (b *blocks) insideFence(body string, to int) {
	b.blank = false
	if !closes(body, b.fence) {
		return
	}
	b.fence = ""
	if b.indent == 0 && !b.list && !b.quoted {
		b.cut(to)
	}
}

// words looks at a line that is neither blank nor part of a fence or of HTML.
func (b *blocks) words(body string, indent, from int) {
	marker, item := fenceOf(body), listItem(body)
	if indent == 0 && from > b.start && b.begins(marker, item) {
		b.cut(from)
	}
	if from == b.start || strings.TrimSpace(b.source[b.start:from]) == "" {
		b.list, b.quoted = item, strings.HasPrefix(body, ">")
	}
	shallow := indent < 4
	// A list may also follow a paragraph without a blank line; then what
	// follows after a blank may still belong to it.
	b.list = b.list || item && shallow
	if marker != "" && (shallow || b.list) {
		b.fence, b.indent = marker, indent
	}
	if !shallow {
		return
	}
	if b.html == "" {
		b.html = htmlEnd(body)
	}
	if strings.HasPrefix(body, "[") && strings.Contains(body, "]:") {
		b.refs = true
	}
}

// begins reports whether a line at the margin begins a new piece: after a blank
// line, unless it goes on with a loose list, and at a fence, which ends any
// paragraph.
func (b *blocks) begins(marker string, item bool) bool {
	return b.blank && !(b.list && item) || marker != "" && !b.list && !b.quoted
}

// fenceOf gives the marker with which a line opens a code fence.
func fenceOf(body string) string {
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(body, c)
		n := len(body) - len(rest)
		if n >= 3 && !(c == "`" && strings.Contains(rest, "`")) {
			return body[:n]
		}
	}
	return ""
}

func closes(body, fence string) bool {
	body = strings.TrimRight(body, " \t\r")
	return len(body) >= len(fence) && strings.Trim(body, fence[:1]) == ""
}

func listItem(body string) bool {
	if len(body) >= 2 && strings.ContainsRune("-*+", rune(body[0])) && (body[1] == ' ' || body[1] == '\t') {
		return true
	}
	digits := strings.TrimLeft(body, "0123456789")
	n := len(body) - len(digits)
	return n > 0 && n < 10 && len(digits) >= 2 && (digits[0] == '.' || digits[0] == ')') && digits[1] == ' '
}

var htmlBlocks = []struct{ begin, end string }{
	{"<!--", "-->"}, {"<?", "?>"}, {"<![cdata[", "]]>"}, {"<pre", "</pre>"}, {"<script", "</script>"},
	{"<style", "</style>"}, {"<textarea", "</textarea>"},
}

// htmlEnd gives what ends an HTML block that may hold blank lines, if the line
// opens one and does not end it (CommonMark 0.31, section 4.6).
func htmlEnd(body string) string {
	if !strings.HasPrefix(body, "<") {
		return ""
	}
	low := strings.ToLower(body)
	for _, block := range htmlBlocks {
		if strings.HasPrefix(low, block.begin) && !strings.Contains(low[len(block.begin):], block.end) {
			return block.end
		}
	}
	return ""
}
