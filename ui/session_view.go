package ui

import (
	"slices"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/locale"
	"belay/ui/status"
	"belay/ui/theme"
	"belay/ui/transcript"
)

// sessionView is one open session: its state, its transcript and what it is
// doing.
type sessionView struct {
	state session.Session
	pane  *transcript.Pane
	tiers []models.Condition
	draft session.Unsent // what was being written when another session came into view

	activity     activity
	progress     turnProgress
	heard        time.Time                 // when something last arrived
	wait         *status.Wait              // for a model; nil: it does not wait
	usage        session.ContextUsage      // what the next request is made of, as it was counted last
	checkpointed time.Time                 // when the last checkpoint was made
	hinted       map[session.HintKind]bool // the hints that were given once

	open    int  // calls of the reply that have no result yet, as far as they were heard of
	paging  bool // an older page is being read
	torn    bool // records are missing: it has to be read again
	loading bool // it is being read again
	ahead   bool // it is still being opened
}

// activity is what a session is doing right now.
type activity struct {
	text string // "writing"; empty: nothing
	kind activityKind
}

type activityKind int

const (
	plainActivity activityKind = iota
	toolActivity               // a tool runs: no model is listened to
	summarising                // a model is asked and no turn runs
)

// apply takes records in. Those that the state holds already are skipped.
func (v *sessionView) apply(records []session.Record) {
	for _, r := range records {
		if r.Seq > 0 {
			if r.Seq <= v.state.LastSeq {
				continue
			}
			if r.Seq > v.state.LastSeq+1 {
				v.torn = true
			}
			v.state.Apply(r)
		}
		v.pane.Apply(r)
		v.noteCheckpoint(r)
		v.progress.apply(r)
		v.heard = r.Time
		v.follow(r)
	}
}

// load replaces everything by the end of a log.
func (v *sessionView) load(s session.Session, records []session.Record) {
	v.state = s
	v.torn = false
	v.loading = false
	v.paging = false
	if s.Plan != nil {
		v.pane.SetSteps(len(s.Plan.Steps))
	}
	more := len(records) > 0 && records[0].Seq > 1
	if s.PartOf != "" {
		v.pane.SetInner()
	}
	v.pane.Load(records, more, s.RewoundSpans...)
	v.progress = turnProgress{}
	for _, r := range records {
		v.noteCheckpoint(r)
		v.progress.apply(r)
	}
	v.progress.count()
	switch s.Status {
	case session.Running:
		v.doing("working")
	case session.Asking:
		v.doing("waiting for you")
	}
}

func (v *sessionView) setTiers(tiers []models.Condition) {
	v.tiers = tiers
	v.pane.SetNames(tiers)
}

func (v *sessionView) noteCheckpoint(r session.Record) {
	if _, ok := r.Event.(session.Checkpointed); ok {
		v.checkpointed = r.Time
	}
}

func (v *sessionView) doing(text string) { v.activity = activity{text: locale.T(text)} }

// answering ends a wait: the model does something.
func (v *sessionView) answering(text string) {
	v.doing(text)
	v.wait = nil
}

// follow notes what the turn is doing right now.
func (v *sessionView) follow(r session.Record) {
	v.countCalls(r.Event)
	switch e := r.Event.(type) {
	case session.TurnStarted, session.TurnResumed:
		v.answering("starting")
	case session.AttemptStarted:
		v.attempted(e)
	case session.ReplyOpened:
		v.answering(locale.T("%s answers", v.shortName(e.Target)))
	case session.ReasoningDelta:
		v.answering("thinking")
	case session.TextDelta:
		v.answering("writing")
	case session.CallDelta:
		v.answering("writing a call")
	case session.ToolStarted:
		v.activity, v.wait = activity{locale.T("running %s", theme.Line(e.Effect.Tool)), toolActivity}, nil
	case session.ToolEnded, session.ApprovalAnswered:
		v.doing("working")
	case session.ApprovalAsked:
		v.doing("waiting for you")
	case session.Compacted, session.Noted:
		if !v.state.Live() {
			v.answering("")
		}
	case session.AttemptFailed:
		v.failed(r.Time, e)
	case session.Waiting:
		v.waiting(r.Time, e)
	case session.Switched:
		v.answering(locale.T("asking %s", v.shortName(e.To)))
	case session.TurnEnded:
		v.answering("")
	}
}

// countCalls follows how many calls are open.
func (v *sessionView) countCalls(e session.Event) {
	switch e := e.(type) {
	case session.TurnStarted, session.TurnEnded:
		v.open = 0
	case session.ItemAdded:
		if e.Item.Kind == models.Call {
			v.open++
		}
	case session.ToolEnded:
		v.open = max(v.open-1, 0)
	}
}

// waitsForEnd reports whether a message is queued that goes at the end of the turn.
func (v *sessionView) waitsForEnd() bool {
	return slices.ContainsFunc(v.state.Queue, func(q session.Queued) bool { return !v.state.IsSteered(q.ID) })
}

// leaves says when a queued message goes.
func (v *sessionView) leaves(id string) string {
	switch {
	case v.stuck():
		return locale.T("held")
	case !v.state.IsSteered(id):
		return locale.T("at the end of the turn")
	}
	return v.soon()
}

// soon says when a message goes that does not wait for the end of the turn.
func (v *sessionView) soon() string {
	switch {
	case v.activity.kind != toolActivity && v.open == 0:
		return locale.T("with the next request")
	case v.open > 1:
		return locale.T("after the running calls")
	}
	return locale.T("after the running call")
}

func (v *sessionView) attempted(e session.AttemptStarted) {
	v.doing(locale.T("asking %s", v.shortName(e.Target)))
	if !v.state.Live() {
		v.activity = activity{locale.T("summarising"), summarising}
	}
	if w := v.wait; w != nil {
		w.Until = time.Time{}
		w.Next = e.Target
		w.Number, w.Of = e.Number, e.Of
	}
}

func (v *sessionView) failed(at time.Time, e session.AttemptFailed) {
	if e.Next == models.NextStop || e.Next == models.NextPark || e.Fault != nil && e.Fault.Adjusted != "" {
		v.wait = nil
		return
	}
	w := v.waitBox()
	w.Fault = e.Fault
	w.Target, w.Next = e.Target, e.Target
	w.Number, w.Of = e.Number+1, e.Of
	w.Then = models.Target{}
	w.From, w.Until = at, at.Add(e.Delay)
	v.doing("waiting")
}

func (v *sessionView) waiting(at time.Time, e session.Waiting) {
	w := v.waitBox()
	if e.Fault != nil {
		w.Fault = e.Fault
		if e.Fault.Target != (models.Target{}) {
			w.Target = e.Fault.Target
		}
	}
	if w.Target == (models.Target{}) {
		w.Target = e.Target
	}
	w.Next = e.Target
	w.Number, w.Of = e.Number, e.Of
	w.From, w.Until = at, e.Until
	w.Then = e.Then
	v.doing("waiting")
}

func (v *sessionView) waitBox() *status.Wait {
	if v.wait == nil {
		v.wait = &status.Wait{}
	}
	return v.wait
}

func (v *sessionView) shortName(t models.Target) string {
	for _, c := range v.tiers {
		if c.Target == t && c.Short != "" {
			return theme.Line(c.Short)
		}
	}
	return theme.Short(t)
}

// stuck reports whether the last turn is not done and holds the queue.
func (v *sessionView) stuck() bool {
	switch v.state.Status {
	case session.Parked, session.Failed, session.Stopped, session.Interrupted, session.NeedsPerson:
		return true
	}
	return false
}

// pace is how often the view's clocks move: 0 when nothing does.
func (v *sessionView) pace(now time.Time) time.Duration {
	if v.wait != nil && v.wait.Until.After(now) {
		return waitPace(v.wait.Until.Sub(now))
	}
	if v.state.Live() || v.state.Status == session.Parked && v.state.RetryAt.After(now) {
		return time.Second
	}
	return tierPace(v.tiers, now)
}

// waitPace is how often a countdown moves: it shows seconds, and tenths at its end
// (theme.Elapsed); half of these are enough to see that it runs.
func waitPace(left time.Duration) time.Duration {
	switch {
	case left < 3*time.Second:
		return 200 * time.Millisecond
	case left < 11*time.Second:
		return 500 * time.Millisecond
	}
	return time.Second
}

// tierPace is a second while some target's wait counts down.
func tierPace(tiers []models.Condition, now time.Time) time.Duration {
	for _, c := range tiers {
		if c.Until.After(now) {
			return time.Second
		}
	}
	return 0
}

// silence is how long nothing has come from a model that is listened to.
func (v *sessionView) silence(now time.Time) time.Duration {
	if v.wait != nil || v.state.Status != session.Running || v.activity.kind == toolActivity || v.heard.IsZero() {
		return 0
	}
	return max(now.Sub(v.heard), 0).Truncate(time.Second)
}
