package ui

import (
	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// sizeWarning holds a large request back until it is sent a second time.
type sizeWarning struct {
	limit func() int64   // tokens of a request that is worth a second thought; nil: none is
	shown bool           // that the draft makes a large request
	hints []session.Hint // about the draft
}

// bytesPerToken is about right for a draft, which nobody has counted yet.
const bytesPerToken = 4

// check reports whether the draft makes a request that is worth a second thought,
// once for a draft. What is worth a word only is given once for a session.
func (w *sizeWarning) check(views *sessionViews, prompt string, bytes int) (hold bool, inPassing string) {
	if w.limit == nil || w.shown {
		return false, ""
	}
	var usage session.ContextUsage
	view := views.shown()
	if view != nil {
		if view.state.Live() || view.state.Status == session.Parked {
			return false, "" // it goes into the queue
		}
		if usage = view.usage; view.state.ContextTokens > 0 {
			usage.Counted = view.state.ContextTokens
		}
	}
	w.hints = w.hints[:0]
	for _, h := range usage.Hints(prompt, int64(bytes)/bytesPerToken, views.otherStreams(), w.limit()) {
		switch {
		case h.Confirm:
			w.hints = append(w.hints, h)
		case view != nil && !view.hinted[h.Kind]:
			if view.hinted == nil {
				view.hinted = map[session.HintKind]bool{}
			}
			view.hinted[h.Kind] = true
			inPassing = h.Text
		}
	}
	return len(w.hints) > 0, inPassing
}

// lines are the hints, and the ways to a smaller request.
func (w *sizeWarning) lines(area frame) []string {
	var lines []string
	lead := "   " + area.theme.Warn.Paint("▲ ")
	for _, h := range w.hints {
		for i, l := range theme.Wrap(locale.Said(h.Text), area.width-7) {
			if i > 0 {
				lead = "     "
			}
			lines = append(lines, lead+l)
		}
	}
	hints := [][2]string{
		keys.Hint("what fills it", keys.Context), keys.Hint(locale.T("%s splits it", keys.Label(keys.Steps)), keys.StepsPanel),
		keys.Hint("", keys.Trim), keys.Hint("", keys.Compact), keys.Hint("send it as it is", keys.Send),
	}
	if line := "     " + area.theme.Keys(hints...); theme.Width(line) <= area.width {
		return append(lines, line)
	}
	return append(lines, "     "+area.theme.Keys(hints[:2]...), "     "+area.theme.Keys(hints[2:]...))
}
