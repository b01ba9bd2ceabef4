package ui

import (
	"strings"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/status"
	"belay/ui/theme"
	"belay/ui/transcript"
)

// room is one open session: its state, its transcript and what it is doing.
type room struct {
	s       session.Session
	pane    *transcript.Pane
	tiers   []models.Condition
	draft   string
	doing   string
	heard   time.Time                 // when something last arrived
	weight  session.ContextUsage      // of the next request, as it was weighed last
	hinted  map[session.HintKind]bool // what was said once
	wait    *status.Wait
	kept    time.Time // the last checkpoint
	paging  bool
	torn    bool // records are missing: load again
	loading bool
}

// apply takes records in. Those that the state holds already are skipped.
func (r *room) apply(records []session.Record) {
	for _, rec := range records {
		if rec.Seq > 0 {
			if rec.Seq <= r.s.LastSeq {
				continue
			}
			if rec.Seq > r.s.LastSeq+1 {
				r.torn = true
			}
			r.s.Apply(rec)
		}
		r.pane.Apply(rec)
		r.checkpoints([]session.Record{rec})
		r.heard = rec.Time
		r.progress(rec)
	}
}

// checkpoints notes when the last one was made.
func (r *room) checkpoints(records []session.Record) {
	for _, rec := range records {
		if _, ok := rec.Event.(session.Checkpointed); ok {
			r.kept = rec.Time
		}
	}
}

// summarising is what goes on when a model is asked and no turn runs.
const summarising = "summarising"

// progress follows what the turn is doing right now.
func (r *room) progress(rec session.Record) {
	switch e := rec.Event.(type) {
	case session.TurnStarted, session.TurnResumed:
		r.doing, r.wait = "starting", nil
	case session.AttemptStarted:
		r.doing = "asking " + r.short(e.Target)
		if !r.s.Live() {
			r.doing = summarising
		}
		if r.wait != nil {
			r.wait.Until, r.wait.Next, r.wait.Number, r.wait.Of = time.Time{}, e.Target, e.Number, e.Of
		}
	case session.ReplyOpened:
		r.doing, r.wait = r.short(e.Target)+" answers", nil
	case session.ReasoningDelta:
		r.doing, r.wait = "thinking", nil
	case session.TextDelta:
		r.doing, r.wait = "writing", nil
	case session.CallDelta:
		r.doing, r.wait = "writing a call", nil
	case session.ToolStarted:
		r.doing, r.wait = "running "+theme.Line(e.Effect.Tool), nil
	case session.ToolEnded:
		r.doing = "working"
	case session.ApprovalAsked:
		r.doing = "waiting for you"
	case session.ApprovalAnswered:
		r.doing = "working"
	case session.Compacted, session.Noted:
		if !r.s.Live() {
			r.doing, r.wait = "", nil
		}
	default:
		r.trouble(rec)
	}
}

// trouble follows failed attempts and waits.
func (r *room) trouble(rec session.Record) {
	switch e := rec.Event.(type) {
	case session.AttemptFailed:
		if e.Next == models.NextStop || e.Next == models.NextPark {
			r.wait = nil
			return
		}
		w := r.box()
		w.Fault, w.Target, w.Next, w.Number, w.Of = e.Fault, e.Target, e.Target, e.Number+1, e.Of
		w.From, w.Until = rec.Time, rec.Time.Add(e.Delay)
		r.doing = "waiting"
	case session.Waiting:
		w := r.box()
		if e.Fault != nil {
			w.Fault = e.Fault
			if e.Fault.Target != (models.Target{}) {
				w.Target = e.Fault.Target
			}
		}
		if w.Target == (models.Target{}) {
			w.Target = e.Target
		}
		w.Next, w.Number, w.Of, w.From, w.Until = e.Target, e.Number, e.Of, rec.Time, e.Until
		r.doing = "waiting"
	case session.Switched:
		r.wait = nil
		r.doing = "asking " + r.short(e.To)
	case session.TurnEnded:
		r.wait, r.doing = nil, ""
	}
}

func (r *room) box() *status.Wait {
	if r.wait == nil {
		r.wait = &status.Wait{}
	}
	return r.wait
}

func (r *room) short(t models.Target) string {
	for _, c := range r.tiers {
		if c.Target == t && c.Short != "" {
			return theme.Line(c.Short)
		}
	}
	return theme.Short(t)
}

// below is the tier under the session's present one.
func (r *room) below() *models.Condition {
	for i, c := range r.tiers {
		if r.wait != nil && c.Target == r.wait.Next && i+1 < len(r.tiers) {
			return &r.tiers[i+1]
		}
	}
	return nil
}

// stuck reports whether the last turn is not done and holds the queue.
func (r *room) stuck() bool {
	switch r.s.Status {
	case session.Parked, session.Failed, session.Stopped, session.Interrupted, session.NeedsPerson:
		return true
	}
	return false
}

// ticks reports how often the room's clocks move: 0 when nothing does.
func (r *room) ticks(now time.Time) time.Duration {
	if r.wait != nil && r.wait.Until.After(now) {
		return 100 * time.Millisecond
	}
	if r.s.Live() || r.s.Status == session.Parked && r.s.RetryAt.After(now) {
		return time.Second
	}
	for _, c := range r.tiers {
		if c.Until.After(now) {
			return time.Second
		}
	}
	return 0
}

// quiet is how long nothing has come from a model that is listened to.
func (r *room) quiet(now time.Time) time.Duration {
	if r.wait != nil || r.s.Status != session.Running || strings.HasPrefix(r.doing, "running") || r.heard.IsZero() {
		return 0
	}
	return max(now.Sub(r.heard), 0).Truncate(time.Second)
}
