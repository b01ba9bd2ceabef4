package ui

import (
	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// leaveDialog asks what becomes of the sessions that are at work.
type leaveDialog struct{ views *sessionViews }

func (d leaveDialog) key(name, _ string) action {
	switch keys.LeaveDialog.Action(name) {
	case keys.ParkAll:
		return leaveAll{session.Park{}}
	case keys.StopAll:
		return leaveAll{session.Stop{}}
	case keys.Close:
		return closeDialog{}
	}
	return nil
}

func (d leaveDialog) interrupt() action { return leaveAll{session.Park{}} }

func (d leaveDialog) view(f frame) box {
	return warningBox(f, locale.T("these sessions are at work"), func(width int) []string {
		th := f.theme
		var lines []string
		for _, v := range d.views.list() {
			if v.state.Live() && v.state.PartOf == "" {
				symbol, status, st := th.Status(&v.state, f.now)
				title := theme.Cut(theme.Line(v.state.Title), width-14)
				lines = append(lines, st.Paint(symbol+" "+theme.Fit(status, 10))+" "+title)
			}
		}
		hint := keys.LeaveDialog.Hint
		ways := th.KeyLines(width, 2, hint("park all and leave", keys.ParkAll), hint("stop all and leave", keys.StopAll),
			hint("stay", keys.Close))
		return append(append(lines, ""), ways...)
	})
}

// takeoverDialog says which other belay writes to a session.
type takeoverDialog struct {
	id    session.ID
	owner session.Owner
}

func (d takeoverDialog) key(name, _ string) action {
	switch keys.TakeOverDialog.Action(name) {
	case keys.TakeOver:
		return together{closeDialog{}, openSession{d.id, true}}
	case keys.Close:
		return closeDialog{}
	}
	return nil
}

func (d takeoverDialog) view(area frame) box {
	return warningBox(area, locale.T("this session is open elsewhere"), func(width int) []string {
		o, hint := d.owner, keys.TakeOverDialog.Hint
		who := locale.T("a belay (%s, process %d on %s) has written to it since %s.", locale.T(theme.Line(o.Program)), o.PID,
			theme.Line(o.Host), theme.At(o.Since))
		lines := theme.Wrap(who, width)
		takeover := locale.T("If you take it over, that one stops writing; nothing that is saved gets lost.")
		lines = append(lines, theme.Wrap(takeover, width)...)
		return append(lines, "", area.theme.Keys(hint("take over", keys.TakeOver), hint("leave it", keys.Close)))
	})
}

func warningBox(f frame, title string, content func(width int) []string) box {
	width := min(f.width-4, 76)
	lines := f.theme.Box(f.theme.Warn.Paint(title), content(width-4), width, f.theme.Warn)
	return box{lines: lines, left: (f.width - width) / 2, top: max(f.height/4, 2)}
}
