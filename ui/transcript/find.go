package transcript

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Find looks for words, from the end backwards, and reports in how many
// entries they stand. No words end the search.
func (p *Pane) Find(text string) int {
	p.query, p.found = strings.ToLower(text), -1
	if p.query == "" {
		return 0
	}
	p.sought = p.query
	n := 0
	for i := len(p.entries) - 1; i >= 0; i-- {
		if p.contains(i) {
			if n == 0 {
				p.revealFound(i)
			}
			n++
		}
	}
	return n
}

// FindNext goes to the next place of the words; by is 1 or -1.
func (p *Pane) FindNext(by int) {
	if p.query == "" {
		return
	}
	for i := p.found + by; i >= 0 && i < len(p.entries); i += by {
		if p.contains(i) {
			p.revealFound(i)
			return
		}
	}
}

// FindAgain chooses the next place of the words that were looked for last; by is 1 or -1.
func (p *Pane) FindAgain(by int) {
	if p.query, p.found = p.sought, p.cursor; p.query == "" {
		return
	}
	p.FindNext(by)
	if p.found >= 0 && p.entries[p.found].choosable() {
		p.cursor = p.found
	}
	p.query, p.found = "", -1
}

// ChooseEnd chooses the first entry, or the last one.
func (p *Pane) ChooseEnd(last bool) {
	if last {
		p.cursor = len(p.entries)
		p.Move(-1)
		return
	}
	p.cursor = -1
	p.Move(1)
}

func (p *Pane) contains(i int) bool {
	e := p.entries[i]
	for _, s := range []string{e.text, e.title, e.args, e.output, e.detail} {
		if strings.Contains(strings.ToLower(s), p.query) {
			return true
		}
	}
	return false
}

// revealFound puts the found words of entry i into view.
func (p *Pane) revealFound(i int) {
	p.stopFollowing()
	p.found = i
	e := p.entries[i]
	at := -1
	for k, l := range p.layout(e) {
		if strings.Contains(strings.ToLower(ansi.Strip(l)), p.query) {
			at = k
			break
		}
	}
	if at < 0 && e.foldable() && !e.open {
		e.open = true
		e.invalidate()
		p.revealFound(i)
		return
	}
	p.top, p.offset = i, p.gapBefore(i)+max(at, 0)
	p.Scroll(-p.height / 3)
	p.follow = false
}
