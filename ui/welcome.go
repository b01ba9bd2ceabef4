package ui

import (
	"path/filepath"
	"strings"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// welcome is shown before anything was said: the first keys, and what is
// unfinished.
func (vs *sessionViews) welcome(area frame, height int, version string) []string {
	th := area.theme
	name := strings.TrimSpace("belay " + version)
	lines := []string{
		"", "   " + th.Accent.Paint(name),
		"   " + th.Dim.Paint(locale.T("What was done is kept, whatever the model does.")), "",
	}
	first := [][2]string{
		keys.Hint("send", keys.Send), keys.Hint("mention a file", keys.Mention),
		keys.Hint("run a command yourself", keys.Shell),
		keys.Hint("heavy, medium, light model", keys.Heavy, keys.Medium, keys.Light),
		keys.Hint("sessions", keys.Sessions), keys.Hint("all keys", keys.Help),
	}
	if len(vs.offered) > 0 { // what is unfinished is worth more
		first = first[:max(min(len(first), height-len(lines)-2-len(vs.offered)), 0)]
	}
	for _, hint := range first {
		lines = append(lines, "   "+th.Key.Paint(theme.Fit(hint[0], 10))+th.Dim.Paint(hint[1]))
	}
	if len(vs.offered) > 0 {
		hints := th.Keys(keys.Hint("go on with the first", keys.TryNow), keys.Hint("all", keys.Sessions))
		lines = append(lines, "", "   "+th.Strong.Paint(locale.T("Unfinished"))+"  "+hints)
	}
	for _, s := range vs.offered {
		symbol, text, st := th.Status(&s, area.now)
		reason := theme.Kind(s.Fault)
		if reason != "" {
			reason = " · " + reason
		}
		rest := reason + " · " + theme.Line(filepath.Base(s.Project)) + " · " + theme.Age(s.Updated, area.now)
		line := "   " + st.Paint(symbol+" "+theme.Fit(text, 20)) + theme.Line(s.Title) + th.Dim.Paint(rest)
		lines = append(lines, theme.Cut(line, area.width-1))
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines[:height]
}

// composerHint stands in the empty composer.
func (vs *sessionViews) composerHint() string {
	v := vs.shown()
	switch {
	case v != nil && v.state.PartOf != "" && !v.state.Live():
		return locale.T("this step is not at work; %s", backToPlan())
	case v != nil && v.state.Live() && len(v.state.Queue) > 0:
		back := locale.T("%s takes it back", keys.Label(keys.TakeBack))
		if v.state.RunsPlan || !v.waitsForEnd() {
			return back
		}
		return locale.T("%s sends it %s; %s", keys.EmptyDraft.Label(keys.Steer), v.soon(), back)
	case v != nil && v.state.Live():
		return locale.T("write ahead: it is sent when this turn is done")
	case v != nil && v.state.Status == session.Parked:
		return locale.T("what you write is held behind the parked turn")
	}
	return locale.T("what is to be done?   %s file   %s command   %s commands", keys.Label(keys.Mention),
		keys.Label(keys.Shell), keys.Label(keys.CommandName))
}
