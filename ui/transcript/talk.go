package transcript

import (
	"strings"

	"belay/ui/theme"
)

// Talk is what was said and called, as far as it is loaded, and whether that is from
// the beginning on.
func (p *Pane) Talk() (text string, begun bool) {
	var parts []string
	for i, e := range p.entries {
		switch {
		case e.kind == prompt:
			parts = append(parts, "› "+strings.TrimSpace(theme.Sanitize(e.text)))
		case e.kind == prose && e.head:
			parts = append(parts, p.message(i))
		case e.kind == call || e.kind == local:
			symbol, _ := p.callSymbol(e)
			line := symbol + " " + theme.Line(e.tool) + " " + callTitle(e)
			if n := len(parts); n > 0 && (p.entries[i-1].kind == call || p.entries[i-1].kind == local) {
				parts[n-1] += "\n" + line
				continue
			}
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "\n\n"), !p.more
}

// message is the Markdown of a message that begins with entry i.
func (p *Pane) message(i int) string {
	var pieces []string
	for k := i; k < len(p.entries); k++ {
		e := p.entries[k]
		if e.kind != prose || k > i && e.head {
			break
		}
		pieces = append(pieces, strings.Trim(e.text, "\n"))
	}
	return strings.Join(pieces, "\n\n")
}

// Chosen is the text of the chosen entry: a message as Markdown, code alone, a call
// with what came of it.
func (p *Pane) Chosen() string {
	if p.cursor < 0 || p.cursor >= len(p.entries) {
		return ""
	}
	e := p.entries[p.cursor]
	switch e.kind {
	case prose:
		if code, ok := e.code(); ok {
			return code
		}
		return p.message(p.cursor)
	case call, local:
		text := theme.Line(e.tool) + " " + callTitle(e)
		if e.kind == local {
			text = "! " + theme.Line(e.title)
		}
		came := e.output
		if e.diff != "" {
			came = e.diff
		}
		return strings.TrimSpace(text + "\n\n" + strings.Trim(theme.Sanitize(came), "\n"))
	}
	return strings.TrimSpace(strings.Join(p.source(e), "\n"))
}

// choosable reports an entry that can be opened, or is worth a copy by itself.
func (e *entry) choosable() bool {
	if e.kind == prose {
		first, _, _ := strings.Cut(e.text, "\n")
		return e.head || fenceOf(first) != ""
	}
	return e.kind == prompt || e.foldable()
}
