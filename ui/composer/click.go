package composer

import (
	"strings"

	"belay/ui/theme"
)

// promptWidth is the cells before the draft.
const promptWidth = 3

// Place puts the cursor of the draft where a click is, in cells of View.
func (p *Pane) Place(column, row int) {
	if p.Empty() {
		return
	}
	p.Focus(true)
	p.toRow(min(max(row-len(p.popupRows()), 0), p.area.Height()-1))
	info := p.area.LineInfo()
	line := []rune(strings.Split(p.area.Value(), "\n")[p.area.Line()])
	end := len(line)
	if info.RowOffset+1 < info.Height { // behind it is the beginning of the next row
		end = min(end, info.StartColumn+info.Width-1)
	}
	at := info.StartColumn
	for x := promptWidth; at < end; at++ {
		if x += theme.Width(string(line[at])); column < x {
			break
		}
	}
	p.area.SetCursorColumn(at)
	p.updatePopup()
}

// toRow moves the cursor to a row of those that are shown.
func (p *Pane) toRow(row int) {
	for range p.maxRows {
		cursor := p.area.Cursor()
		switch {
		case cursor == nil || cursor.Y == row:
			return
		case cursor.Y < row:
			p.area.CursorDown()
		default:
			p.area.CursorUp()
		}
	}
}

// Wheel scrolls the list of completions, or a draft that is longer than its place; it
// reports whether there is either in a row of View.
func (p *Pane) Wheel(row, lines int) bool {
	down := lines > 0
	if rows := len(p.popupRows()); rows > 0 && row < rows {
		by := -1
		if down {
			by = 1
		}
		p.movePopup(by)
		return true
	}
	if !p.focused || p.Empty() || p.area.Height() < p.maxRows {
		return false
	}
	if down {
		p.toRow(p.area.Height() - 1)
	} else {
		p.toRow(0)
	}
	for range max(lines, -lines) {
		if down {
			p.area.CursorDown()
		} else {
			p.area.CursorUp()
		}
	}
	return true
}
