package ui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

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
	// refresher shows what goes on elsewhere, and is read anew each second.
	refresher interface{ refresh() tea.Cmd }
	// updater takes what its own commands brought back.
	updater interface{ update(msg tea.Msg) action }
	// interrupter decides what ctrl+c means, which otherwise closes it.
	interrupter interface{ interrupt() action }
	scroller    interface{ scroll(lines int) }
	themed      interface{ setTheme(th *theme.Theme) }
	// lister is a list: a click chooses an item, one on the chosen item is enter.
	lister interface {
		list() (items items, enter string)
	}
	// previewer shows what is under the cursor, as soon as it is there.
	previewer interface{ preview() action }
	// follower belongs to the session in view, which is another one now.
	follower interface{ sessionChanged() tea.Cmd }
)

// items are the rows of a list, of which one is chosen.
type items interface {
	ItemAt(row int) (by int, ok bool) // from the chosen one
	Move(by int)
}

// noItems is a list while something else is shown in its place.
type noItems struct{}

func (noItems) ItemAt(int) (int, bool) { return 0, false }
func (noItems) Move(int)               {}

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
func (b box) over(lines []string) {
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
