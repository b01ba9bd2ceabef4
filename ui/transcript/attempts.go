package transcript

import (
	"fmt"
	"slices"
	"time"

	"belay/session"
	"belay/ui/locale"
	"belay/ui/theme"
)

// pageBoundary is what the first loaded page leaves open for the page before it: a
// failed attempt may lie across two pages.
type pageBoundary struct {
	attemptEnded bool   // a reply, a turn or a failed attempt has ended since
	failedSeq    int64  // the failed attempt that ended first, if one did
	calls        int    // that it had finished on this page
	line         *entry // that says so
	turnStarted  bool   // a turn has begun: older half text stays
	replaced     bool   // new words came: older half text gives way
}

// countCall counts a call that an attempt has finished. Should the attempt fail
// nevertheless, it is kept.
func (f *fold) countCall() { f.finishedCalls++ }

// endAttempt ends the count: what comes is another attempt.
func (f *fold) endAttempt() {
	f.finishedCalls = 0
	f.boundary.attemptEnded = true
}

// startTurn starts a turn: half text of the one before is not written again.
func (f *fold) startTurn() {
	if f.cutOffEntry != nil {
		f.cutOffEntry.keepCutOff()
	}
	f.failures, f.cutOffEntry = 0, nil
	f.boundary.turnStarted = f.boundary.turnStarted || !f.boundary.replaced
	f.endAttempt()
}

// attemptFailed takes back what arrived of an attempt and says what stays.
func (f *fold) attemptFailed(r session.Record, e session.AttemptFailed) {
	if r.Seq == 0 {
		return // of a summary: nothing of it is in the conversation
	}
	f.addRequest(r)
	f.dropUnconfirmed()
	f.failures++
	f.target = e.Target
	if c := f.cutOffEntry; c != nil && c.seq == r.Seq-1 && c.text != "" {
		c.label = f.shortName(e.Target) // the log does not say who was asked until now
		c.invalidate()
	}
	n := f.finishedCalls
	first := !f.boundary.attemptEnded
	f.endAttempt()
	var line *entry
	if n > 0 {
		line = f.addLine(r, "✓", keptCallsText(n), plain)
	}
	if e.Fault != nil && e.Fault.Adjusted != "" {
		f.addLine(r, "↻", locale.T("%s refused the request as it was: asked again %s",
			f.shortName(e.Target), locale.Said(theme.Line(e.Fault.Adjusted))), plain)
	}
	if first {
		f.boundary.failedSeq = r.Seq
		f.boundary.calls, f.boundary.line = n, line
	}
}

func keptCallsText(n int) string {
	return locale.N(n, "%d finished call is kept", "%d finished calls are kept")
}

// addKeptCalls counts calls of an older page to the failed attempt that ended
// first on this one.
func (f *fold) addKeptCalls(n int) {
	b := &f.boundary
	if b.failedSeq == 0 || n == 0 {
		return
	}
	b.calls += n
	if b.line == nil {
		at := 0
		for i, e := range f.entries {
			if e.seq > 0 && e.seq <= b.failedSeq {
				at = i + 1
			}
		}
		b.line = &entry{kind: statusLine, seq: b.failedSeq, symbol: "✓"}
		f.insert(at, b.line)
	}
	b.line.text = keptCallsText(b.calls)
	b.line.invalidate()
}

// joinOlder carries what an older page left open over to the later one.
func (f *fold) joinOlder(old *fold, kept []*entry) []*entry {
	f.addKeptCalls(old.finishedCalls)
	if !f.boundary.attemptEnded {
		f.finishedCalls += old.finishedCalls
	}
	switch {
	case old.cutOffEntry == nil:
	case f.boundary.replaced:
		kept = slices.DeleteFunc(kept, func(e *entry) bool { return e == old.cutOffEntry })
	case f.boundary.turnStarted:
		old.cutOffEntry.keepCutOff()
	case f.cutOffEntry == nil:
		f.cutOffEntry = old.cutOffEntry
	}
	next := old.boundary
	if !next.attemptEnded { // the older page is part of the same attempt
		next.attemptEnded, next.failedSeq = f.boundary.attemptEnded, f.boundary.failedSeq
		next.calls, next.line = f.boundary.calls, f.boundary.line
	}
	if !next.turnStarted && !next.replaced {
		next.turnStarted, next.replaced = f.boundary.turnStarted, f.boundary.replaced
	}
	f.boundary = next
	return kept
}

// keepCutOff lets half text stand that nothing will replace any more.
func (e *entry) keepCutOff() {
	if e.phase == pending {
		e.phase = unknown
		e.invalidate()
	}
}

func cutOffText(e *entry) string {
	switch e.phase {
	case denied:
		return locale.T("stopped here")
	case unknown:
		return locale.T("cut off")
	}
	return locale.T("cut off; will be written again")
}

func (f *fold) switched(r session.Record, e session.Switched) {
	from, to := f.shortName(e.From), f.shortName(e.To)
	text := fmt.Sprintf("%s → %s", from, to)
	switch {
	case e.Failback:
		text += ": " + locale.T("back at the preferred model")
	case e.Pictures:
		text += ": " + locale.T("it sees pictures")
	case e.Fault == nil:
		text += ": " + locale.T("your choice")
	default:
		text += ": " + theme.Kind(e.Fault)
		if f.failures > 1 {
			text += fmt.Sprintf(" ×%d", f.failures)
		}
		if e.FromTier.Rank() >= 0 && e.FromTier.Rank() < e.ToTier.Rank() {
			text += locale.T(", back when %s answers again", from)
			if e.FailbackDelay > 0 {
				text += locale.T(", after %s at the earliest", theme.Clock(e.FailbackDelay.Round(time.Second)))
			}
		}
	}
	f.failures = 0
	f.target = e.To
	f.addLine(r, "⇄", text, plain)
}
