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
func (f *fold) failedAttempt(r session.Record, e session.AttemptFailed) {
	if r.Seq == 0 {
		return // of a summary: nothing of it is in the conversation
	}
	f.dropLive()
	f.failures++
	f.target = e.Target
	if c := f.cutoff; c != nil && c.seq == r.Seq-1 && c.text != "" {
		c.label = f.short(e.Target) // the log does not say who was asked until now
		c.touch()
	}
	n := f.calling
	first := !f.edge.crossed
	f.crossed()
	var line *entry
	if n > 0 {
		line = f.line(r, "✓", keptWords(n), calm)
	}
	if first {
		f.edge.failed, f.edge.calls, f.edge.line = r.Seq, n, line
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
func (f *fold) join(old *fold, kept []*entry) []*entry {
	if n := old.calling + f.edge.calls; f.edge.failed > 0 && old.calling > 0 {
		f.edge.calls = n
		if f.edge.line == nil {
			at := 0
			for i, e := range f.entries {
				if e.seq > 0 && e.seq <= f.edge.failed {
					at = i + 1
				}
			}
			f.edge.line = &entry{kind: quiet, seq: f.edge.failed, symbol: "✓"}
			f.insert(at, f.edge.line)
		}
		f.edge.line.text = keptWords(n)
		f.edge.line.touch()
	}
	if !f.edge.crossed {
		f.calling += old.calling
	}
	switch {
	case old.cutoff == nil:
	case f.edge.gave:
		kept = slices.DeleteFunc(kept, func(e *entry) bool { return e == old.cutoff })
	case f.edge.turned:
		old.cutoff.leave()
	case f.cutoff == nil:
		f.cutoff = old.cutoff
	}
	next := old.edge
	if !next.crossed { // the older page is part of the same attempt
		next.crossed, next.failed, next.calls, next.line = f.edge.crossed, f.edge.failed, f.edge.calls, f.edge.line
	}
	if !next.turned && !next.gave {
		next.turned, next.gave = f.edge.turned, f.edge.gave
	}
	f.edge = next
	return kept
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

func (f *fold) switched(r session.Record, e session.Switched) {
	from, to := f.short(e.From), f.short(e.To)
	text := fmt.Sprintf("%s → %s", from, to)
	switch {
	case e.Failback:
		text += ": back at the preferred model"
	case e.Fault == nil:
		text += ": your choice"
	default:
		text += ": " + theme.Kind(e.Fault)
		if f.failures > 1 {
			text += fmt.Sprintf(" ×%d", f.failures)
		}
		if e.FromTier.Rank() >= 0 && e.FromTier.Rank() < e.ToTier.Rank() {
			text += ", back when " + from + " answers again"
			if e.FailbackDelay > 0 {
				text += ", after " + theme.Clock(e.FailbackDelay.Round(time.Second)) + " at the earliest"
			}
		}
	}
	f.failures, f.target = 0, e.To
	f.line(r, "⇄", text, calm)
}
