package theme

import (
	"strings"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/locale"
)

// Condition gives the symbol of a target's state and the words beside it.
func (t *Theme) Condition(c models.Condition, now time.Time) (symbol, text string, style Style) {
	text = ConditionText(c, now)
	switch c.State {
	case models.Trying:
		return "◐", text, t.Warn
	case models.Resting, models.Failing:
		return "○", text, t.Warn
	case models.HalfOpen, models.Unknown:
		return "◌", text, t.Dim
	case models.Unusable:
		return "✕", text, t.Bad
	case models.Disabled:
		return "⏸", text, t.Dim
	}
	return "●", text, t.Good
}

// ConditionText says how a target is doing, with the time until that changes if it
// is known.
func ConditionText(c models.Condition, now time.Time) string {
	text, left := locale.T(string(c.State)), Left(c, now)
	switch c.State {
	case models.Trying:
		if left == "" {
			return locale.T("trying again")
		}
		return locale.T("trying again in %s", left)
	case models.HalfOpen:
		if left != "" {
			return locale.T("being tried") // by another request: nobody else is let through
		}
	case models.Failing:
		if c.Fault != nil && c.Fault.Kind == models.KindCapacity {
			text = locale.T("full")
		}
	}
	return strings.TrimSpace(text + " " + left)
}

// Left is how long a target's state lasts; empty when that is not known.
func Left(c models.Condition, now time.Time) string {
	if !c.Until.After(now) {
		return ""
	}
	return Clock(c.Until.Sub(now) + time.Second - 1)
}

// Status gives the symbol of a session's state, the words and their style.
func (t *Theme) Status(state *session.Session, now time.Time) (symbol, text string, style Style) {
	switch state.Status {
	case session.Running:
		return "▸", locale.T("running"), t.Accent
	case session.Asking:
		return "?", locale.T("asks you"), t.Warn
	case session.Parked:
		text = locale.T("parked")
		switch {
		case state.RetryAt.After(now):
			text = locale.T("parked until %s", At(state.RetryAt))
		case !state.RetryAt.IsZero():
			text = locale.T("parked, due %s", At(state.RetryAt))
		}
		return "⏸", text, t.Warn
	case session.Failed:
		text = locale.T("failed")
		if state.Fault != nil {
			text = locale.T("failed: %s", Kind(state.Fault))
		}
		return "✗", text, t.Bad
	case session.Stopped:
		return "■", locale.T("stopped"), t.Dim
	case session.NeedsPerson:
		return "!", locale.T("needs you"), t.Warn
	case session.Interrupted:
		return "≋", locale.T("interrupted"), t.Warn
	}
	return "·", locale.T("done"), t.Dim
}

// Kind says in plain words what a fault is.
func Kind(f *models.Fault) string {
	if f == nil {
		return ""
	}
	return locale.Said(f.Text())
}

// Short is a target's name of a few letters: the last word of its model's
// name if that is a word, else the whole name.
func Short(target models.Target) string {
	name := Line(target.Model)
	if i := strings.LastIndexAny(name, "/:"); i >= 0 && i+1 < len(name) {
		name = name[i+1:]
	}
	last := name[strings.LastIndexByte(name, '-')+1:]
	if len(last) > 1 && len(last) < len(name) && strings.Trim(last, "abcdefghijklmnopqrstuvwxyz") == "" {
		return last
	}
	return name
}
