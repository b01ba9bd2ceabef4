package ui

import (
	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// failurePage says why belay cannot go on.
type failurePage struct{ err error }

func (d failurePage) key(name, _ string) action {
	if keys.FailurePage.Action(name) == keys.Quit {
		return quit{}
	}
	return nil
}

func (d failurePage) interrupt() action { return command{name: keys.Quit} }

func (d failurePage) view(f frame) box {
	th, room := f.theme, min(f.width-8, 76)
	lines := []string{th.Bad.Paint(locale.T("belay cannot go on")), ""}
	lines = append(lines, theme.Wrap(locale.Said(theme.Plain(d.err.Error())), room)...)
	if h := session.ErrorHint(d.err); h != "" {
		lines = append(lines, "")
		for _, l := range theme.Wrap(locale.Said(theme.Plain(h)), room) {
			lines = append(lines, th.Dim.Paint(l))
		}
	}
	return box{lines: append(lines, "", th.Keys(keys.FailurePage.Hint("leave", keys.Quit))), page: true}
}
