package transcript

import (
	"fmt"
	"slices"
	"time"

	"belay/session"
	"belay/ui/theme"
)

// edge is what the beginning of what is loaded still needs to know of the
// records before it: a failed attempt may lie across two pages.
type edge struct {
	crossed bool  // a reply, a turn or a failed attempt has ended since
	failed  int64 // the failed attempt that ended first, if one did
	calls   int   // that it had finished on this page
	line    *entry
	turned  bool // a turn has begun: older half text stays
	gave    bool // new words came: older half text gives way
}

// finished counts a call that an attempt has finished. Should the attempt fail
// nevertheless, it is kept.
func (f *fold) finished() { f.calling++ }

// crossed ends the count: what comes is another attempt.
func (f *fold) crossed() {
	f.calling = 0
	f.edge.crossed = true
}

// begin starts a turn: half text of the one before is not written again.
func (f *fold) begin() {
	if f.cutoff != nil {
		f.cutoff.leave()
	}
	f.failures, f.cutoff = 0, nil
	f.edge.turned = f.edge.turned || !f.edge.gave
	f.crossed()
}

// failedAttempt takes back what arrived of an attempt and says what stays.
func (p *Pane) failedAttempt(r session.Record, e session.AttemptFailed) {
	if r.Seq == 0 {
		return // of a summary: nothing of it is in the conversation
	}
	p.dropLive()
	p.failures++
	p.target = e.Target
	if c := p.cutoff; c != nil && c.seq == r.Seq-1 && c.text != "" {
		c.label = p.short(e.Target) // the log does not say who was asked until now
		c.touch()
	}
	n := p.calling
	first := !p.edge.crossed
	p.crossed()
	var line *entry
	if n > 0 {
		line = p.line(r, "✓", keptWords(n), calm)
	}
	if first {
		p.edge.failed, p.edge.calls, p.edge.line = r.Seq, n, line
	}
}

func keptWords(n int) string {
	words := theme.Plural(n, "finished call") + " are kept"
	if n == 1 {
		words = "1 finished call is kept"
	}
	return words
}

// join carries what an older page left open over to the later one.
func (p *Pane) join(old *Pane, kept []*entry) []*entry {
	if n := old.calling + p.edge.calls; p.edge.failed > 0 && old.calling > 0 {
		p.edge.calls = n
		if p.edge.line == nil {
			at := 0
			for i, e := range p.entries {
				if e.seq > 0 && e.seq <= p.edge.failed {
					at = i + 1
				}
			}
			p.edge.line = &entry{kind: quiet, seq: p.edge.failed, symbol: "✓"}
			p.put(at, p.edge.line)
		}
		p.edge.line.text = keptWords(n)
		p.edge.line.touch()
	}
	if !p.edge.crossed {
		p.calling += old.calling
	}
	switch {
	case old.cutoff == nil:
	case p.edge.gave:
		kept = slices.DeleteFunc(kept, func(e *entry) bool { return e == old.cutoff })
	case p.edge.turned:
		old.cutoff.leave()
	case p.cutoff == nil:
		p.cutoff = old.cutoff
	}
	next := old.edge
	if !next.crossed { // the older page is part of the same attempt
		next.crossed, next.failed, next.calls, next.line = p.edge.crossed, p.edge.failed, p.edge.calls, p.edge.line
	}
	if !next.turned && !next.gave {
		next.turned, next.gave = p.edge.turned, p.edge.gave
	}
	p.edge = next
	return kept
}

// put places an entry; the view and the choice stay on what they were on.
func (p *Pane) put(at int, e *entry) {
	p.entries = slices.Insert(p.entries, at, e)
	for _, i := range []*int{&p.top, &p.cursor, &p.seen, &p.found} {
		if *i >= at {
			*i++
		}
	}
}

// leave lets half text stand that nothing will replace any more.
func (e *entry) leave() {
	if e.phase == written {
		e.phase = unknown
		e.touch()
	}
}

func cutWords(e *entry) string {
	switch e.phase {
	case denied:
		return "stopped here"
	case unknown:
		return "cut off"
	}
	return "cut off; will be written again"
}

func (p *Pane) switched(r session.Record, e session.Switched) {
	from, to := p.short(e.From), p.short(e.To)
	text := fmt.Sprintf("%s → %s", from, to)
	switch {
	case e.Failback:
		text += ": back at the preferred model"
	case e.Fault == nil:
		text += ": your choice"
	default:
		text += ": " + theme.Kind(e.Fault)
		if p.failures > 1 {
			text += fmt.Sprintf(" ×%d", p.failures)
		}
		if e.FromTier.Rank() >= 0 && e.FromTier.Rank() < e.ToTier.Rank() {
			text += ", back when " + from + " answers again"
			if e.FailbackDelay > 0 {
				text += ", after " + theme.Clock(e.FailbackDelay.Round(time.Second)) + " at the earliest"
			}
		}
	}
	p.failures, p.target = 0, e.To
	p.line(r, "⇄", text, calm)
}
