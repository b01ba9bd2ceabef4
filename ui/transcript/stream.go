package transcript

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"belay/models"
	"belay/session"
	"belay/ui/theme"
)

// appendText adds words to the reply that is arriving. Pieces that are closed
// become entries of their own, so that only the last one is rendered again.
func (f *fold) appendText(r session.Record, text string) {
	if text == "" {
		return
	}
	f.dropCutOff()
	f.endReasoning(r.Time)
	if f.reply == nil {
		e := newLive(prose, r)
		e.head = true
		e.label = f.shortName(f.target)
		e.blocks = &blocks{}
		f.reply, f.replyStart = f.push(e), e
	}
	f.growText(theme.Sanitize(text))
}

func (f *fold) growText(text string) {
	e := f.reply
	b := e.blocks
	closed := b.closed()
	b.add(text)
	for i := closed; i < b.closed(); i++ {
		piece := strings.TrimRight(b.piece(i), "\n \t")
		if strings.TrimSpace(piece) == "" {
			continue
		}
		e.text = piece
		e.live = false
		e.blocks = nil
		e.invalidate()
		next := &entry{kind: prose, seq: e.seq, turn: e.turn, at: e.at, live: true, unconfirmed: true, blocks: b}
		e = f.insertAfter(e, next)
	}
	e.text = b.open()
	e.invalidate()
	f.reply = e
}

// endText ends the reply that was arriving.
func (f *fold) endText() {
	e := f.reply
	if e == nil {
		return
	}
	f.reply = nil
	b := e.blocks
	f.replyStart.source = b.source
	e.live, e.blocks = false, nil
	e.text = strings.TrimRight(e.text, "\n \t")
	e.invalidate()
	if strings.TrimSpace(e.text) == "" {
		f.remove(e)
	}
	if b.refs {
		defs := definitions(b.source)
		for _, x := range f.entries {
			if x.kind == prose && x.turn == e.turn {
				x.linkDefs = defs
				x.invalidate()
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

func (f *fold) appendReasoning(r session.Record, text string) {
	f.dropCutOff()
	if f.reasoning == nil {
		f.reasoning = f.push(newLive(reasoning, r))
	}
	f.reasoning.text += theme.Sanitize(text)
	f.reasoning.invalidate()
}

func (f *fold) endReasoning(at time.Time) {
	if e := f.reasoning; e != nil {
		f.reasoning = nil
		e.live = false
		if !at.IsZero() && !e.at.IsZero() {
			e.duration = at.Sub(e.at)
		}
		e.invalidate()
	}
}

// dropCutOff removes what a failed attempt had said: the new words replace it.
func (f *fold) dropCutOff() {
	f.boundary.replaced = f.boundary.replaced || !f.boundary.turnStarted
	if f.cutOffEntry != nil {
		f.remove(f.cutOffEntry)
		f.cutOffEntry = nil
	}
}

// cutOff takes back what was arriving and shows it as cut off.
func (f *fold) cutOff(r session.Record, e session.CutOff) {
	c := newEntry(cutOff, r)
	c.label = f.shortName(f.target)
	c.text = e.Text
	c.tool = theme.Line(e.Tool)
	f.addRequest(r)
	f.dropCutOff()
	f.dropUnconfirmed()
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
		f.cutOffEntry = c
	}
}

// dropUnconfirmed removes what had arrived of a reply and was never finished.
func (f *fold) dropUnconfirmed() {
	f.reasoning, f.reply = nil, nil
	for i := len(f.entries) - 1; i >= 0; i-- {
		e := f.entries[i]
		if e.kind == call && e.phase == pending && e.args == "" {
			delete(f.calls, e.id)
			f.remove(e)
		} else if e.unconfirmed {
			f.remove(e)
		}
	}
}

// confirm marks the first unconfirmed words, or reasoning, of this turn as finished
// in a record. It gives their entries and their whole text.
func (f *fold) confirm(k kind, seq int64) (list []*entry, source string) {
	i := len(f.entries)
	for at := len(f.entries) - 1; at >= 0 && f.entries[at].turn == f.entries[len(f.entries)-1].turn; at-- {
		if e := f.entries[at]; e.unconfirmed && e.kind == k && (e.head || k == reasoning) {
			i = at
		}
	}
	for ; i < len(f.entries); i++ {
		e := f.entries[i]
		if len(list) > 0 && (!e.unconfirmed || e.kind != k || e.head || k == reasoning) {
			break
		}
		if e.head {
			source = e.source
		}
		e.unconfirmed = false
		e.source = ""
		e.seq = seq
		list = append(list, e)
	}
	return list, source
}

// endReply ends words and reasoning that were arriving.
func (f *fold) endReply(at time.Time) {
	f.endReasoning(at)
	f.endText()
}

// addItem shows a finished item in the place of what had arrived of it.
func (f *fold) addItem(r session.Record, it models.Item) {
	target := models.Target{Provider: it.Origin.Provider, Model: it.Origin.Model}
	if it.Origin.Model == "" {
		target = f.target
	}
	f.target = target
	switch it.Kind {
	case models.Message:
		if it.Role == models.Assistant {
			f.addMessage(r, theme.Sanitize(it.Text))
		}
	case models.Reasoning:
		f.addReasoning(r, it.Text)
	case models.Call:
		f.dropCutOff()
		f.endReply(r.Time)
		c := f.callEntry(r, it.CallID, it.Name)
		f.countCall()
		c.args, c.bytes = it.Arguments, 0
		c.invalidate()
	}
}

func (f *fold) addMessage(r session.Record, text string) {
	f.answer = text
	f.dropCutOff()
	f.endReply(r.Time)
	arrived, source := f.confirm(prose, r.Seq)
	if len(arrived) > 0 && source == text {
		return
	}
	for _, e := range arrived {
		f.remove(e) // it ended differently
	}
	f.appendText(r, text)
	f.endText()
	f.confirm(prose, r.Seq)
}

func (f *fold) addReasoning(r session.Record, text string) {
	f.dropCutOff()
	f.endReasoning(r.Time)
	arrived, _ := f.confirm(reasoning, r.Seq)
	switch {
	case text == "":
	case len(arrived) > 0:
		arrived[0].text = theme.Sanitize(text)
		arrived[0].invalidate()
	default:
		f.appendReasoning(r, text)
		f.endReasoning(r.Time)
		f.confirm(reasoning, r.Seq)
	}
}

func isBlank(s string) bool { return strings.TrimSpace(ansi.Strip(s)) == "" }
