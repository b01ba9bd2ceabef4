// Package transcript decides how a session's events read on the screen: which
// lines stand for them, which of those are in view, and what is laid out again
// while a reply grows.
package transcript

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"belay/ui/theme"
)

// Pane is the transcript of one session. It holds what was loaded and lays out
// only what is in view.
type Pane struct {
	fold
	painter
	height      int
	lineEntries []int  // the entries in view, one for each line
	lineRows    []int  // which row of its entry each line is; less than 0: blank, before it
	query       string // words that are searched for
	sought      string // words that were searched for last
	marked      *selection
}

// New makes an empty transcript.
func New(th *theme.Theme, now func() time.Time) *Pane {
	p := &Pane{height: 10, painter: painter{theme: th, now: now, width: 80}}
	p.fold.reset()
	return p
}

// SetSize gives the cells that View fills.
func (p *Pane) SetSize(width, height int) {
	p.width, p.height = max(width, 20), max(height, 1)
}

// SetTheme changes the colours.
func (p *Pane) SetTheme(th *theme.Theme) { p.theme = th }

// Empty reports whether there is nothing to show.
func (p *Pane) Empty() bool { return len(p.entries) == 0 }

// gapBefore is the number of blank lines before entry i.
func (p *Pane) gapBefore(i int) int {
	if i == 0 {
		return 0
	}
	e, before := p.entries[i], p.entries[i-1]
	switch e.kind {
	case call, local:
		switch before.kind {
		case call, reasoning:
			return 0
		case prose:
			return gap(!before.head)
		case statusLine:
			return gap(!e.isCheck)
		}
	case statusLine:
		return gap(before.kind != statusLine && before.kind != call)
	case ending:
		return gap(before.kind != statusLine && before.kind != notice)
	}
	return 1
}

func gap(blank bool) int {
	if blank {
		return 1
	}
	return 0
}

func (p *Pane) heightOf(i int) int { return p.gapBefore(i) + len(p.layout(p.entries[i])) }

// endPlace gives the place at the top of the view when the end is in view.
func (p *Pane) endPlace() (top, off int) {
	left := p.height
	for i := len(p.entries) - 1; i >= 0; i-- {
		n := p.heightOf(i)
		if n >= left {
			return i, n - left
		}
		left -= n
	}
	return 0, 0
}

// View gives exactly as many lines as the pane is high.
func (p *Pane) View() []string {
	lines := make([]string, 0, p.height)
	p.lineEntries, p.lineRows = p.lineEntries[:0], p.lineRows[:0]
	top, off := p.top, p.offset
	if p.follow {
		top, off = p.endPlace()
		p.seen = len(p.entries)
	}
	from, to, marked := p.ends()
	for i := top; i < len(p.entries) && len(lines) < p.height; i++ {
		part := p.layout(p.entries[i])
		for n := range p.gapBefore(i) + len(part) {
			if i == top && n < off {
				continue
			}
			if len(lines) == p.height {
				break
			}
			l, k := "", n-p.gapBefore(i)
			if k >= 0 {
				l = p.decorate(i, k, part[k])
				if marked {
					l = p.mark(i, k, l, from, to)
				}
			}
			lines = append(lines, l)
			p.lineEntries, p.lineRows = append(p.lineEntries, i), append(p.lineRows, k)
		}
	}
	for len(lines) < p.height {
		lines = append(lines, "")
	}
	return lines
}

// decorate marks the chosen entry and the words that a search looks for.
func (p *Pane) decorate(i, line int, s string) string {
	if i == p.cursor && line == 0 {
		return p.theme.Selected.Over(theme.Fit(" "+p.theme.Accent.Paint("❯")+ansi.TruncateLeft(s, 2, ""), p.width))
	}
	if p.query == "" {
		return s
	}
	plain := ansi.Strip(s)
	at := strings.Index(strings.ToLower(plain), p.query)
	if at < 0 || at+len(p.query) > len(plain) {
		return s
	}
	return plain[:at] + p.theme.Found.Paint(plain[at:at+len(p.query)]) + plain[at+len(p.query):]
}

// stopFollowing leaves the end: the view stays where it is while more arrives.
func (p *Pane) stopFollowing() {
	if p.follow {
		p.top, p.offset = p.endPlace()
		p.follow = false
	}
}

// Scroll moves the view by lines; negative is back.
func (p *Pane) Scroll(n int) {
	if len(p.entries) == 0 || n > 0 && p.follow {
		return
	}
	p.stopFollowing()
	p.offset += n
	for p.offset < 0 && p.top > 0 {
		p.top--
		p.offset += p.heightOf(p.top)
	}
	p.offset = max(p.offset, 0)
	for p.top < len(p.entries)-1 && p.offset >= p.heightOf(p.top) {
		p.offset -= p.heightOf(p.top)
		p.top++
	}
	if n > 0 {
		p.followAtEnd()
	}
}

// followAtEnd follows again when the end has come into view.
func (p *Pane) followAtEnd() {
	left := p.height + p.offset
	for i := p.top; i < len(p.entries); i++ {
		if left -= p.heightOf(i); left < 0 {
			return
		}
	}
	p.follow = true
}

// Page scrolls by a page less two lines; negative is back.
func (p *Pane) Page(n int) { p.Scroll(n * max(p.height-2, 1)) }

// Top goes to the first loaded line.
func (p *Pane) Top() {
	p.stopFollowing()
	p.top, p.offset = 0, 0
	p.followAtEnd()
}

// Bottom goes to the end and follows it.
func (p *Pane) Bottom() { p.follow, p.cursor = true, -1 }

// ShowNewest goes to the end, or to where the newest entry begins if it does not fit.
func (p *Pane) ShowNewest() {
	p.Bottom()
	if last := len(p.entries) - 1; p.heightOf(last) > p.height {
		p.stopFollowing()
		p.top, p.offset = last, 0
	}
}

// Following reports whether the end is in view.
func (p *Pane) Following() bool { return p.follow }

// Unseen is how many entries came while the end was out of view.
func (p *Pane) Unseen() int {
	if p.follow {
		return 0
	}
	return max(len(p.entries)-p.seen, 0)
}

// WantsOlder reports whether the view is near the beginning of what is loaded
// and more exists, and before which record.
func (p *Pane) WantsOlder() (before int64, ok bool) {
	if !p.more || p.oldest <= 1 {
		return 0, false
	}
	top := p.top
	if p.follow {
		top, _ = p.endPlace()
	}
	return p.oldest, top == 0 || top < 3 && !p.follow
}

// Tick lays running calls out again, whose clocks have moved. It reports
// whether there are any.
func (p *Pane) Tick() bool {
	found := false
	for _, e := range p.calls {
		if e.phase == running {
			e.invalidate()
			found = true
		}
	}
	for _, e := range p.locals {
		if e.phase == running {
			e.invalidate()
			found = true
		}
	}
	return found
}

// Cursor reports whether an entry is chosen.
func (p *Pane) Cursor() bool { return p.cursor >= 0 }

// Open unfolds or folds the chosen entry; if none is chosen it first takes the
// last one in view.
func (p *Pane) Open() bool {
	if p.cursor < 0 {
		if p.cursor = p.last((*entry).foldable); p.cursor < 0 {
			p.cursor = p.last((*entry).choosable)
		}
	}
	if p.cursor < 0 {
		return false
	}
	if p.entries[p.cursor].foldable() {
		p.toggle(p.cursor)
	}
	return true
}

// last is the last entry of a sort in view, else the last of all.
func (p *Pane) last(of func(e *entry) bool) int {
	for k := len(p.lineEntries) - 1; k >= 0; k-- {
		if i := p.lineEntries[k]; i < len(p.entries) && of(p.entries[i]) {
			return i
		}
	}
	for i := len(p.entries) - 1; i >= 0; i-- {
		if of(p.entries[i]) {
			return i
		}
	}
	return -1
}

func (p *Pane) toggle(i int) {
	p.stopFollowing()
	e := p.entries[i]
	e.open = !e.open
	e.invalidate()
	p.reveal(i)
}

// reveal brings the head of entry i into view.
func (p *Pane) reveal(i int) {
	if i < p.top || i == p.top && p.offset > p.gapBefore(i) {
		p.top, p.offset = i, 0
		return
	}
	room := p.height + p.offset
	for k := p.top; k <= i; k++ {
		room -= p.heightOf(k)
	}
	if room >= 0 {
		return
	}
	if n := p.heightOf(i); n < p.height {
		p.Scroll(-room)
	} else {
		p.top, p.offset = i, 0
	}
}

// Move chooses the next (1) or previous (-1) message, block of code or call.
func (p *Pane) Move(by int) {
	for i := p.cursor + by; i >= 0 && i < len(p.entries); i += by {
		if p.entries[i].choosable() {
			p.stopFollowing()
			p.cursor = i
			p.reveal(i)
			return
		}
	}
}

// Leave gives the choice up.
func (p *Pane) Leave() {
	p.cursor = -1
	p.followAtEnd()
}

// Click unfolds the entry in a row of the view, if its head is there.
func (p *Pane) Click(row int) {
	if row < 0 || row >= len(p.lineEntries) {
		return
	}
	i := p.lineEntries[row]
	if i < len(p.entries) && p.entries[i].foldable() && (row == 0 || p.lineEntries[row-1] != i || p.gapBefore(i) > 0) {
		p.toggle(i)
		p.followAtEnd()
	}
}

// Unfold opens or folds all reasoning.
func (p *Pane) Unfold() {
	p.unfold = !p.unfold
	for _, e := range p.entries {
		if e.kind == reasoning {
			e.invalidate()
		}
	}
}
