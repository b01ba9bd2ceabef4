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
func (f *fold) say(r session.Record, text string) {
	if text == "" {
		return
	}
	f.giveWay()
	f.closeThought(r.Time)
	if f.words == nil {
		f.words = f.push(&entry{kind: prose, seq: r.Seq, turn: r.Turn, at: r.Time, live: true, loose: true, head: true, label: f.short(f.target), grown: &blocks{}})
		f.first = f.words
	}
	f.grow(theme.Sanitize(text))
}

func (f *fold) grow(text string) {
	e := f.words
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
		e = f.insertAfter(e, &entry{kind: prose, seq: e.seq, turn: e.turn, at: e.at, live: true, loose: true, grown: b})
	}
	e.text = b.open()
	e.touch()
	f.words = e
}

// closeWords ends the reply that was arriving.
func (f *fold) closeWords() {
	e := f.words
	if e == nil {
		return
	}
	f.words = nil
	b := e.grown
	f.first.source = b.source
	e.live, e.grown = false, nil
	e.text = strings.TrimRight(e.text, "\n \t")
	e.touch()
	if strings.TrimSpace(e.text) == "" {
		f.remove(e)
	}
	if b.refs {
		defs := definitions(b.source)
		for _, x := range f.entries {
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

func (f *fold) ponder(r session.Record, text string) {
	f.giveWay()
	if f.think == nil {
		f.think = f.push(&entry{kind: reasoning, seq: r.Seq, turn: r.Turn, at: r.Time, live: true, loose: true})
	}
	f.think.text += theme.Sanitize(text)
	f.think.touch()
}

func (f *fold) closeThought(at time.Time) {
	if e := f.think; e != nil {
		f.think = nil
		e.live = false
		if !at.IsZero() && !e.at.IsZero() {
			e.took = at.Sub(e.at)
		}
		e.touch()
	}
}

// giveWay removes what a failed attempt had said: the new words replace it.
func (f *fold) giveWay() {
	f.edge.gave = f.edge.gave || !f.edge.turned
	if f.cutoff != nil {
		f.remove(f.cutoff)
		f.cutoff = nil
	}
}

// cut takes back what was arriving and shows it as cut off.
func (f *fold) cut(r session.Record, e session.CutOff) {
	label := f.short(f.target)
	f.giveWay()
	f.dropLive()
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
	f.push(c)
	if !e.Stopped {
		f.cutoff = c
	}
}

// dropLive removes what had arrived of a reply and was never finished.
func (f *fold) dropLive() {
	f.think, f.words = nil, nil
	for i := len(f.entries) - 1; i >= 0; i-- {
		e := f.entries[i]
		if e.kind == call && e.phase == written && e.args == "" {
			delete(f.calls, e.id)
			f.remove(e)
		} else if e.loose {
			f.remove(e)
		}
	}
}

// confirm takes the first words, or the first reasoning, that arrived and were
// not finished yet as finished in a record. It gives its entries and its whole text.
func (f *fold) confirm(k kind, seq int64) (list []*entry, source string) {
	i := len(f.entries)
	for at := len(f.entries) - 1; at >= 0 && f.entries[at].turn == f.entries[len(f.entries)-1].turn; at-- {
		if e := f.entries[at]; e.loose && e.kind == k && (e.head || k == reasoning) {
			i = at
		}
	}
	for ; i < len(f.entries); i++ {
		e := f.entries[i]
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
func (f *fold) finish(at time.Time) {
	f.closeThought(at)
	f.closeWords()
}

// item shows a finished item in the place of what had arrived of it.
func (f *fold) item(r session.Record, it models.Item) {
	target := models.Target{Provider: it.Origin.Provider, Model: it.Origin.Model}
	if it.Origin.Model == "" {
		target = f.target
	}
	f.target = target
	switch it.Kind {
	case models.Message:
		if it.Role != models.Assistant {
			return
		}
		text := theme.Sanitize(it.Text)
		f.answer = text
		f.giveWay()
		f.finish(r.Time)
		list, source := f.confirm(prose, r.Seq)
		if len(list) > 0 && source == text {
			return
		}
		for _, e := range list {
			f.remove(e) // it ended differently
		}
		f.say(r, text)
		f.closeWords()
		f.confirm(prose, r.Seq)
	case models.Reasoning:
		f.giveWay()
		f.closeThought(r.Time)
		list, _ := f.confirm(reasoning, r.Seq)
		switch {
		case it.Text == "":
		case len(list) > 0:
			list[0].text = theme.Sanitize(it.Text)
			list[0].touch()
		default:
			f.ponder(r, it.Text)
			f.closeThought(r.Time)
			f.confirm(reasoning, r.Seq)
		}
	case models.Call:
		f.giveWay()
		f.finish(r.Time)
		c := f.call(r, it.CallID, it.Name)
		f.finished()
		c.args, c.bytes = it.Arguments, 0
		c.touch()
	}
}

func (f *fold) call(r session.Record, id, tool string) *entry {
	if c := f.calls[id]; c != nil {
		if tool != "" {
			c.tool = tool
		}
		if c.seq == 0 { // until now it was only arriving
			c.seq = r.Seq
		}
		return c
	}
	f.finish(r.Time)
	c := f.push(&entry{kind: call, seq: r.Seq, turn: r.Turn, id: id, tool: tool})
	f.calls[id] = c
	return c
}

func (f *fold) applyCall(r session.Record) {
	switch e := r.Event.(type) {
	case session.ToolStarted:
		c := f.call(r, e.Effect.CallID, e.Effect.Tool)
		c.title, c.phase, c.began = e.Effect.Title, running, r.Time
		if e.Effect.Args != "" {
			c.args = e.Effect.Args
		}
		c.touch()
	case session.ToolEnded:
		c := f.call(r, e.CallID, e.Tool)
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
		c := f.call(r, e.Approval.CallID, e.Approval.Tool)
		c.title, c.args, c.phase = e.Approval.Title, e.Approval.Args, waiting
		if strings.HasPrefix(e.Approval.Preview, "---") || strings.HasPrefix(e.Approval.Preview, "@@") {
			c.diff = e.Approval.Preview
			c.plus, c.minus = changed(c.diff)
		}
		c.touch()
	case session.ApprovalAnswered:
		c := f.calls[e.Answer.CallID]
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
