package transcript

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"belay/models"
	"belay/session"
	"belay/ui/theme"
)

// say adds words to the reply that is arriving. Pieces that are closed become
// entries of their own, so that only the last one is rendered again.
func (p *Pane) say(r session.Record, text string) {
	if text == "" {
		return
	}
	p.giveWay()
	p.closeThought(r.Time)
	if p.words == nil {
		p.words = p.push(&entry{kind: prose, seq: r.Seq, turn: r.Turn, at: r.Time, live: true, loose: true, head: true, label: p.short(p.target), grown: &blocks{}})
		p.first = p.words
	}
	p.grow(theme.Sanitize(text))
}

func (p *Pane) grow(text string) {
	e := p.words
	b := e.grown
	was := b.closed()
	b.add(text)
	for i := was; i < b.closed(); i++ {
		piece := strings.TrimRight(b.piece(i), "\n \t")
		if strings.TrimSpace(piece) == "" {
			continue
		}
		e.text, e.live, e.grown = piece, false, nil
		e.touch()
		e = p.insertAfter(e, &entry{kind: prose, seq: e.seq, turn: e.turn, at: e.at, live: true, loose: true, grown: b})
	}
	e.text = b.open()
	e.touch()
	p.words = e
}

// insertAfter puts an entry behind another; nearly always that is the end.
func (p *Pane) insertAfter(e, next *entry) *entry {
	i := len(p.entries) - 1
	for i >= 0 && p.entries[i] != e {
		i--
	}
	p.entries = append(p.entries, nil)
	copy(p.entries[i+2:], p.entries[i+1:])
	p.entries[i+1] = next
	return next
}

// closeWords ends the reply that was arriving.
func (p *Pane) closeWords() {
	e := p.words
	if e == nil {
		return
	}
	p.words = nil
	b := e.grown
	p.first.source = b.source
	e.live, e.grown = false, nil
	e.text = strings.TrimRight(e.text, "\n \t")
	e.touch()
	if strings.TrimSpace(e.text) == "" {
		p.remove(e)
	}
	if b.refs {
		defs := definitions(b.source)
		for _, x := range p.entries {
			if x.kind == prose && x.turn == e.turn {
				x.defs = defs
				x.touch()
			}
		}
	}
}

// definitions collects the link definitions of a text.
func definitions(source string) string {
	var out []string
	for _, l := range strings.Split(source, "\n") {
		if t := strings.TrimSpace(l); strings.HasPrefix(t, "[") && strings.Contains(t, "]:") {
			out = append(out, t)
		}
	}
	return strings.Join(out, "\n")
}

func (p *Pane) ponder(r session.Record, text string) {
	p.giveWay()
	if p.think == nil {
		p.think = p.push(&entry{kind: reasoning, seq: r.Seq, turn: r.Turn, at: r.Time, live: true, loose: true})
	}
	p.think.text += theme.Sanitize(text)
	p.think.touch()
}

func (p *Pane) closeThought(at time.Time) {
	if e := p.think; e != nil {
		p.think = nil
		e.live = false
		if !at.IsZero() && !e.at.IsZero() {
			e.took = at.Sub(e.at)
		}
		e.touch()
	}
}

// giveWay removes what a failed attempt had said: the new words replace it.
func (p *Pane) giveWay() {
	p.edge.gave = p.edge.gave || !p.edge.turned
	if p.cutoff != nil {
		p.remove(p.cutoff)
		p.cutoff = nil
	}
}

func (p *Pane) remove(e *entry) {
	for i := len(p.entries) - 1; i >= 0; i-- {
		if p.entries[i] != e {
			continue
		}
		p.entries = append(p.entries[:i], p.entries[i+1:]...)
		if p.top > i {
			p.top--
		} else if p.top == i {
			p.off = 0
			p.top = max(0, min(p.top, len(p.entries)-1))
		}
		if p.cursor == i {
			p.cursor = -1
		} else if p.cursor > i {
			p.cursor--
		}
		if p.seen > i {
			p.seen--
		}
		return
	}
}

// cut takes back what was arriving and shows it as cut off.
func (p *Pane) cut(r session.Record, e session.CutOff) {
	label := p.short(p.target)
	p.giveWay()
	p.dropLive()
	c := &entry{kind: cut, seq: r.Seq, turn: r.Turn, label: label, text: e.Text, tool: theme.Line(e.Tool)}
	if e.Stopped {
		c.phase = denied
	}
	if e.Text == "" && e.Tool == "" {
		if e.Reasoning == "" {
			return
		}
		c.tool, c.label = "", ""
	}
	p.push(c)
	if !e.Stopped {
		p.cutoff = c
	}
}

// dropLive removes what had arrived of a reply and was never finished.
func (p *Pane) dropLive() {
	p.think, p.words = nil, nil
	for i := len(p.entries) - 1; i >= 0; i-- {
		e := p.entries[i]
		if e.kind == call && e.phase == written && e.args == "" {
			delete(p.calls, e.id)
			p.remove(e)
		} else if e.loose {
			p.remove(e)
		}
	}
}

// confirm takes the first words, or the first reasoning, that arrived and were
// not finished yet as finished in a record. It gives its entries and its whole text.
func (p *Pane) confirm(k kind, seq int64) (list []*entry, source string) {
	i := len(p.entries)
	for at := len(p.entries) - 1; at >= 0 && p.entries[at].turn == p.entries[len(p.entries)-1].turn; at-- {
		if e := p.entries[at]; e.loose && e.kind == k && (e.head || k == reasoning) {
			i = at
		}
	}
	for ; i < len(p.entries); i++ {
		e := p.entries[i]
		if len(list) > 0 && (!e.loose || e.kind != k || e.head || k == reasoning) {
			break
		}
		if e.head {
			source = e.source
		}
		e.loose, e.source, e.seq = false, "", seq
		list = append(list, e)
	}
	return list, source
}

// finish settles what a turn left open.
func (p *Pane) finish(at time.Time) {
	p.closeThought(at)
	p.closeWords()
}

// item shows a finished item in the place of what had arrived of it.
func (p *Pane) item(r session.Record, it models.Item) {
	target := models.Target{Provider: it.Origin.Provider, Model: it.Origin.Model}
	if it.Origin.Model == "" {
		target = p.target
	}
	p.target = target
	switch it.Kind {
	case models.Message:
		if it.Role != models.Assistant {
			return
		}
		text := theme.Sanitize(it.Text)
		p.answer = text
		p.giveWay()
		p.finish(r.Time)
		list, source := p.confirm(prose, r.Seq)
		if len(list) > 0 && source == text {
			return
		}
		for _, e := range list {
			p.remove(e) // it ended differently
		}
		p.say(r, text)
		p.closeWords()
		p.confirm(prose, r.Seq)
	case models.Reasoning:
		p.giveWay()
		p.closeThought(r.Time)
		list, _ := p.confirm(reasoning, r.Seq)
		switch {
		case it.Text == "":
		case len(list) > 0:
			list[0].text = theme.Sanitize(it.Text)
			list[0].touch()
		default:
			p.ponder(r, it.Text)
			p.closeThought(r.Time)
			p.confirm(reasoning, r.Seq)
		}
	case models.Call:
		p.giveWay()
		p.finish(r.Time)
		c := p.call(r, it.CallID, it.Name)
		p.finished()
		c.args, c.bytes = it.Arguments, 0
		c.touch()
	}
}

func (p *Pane) call(r session.Record, id, tool string) *entry {
	if c := p.calls[id]; c != nil {
		if tool != "" {
			c.tool = tool
		}
		if c.seq == 0 { // until now it was only arriving
			c.seq = r.Seq
		}
		return c
	}
	p.finish(r.Time)
	c := p.push(&entry{kind: call, seq: r.Seq, turn: r.Turn, id: id, tool: tool})
	p.calls[id] = c
	return c
}

func (p *Pane) applyCall(r session.Record) {
	switch e := r.Event.(type) {
	case session.ToolStarted:
		c := p.call(r, e.Effect.CallID, e.Effect.Tool)
		c.title, c.phase, c.began = e.Effect.Title, running, r.Time
		if e.Effect.Args != "" {
			c.args = e.Effect.Args
		}
		c.touch()
	case session.ToolEnded:
		c := p.call(r, e.CallID, e.Tool)
		c.output, c.summary, c.diff, c.file, c.took = e.Output, e.Summary, e.Diff, e.File, e.Duration
		if e.Title != "" {
			c.title = e.Title
		}
		c.plus, c.minus = changed(e.Diff)
		switch {
		case e.Denied:
			c.phase = denied
		case e.Unknown:
			c.phase = unknown
		case e.Error:
			c.phase = failed
		default:
			c.phase = done
		}
		c.touch()
	case session.ApprovalAsked:
		c := p.call(r, e.Approval.CallID, e.Approval.Tool)
		c.title, c.args, c.phase = e.Approval.Title, e.Approval.Args, waiting
		if strings.HasPrefix(e.Approval.Preview, "---") || strings.HasPrefix(e.Approval.Preview, "@@") {
			c.diff = e.Approval.Preview
			c.plus, c.minus = changed(c.diff)
		}
		c.touch()
	case session.ApprovalAnswered:
		c := p.calls[e.Answer.CallID]
		if c == nil || c.phase != waiting {
			return
		}
		c.phase = written
		if !e.Answer.Allow {
			c.phase = denied
		}
		c.touch()
	}
}

// adopt takes over what an earlier page knows of the same call.
func (e *entry) adopt(older *entry) {
	if e.args == "" {
		e.args = older.args
	}
	if e.title == "" {
		e.title = older.title
	}
	e.touch()
}

func blank(s string) bool { return strings.TrimSpace(ansi.Strip(s)) == "" }
