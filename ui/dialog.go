package ui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/palette"
	"belay/ui/theme"
)

// dialog is a part that lies over the transcript, or stands beside it, and has
// the keyboard while it is open.
type dialog interface {
	// key takes a key by its name, and the text that it types. Pasted text has
	// no name.
	key(name, text string) action
	view(f frame) box
}

// panel is a dialog that stands beside the transcript where there is room.
type panel interface {
	dialog
	beside(f frame) []string
}

// What some dialogs do besides.
type (
	// loader reads what it shows when it is opened.
	loader interface{ opened() tea.Cmd }
	// updater takes what its own commands brought back.
	updater interface{ update(msg tea.Msg) action }
	// interrupter decides what ctrl+c means, which otherwise closes it.
	interrupter interface{ interrupt() action }
	scroller    interface{ scroll(lines int) }
	themed      interface{ setTheme(th *theme.Theme) }
	// follower belongs to the session in view, which is another one now.
	follower interface{ sessionChanged() tea.Cmd }
)

// frame is what a part draws on: the screen, or a column of it.
type frame struct {
	theme   *theme.Theme
	width   int
	height  int
	now     time.Time
	focused bool // the part has the keyboard
}

// box is what a dialog shows, and where it lies on the screen.
type box struct {
	lines  []string
	left   int
	top    int
	cursor *tea.Position // within the box
	page   bool          // a screen of its own, with the lines in its middle
}

// over puts a box over the lines of the screen.
func (b box) over(lines []string, width int) {
	for i, line := range b.lines {
		row := b.top + i
		if row >= len(lines) {
			return
		}
		under := lines[row]
		before := theme.Fit(ansi.Truncate(under, b.left, ""), b.left)
		after := ansi.TruncateLeft(under, b.left+theme.Width(line), "")
		lines[row] = before + "\x1b[m" + line + after
	}
}

// centred is a screen of its own, with the words in its middle.
func (b box) centred(area frame, version string) []string {
	lines := make([]string, area.height)
	widest := 0
	for _, l := range b.lines {
		widest = max(widest, theme.Width(l))
	}
	left := strings.Repeat(" ", max((area.width-widest)/2, 2))
	start := max((area.height-len(b.lines))/3, 2)
	lines[0] = " " + area.theme.Accent.Paint("belay") + area.theme.Dim.Paint(" "+version)
	for i, l := range b.lines {
		if start+i < area.height {
			lines[start+i] = left + l
		}
	}
	return lines
}

// panelBox is a panel where there is no room beside the transcript.
func panelBox(f frame, draw func(f frame) []string) box {
	f.height -= 5
	return box{lines: draw(f), top: 2}
}

// commandDialog is the palette: every command, found by its name or its words.
type commandDialog struct{ pane *palette.Pane }

func (d commandDialog) key(name, text string) action {
	switch d.pane.Key(name, text) {
	case palette.Close:
		return closeDialog{}
	case palette.Choose:
		item, _ := d.pane.Chosen()
		return together{closeDialog{}, command{keys.Action(item.ID), d.pane.Arguments()}}
	}
	return nil
}

func (d commandDialog) view(f frame) box { return paletteBox(f, d.pane) }

// promptDialog is the list of earlier prompts.
type promptDialog struct{ pane *palette.Pane }

func (d promptDialog) key(name, text string) action {
	switch d.pane.Key(name, text) {
	case palette.Close:
		return closeDialog{}
	case palette.Choose:
		item, _ := d.pane.Chosen()
		return together{closeDialog{}, setDraft{item.ID}}
	}
	return nil
}

func (d promptDialog) view(f frame) box { return paletteBox(f, d.pane) }

func paletteBox(f frame, pane *palette.Pane) box {
	width := min(f.width-4, 84)
	if f.width < 92 {
		width = f.width // slivers of text beside a box only distract
	}
	lines, x, y := pane.View(width, min(f.height-5, 20))
	return box{lines: lines, left: (f.width - width) / 2, top: 2, cursor: &tea.Position{X: x, Y: y}}
}

// helpDialog is the table of keys.
type helpDialog struct{ page palette.Help }

func (d *helpDialog) key(name, _ string) action {
	if d.page.Key(name) {
		return closeDialog{}
	}
	return nil
}

func (d *helpDialog) scroll(lines int) { d.page.Scroll(max(-1, min(lines, 1))) }

func (d *helpDialog) view(f frame) box {
	return box{lines: d.page.View(f.theme, f.width, f.height-2), top: 1}
}

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
	return warningBox(f, "these sessions are at work", func(width int) []string {
		th := f.theme
		var lines []string
		for _, v := range d.views.list() {
			if v.state.Live() && v.state.PartOf == "" {
				symbol, status, st := th.Status(&v.state)
				title := theme.Cut(theme.Line(v.state.Title), width-14)
				lines = append(lines, st.Paint(symbol+" "+theme.Fit(status, 10))+" "+title)
			}
		}
		hint := keys.LeaveDialog.Hint
		return append(lines, "", th.Keys(hint("park all and leave", keys.ParkAll), hint("stop all and leave", keys.StopAll),
			hint("stay", keys.Close)))
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
	return warningBox(area, "this session is open elsewhere", func(width int) []string {
		o, hint := d.owner, keys.TakeOverDialog.Hint
		who := "a belay (" + theme.Line(o.Program) + ", process " + theme.Count(int64(o.PID)) + " on " +
			theme.Line(o.Host) + ") has written to it since " + theme.At(o.Since) + "."
		lines := theme.Wrap(who, width)
		takeover := "If you take it over, that one stops writing; nothing that is saved gets lost."
		lines = append(lines, theme.Wrap(takeover, width)...)
		return append(lines, "", area.theme.Keys(hint("take over", keys.TakeOver), hint("leave it", keys.Close)))
	})
}

func warningBox(f frame, title string, content func(width int) []string) box {
	width := min(f.width-4, 76)
	lines := f.theme.Box(f.theme.Warn.Paint(title), content(width-4), width, f.theme.Warn)
	return box{lines: lines, left: (f.width - width) / 2, top: max(f.height/4, 2)}
}

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
	lines := []string{th.Bad.Paint("belay cannot go on"), ""}
	lines = append(lines, theme.Wrap(theme.Plain(d.err.Error()), room)...)
	if h := session.ErrorHint(d.err); h != "" {
		lines = append(lines, "")
		for _, l := range theme.Wrap(theme.Plain(h), room) {
			lines = append(lines, th.Dim.Paint(l))
		}
	}
	return box{lines: append(lines, "", th.Keys(keys.FailurePage.Hint("leave", keys.Quit))), page: true}
}
