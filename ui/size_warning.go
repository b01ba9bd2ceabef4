package ui

import (
	"belay/session"
	"belay/ui/keys"
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
	v := views.shown()
	if v != nil {
		if v.state.Live() || v.state.Status == session.Parked {
			return false, "" // it goes into the queue
		}
		if usage = v.usage; v.state.ContextTokens > 0 {
			usage.Counted = v.state.ContextTokens
		}
	}
	w.hints = w.hints[:0]
	for _, h := range usage.Hints(prompt, int64(bytes)/bytesPerToken, views.otherStreams(), w.limit()) {
		switch {
		case h.Confirm:
			w.hints = append(w.hints, h)
		case v != nil && !v.hinted[h.Kind]:
			if v.hinted == nil {
				v.hinted = map[session.HintKind]bool{}
			}
			v.hinted[h.Kind] = true
			inPassing = h.Text
		}
	}
	return len(w.hints) > 0, inPassing
}

// lines are the hints, and the ways to a smaller request.
func (w *sizeWarning) lines(f frame) []string {
	var lines []string
	lead := "   " + f.theme.Warn.Paint("▲ ")
	for _, h := range w.hints {
		for i, l := range theme.Wrap(h.Text, f.width-7) {
			if i > 0 {
				lead = "     "
			}
			lines = append(lines, lead+l)
		}
	}
	hints := [][2]string{
		keys.Hint("what fills it", keys.Context), keys.Hint(keys.Label(keys.Steps)+" splits it", keys.StepsPanel),
		keys.Hint("", keys.Trim), keys.Hint("", keys.Compact), keys.Hint("send it as it is", keys.Send),
	}
	if line := "     " + f.theme.Keys(hints...); theme.Width(line) <= f.width {
		return append(lines, line)
	}
	return append(lines, "     "+f.theme.Keys(hints[:2]...), "     "+f.theme.Keys(hints[2:]...))
}
