package ui

import (
	"strings"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/status"
	"belay/ui/steps"
	"belay/ui/theme"
)

// bottomLine is what the line at the bottom says of the session in view.
func (vs *sessionViews) bottomLine(area frame, mode session.Mode) status.Bottom {
	always := [][2]string{keys.Hint("keys", keys.Help), keys.Hint("commands", keys.Palette)}
	bottom := status.Bottom{Mode: mode, Now: area.now, Keys: always}
	view := vs.shown()
	if view == nil {
		return bottom
	}
	s := &view.state
	bottom.Session = s
	bottom.Mode = s.Mode
	bottom.Counted = view.usage.Counted
	bottom.Doing, bottom.Since = view.activity.text, s.TurnStartedAt
	if view.activity.kind == summarising {
		bottom.Since = time.Time{}
	}
	if s.Status == session.Parked {
		bottom.Doing, bottom.Since = locale.T("parked"), time.Time{}
		if left := s.RetryAt.Sub(area.now); left > 0 {
			bottom.Doing = locale.T("parked, again in %s", theme.Clock(left))
		}
	}
	bottom.Spins = view.spins()
	if s.Live() || view.activity.kind == summarising {
		bottom.Keys = append([][2]string{keys.Hint("stop", keys.Stop)}, always...)
	}
	if !s.Live() {
		return bottom
	}
	worker := vs.worker(view)
	bottom.Written = writtenBy(view, worker).told
	if worker != nil {
		bottom.Spins = worker.spins()
	}
	if worker != nil || s.RunsPlan {
		bottom.Doing, bottom.Since, bottom.Silence = planActivity(view, worker, bottom.Since, area)
	} else {
		bottom.Silence = view.silence(area.now)
	}
	return bottom
}

// planActivity says which step of a plan is under way, and how that is doing.
func planActivity(plan, worker *sessionView, since time.Time, area frame) (string, time.Time, time.Duration) {
	step := locale.T("planning")
	if p := plan.state.Plan; p != nil && p.Current() > 0 {
		current := p.Steps[p.Current()-1]
		step = locale.T("step %d/%d", p.Current(), len(p.Steps))
		if area.width >= minWidthBeside {
			step += " " + theme.Cut(theme.Line(current.Title), 24)
		}
		since = current.StartedAt
	}
	silence := time.Duration(0)
	if worker != nil {
		silence = worker.silence(area.now)
	}
	live := liveStep(plan, worker, area.now)
	return strings.TrimSuffix(step+": "+live.Words, ": "), since, silence
}

// liveStep says what the session of the running step is doing.
func liveStep(plan, worker *sessionView, now time.Time) steps.Live {
	switch {
	case worker == nil:
		return steps.Live{}
	case !worker.state.Live() && worker.state.Status != session.Parked:
		if p := plan.state.Plan; p != nil {
			if step, ok := p.Running(); ok && step.Check != "" {
				return steps.Live{Words: locale.T("its check runs")}
			}
		}
		return steps.Live{}
	case worker.state.Status == session.Asking:
		return steps.Live{Words: locale.T("asks you"), Asks: true}
	case worker.wait == nil:
		return steps.Live{Words: worker.activity.text}
	}
	reason := locale.T("no capacity")
	if f := worker.wait.Fault; f != nil && f.Kind != models.KindCapacity {
		reason = theme.Kind(f)
	}
	if !worker.wait.Until.After(now) {
		return steps.Live{Words: "◐ " + locale.T("%s, asking again", reason), Waits: true}
	}
	again := locale.T("again in %s", theme.Clock(worker.wait.Until.Sub(now)+time.Second-1))
	return steps.Live{Words: "◐ " + reason + ", " + again, Short: "◐ " + again, Waits: true}
}

// stepHints are the keys between a plan and the session of a step.
func (vs *sessionViews) stepHints(panelOpen bool) [][2]string {
	switch view := vs.shown(); {
	case view == nil:
		return nil
	case view.state.PartOf != "" && view.state.Live():
		return [][2]string{keys.Hint("back to the plan", keys.StepsPanel)}
	case view.state.PartOf != "":
		return [][2]string{keys.Hint("back to the plan", keys.Stop)}
	case view.state.Plan != nil && !panelOpen:
		return [][2]string{keys.Hint("steps", keys.StepsPanel)}
	}
	return nil
}

// queueLines list what waits behind the turn, at most three lines of it, and the
// ways on.
func (v *sessionView) queueLines(area frame, panelFocused bool) []string {
	th := area.theme
	st := th.Dim
	if v.stuck() {
		st = th.Warn
	}
	var lines []string
	for i, queued := range v.state.Queue {
		if i == 3 {
			lines = append(lines, "   "+th.Dim.Paint("… "+locale.N(len(v.state.Queue)-3, "%d message more", "%d messages more")))
			break
		}
		when := v.leaves(queued.ID)
		lines = append(lines, "   "+st.Paint(when)+"  "+theme.Cut(theme.Line(queued.Text), area.width-theme.Width(when)-8))
	}
	if hints := v.waysOn(panelFocused); len(hints) > 0 {
		for _, line := range th.KeyLines(area.width-4, 2, hints...) {
			lines = append(lines, "   "+line)
		}
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}

// waysOn are the keys that go on with a turn that stands still.
func (v *sessionView) waysOn(panelFocused bool) [][2]string {
	var hints [][2]string
	parked := v.state.Status == session.Parked
	switch {
	case v.state.PartOf != "" || panelFocused && !parked:
		return nil
	case v.stuck() && !parked && v.state.Plan != nil && v.state.Plan.Current() > 0:
		on := "go on"
		if v.state.Status == session.NeedsPerson && v.state.Plan.Reviewed {
			on = "next step"
		}
		hints = [][2]string{keys.Hint("the plan", keys.StepsPanel), keys.Hint(on, keys.TryNow)}
	case parked || v.stuck() && len(v.state.Queue) > 0:
		hints = [][2]string{
			keys.Hint("go on now", keys.TryNow), keys.Hint("on another tier", keys.Heavy, keys.Medium, keys.Light),
		}
	case v.state.Status == session.Failed:
		return [][2]string{keys.Hint("try again", keys.TryNow)}
	case v.state.Status == session.NeedsPerson || v.state.Status == session.Stopped:
		return [][2]string{keys.Hint("go on", keys.TryNow)}
	default:
		return nil
	}
	if len(v.state.Queue) > 0 {
		hints = append(hints, keys.Hint("drop the turn, send this", keys.Drop))
	}
	return hints
}
