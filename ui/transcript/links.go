package transcript

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	xansi "github.com/charmbracelet/x/ansi"

	"belay/ui/theme"
)

// Where words name files: a span of code, the aim of a link, and a mention. A place in the
// file may stand behind its path.
var (
	codeSpan  = regexp.MustCompile("`([^`\\s]{1,200})`")
	linkAim   = regexp.MustCompile(`\]\(([\w./-]{1,200}(?::\d[\d:-]*|#L\d[\dL-]*)?)\)`)
	mention   = regexp.MustCompile(`(?:^|[\s(])@(?:"([^"\n]+)"|([^\s@()"]+))`)
	filePlace = regexp.MustCompile(`(?::\d+(?:[-:]\d*)?|#L\d+(?:-L?\d+)?)$`)
)

// maxLinks is how many names of one entry are looked for on the disk.
const maxLinks = 40

// address is where a name of a file leads to; empty: to none of the workspace.
func (p *painter) address(name string) string {
	if p.theme.Address == nil || name == "" {
		return ""
	}
	return p.theme.Address(filePlace.ReplaceAllString(name, ""))
}

// link lets the files that an entry names be opened. What still grows has no links yet:
// nothing is looked up while it does.
func (p *painter) link(e *entry, lines []string) []string {
	if p.theme.Address == nil || e.live {
		return lines
	}
	for i, name := range namedFiles(e) {
		if i == maxLinks {
			break
		}
		address := p.address(name)
		if address == "" {
			continue
		}
		for i, line := range lines {
			lines[i] = linkWords(line, name, address)
		}
	}
	return lines
}

// namedFiles are the names of files in a person's words, or the model's.
func namedFiles(e *entry) []string {
	var names []string
	switch e.kind {
	case prompt:
		for _, m := range mention.FindAllStringSubmatch(e.text, -1) {
			names = append(names, m[1]+strings.TrimRight(m[2], ".,;:!?"))
		}
	case prose:
		if _, code := e.code(); code {
			return nil
		}
		for _, m := range linkAim.FindAllStringSubmatch(e.text, -1) {
			names = append(names, m[1])
		}
		for _, m := range codeSpan.FindAllStringSubmatch(e.text, -1) {
			if strings.ContainsAny(m[1], "./") {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// relative shows the aims of links as they were written: the renderer puts a slash before
// those that begin with none.
func relative(source, rendered string) string {
	for _, m := range linkAim.FindAllStringSubmatch(source, maxLinks) {
		wrong := "/" + m[1]
		if m[1][0] == '/' || !strings.Contains(rendered, wrong) {
			continue
		}
		path := regexp.MustCompile(`(^|[^\w./-]|\x1b\[[\d;:]*m)` + regexp.QuoteMeta(wrong)) // not the end of another
		if !path.MatchString(source) {
			rendered = path.ReplaceAllString(rendered, "${1}"+m[1])
		}
	}
	return rendered
}

// linkTitle lets the path that is the title of a call, of which a part is shown, be
// opened.
func (p *painter) linkTitle(e *entry, title, shown string) string {
	switch e.phase {
	case done, failed, unknown:
		if address := p.address(title); address != "" {
			return hyperlink(address, shown)
		}
	}
	return shown
}

func hyperlink(address, words string) string {
	return xansi.SetHyperlink(address) + words + xansi.ResetHyperlink()
}

// linkWords makes a link of each place of a line, plain or styled, where some words
// stand by themselves.
func linkWords(line, words, address string) string {
	if !strings.Contains(xansi.Strip(line), words) {
		return line
	}
	plain, at, taken := bare(line)
	var b strings.Builder
	done := 0
	for from := 0; ; {
		n := strings.Index(plain[from:], words)
		if n < 0 {
			break
		}
		start, end := from+n, from+n+len(words)
		from = end
		if taken[start] || !standsAlone(plain, start, end) {
			continue
		}
		b.WriteString(line[done:at[start]])
		done = at[end-1] + 1
		b.WriteString(hyperlink(address, line[at[start]:done]))
	}
	return b.String() + line[done:]
}

// bare is a line without styles: its text, where each byte of that stands in the line,
// and whether it belongs to a link.
func bare(line string) (plain string, at []int, taken []bool) {
	var b strings.Builder
	var state byte
	linked := false
	for place := 0; place < len(line); {
		seq, _, n, next := xansi.DecodeSequence(line[place:], state, nil)
		state = next
		switch {
		case xansi.HasOscPrefix(seq):
			linked = strings.HasPrefix(seq, "\x1b]8;") && !strings.HasPrefix(seq, "\x1b]8;;\a") &&
				!strings.HasPrefix(seq, "\x1b]8;;\x1b")
		case xansi.HasCsiPrefix(seq), xansi.HasEscPrefix(seq):
		default:
			for i := range n {
				at, taken = append(at, place+i), append(taken, linked)
			}
			b.WriteString(seq)
		}
		place += n
	}
	return b.String(), at, taken
}

// standsAlone reports whether no more of a path stands on either side.
func standsAlone(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	part := func(r rune) bool {
		return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/_-", r))
	}
	return !part(before) && before != '.' && !part(after)
}

var anyLink = regexp.MustCompile("\x1b\\]8;[^\a\x1b]*(?:\a|\x1b\\\\)")

// withoutLinks is for a terminal that takes none.
func withoutLinks(th *theme.Theme, lines []string) []string {
	if th.Address != nil {
		return lines
	}
	for i, line := range lines {
		if strings.Contains(line, "\x1b]8;") {
			lines[i] = anyLink.ReplaceAllString(line, "")
		}
	}
	return lines
}
