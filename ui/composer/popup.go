package composer

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

const maxPopup = 6

// popup is the list over the draft that completes what is being written: the name of a
// command, or of a file.
type popup struct {
	rows     []completion
	at       int // the row under the cursor; -1: none
	commands bool
	whole    bool // the rows are commands with what stands behind their names
}

// completion is a row of the list.
type completion struct {
	text   string // with its / or @
	detail string
}

// Popup reports whether the list is open.
func (p *Pane) Popup() bool { return len(p.popup.rows) > 0 }

// ClosePopup closes the list.
func (p *Pane) ClosePopup() { p.popup = popup{} }

func (p *Pane) updatePopup() {
	p.popup = popup{}
	if p.borrowed {
		return
	}
	if name, ok := p.commandName(); ok {
		p.popup = commandPopup(name, p.own)
		return
	}
	if a, typed, ok := p.argument(); ok {
		p.popup = argumentPopup(keys.Label(a), typed, p.arguments[a])
		return
	}
	word, ok := p.mention()
	if !ok || len(p.files) == 0 {
		return
	}
	for _, file := range p.matchingFiles(word) {
		p.popup.rows = append(p.popup.rows, completion{text: "@" + file})
	}
}

// commandName is the beginning of a command's name, while that is all there is.
func (p *Pane) commandName() (name string, ok bool) {
	value := p.area.Value()
	name, ok = strings.CutPrefix(value, "/")
	return name, ok && !strings.ContainsAny(name, " \t\n") && p.beforeCursor() == value
}

// commandPopup offers commands. Only one whose name begins with what was typed is
// under the cursor by itself: enter must not call what nobody meant.
func commandPopup(typed string, own []keys.Named) popup {
	list := popup{commands: true, at: -1}
	for i, c := range keys.Matching(typed) {
		if i == 0 && c.Begins && typed != "" {
			list.at = 0
		}
		if len(list.rows) == maxPopup && typed != "" {
			break
		}
		list.rows = append(list.rows, completion{strings.TrimSpace("/" + c.Name + " " + c.Arguments), locale.T(c.Does)})
	}
	for _, c := range own {
		if strings.HasPrefix(c.Name, strings.ToLower(typed)) {
			row := completion{"/" + c.Name, locale.T(c.Does)}
			if typed != "" && list.at < 0 { // nothing of belay's own begins so
				list.rows, list.at = slices.Insert(list.rows, 0, row), 0
				continue
			}
			list.rows = append(list.rows, row)
		}
	}
	return list
}

// SetOwn gives the commands that are not belay's own.
func (p *Pane) SetOwn(list []keys.Named) {
	p.own = list
	p.updatePopup()
}

// SetArguments gives what may stand behind the name of a command.
func (p *Pane) SetArguments(a keys.Action, list []string) {
	if p.arguments == nil {
		p.arguments = map[keys.Action][]string{}
	}
	p.arguments[a] = list
	p.updatePopup()
}

// Calling is the command whose argument is being written, or "".
func (p *Pane) Calling() keys.Action {
	a, _, _ := p.argument()
	return a
}

// argument is what was typed behind the name of a command, while that is all there is.
func (p *Pane) argument() (a keys.Action, typed string, ok bool) {
	value := p.area.Value()
	if p.borrowed || strings.Contains(value, "\n") || p.beforeCursor() != value {
		return "", "", false
	}
	name, typed, ok := strings.Cut(value, " ")
	if !ok {
		return "", "", false
	}
	a, _, ok = keys.Call(name)
	return a, strings.TrimLeft(typed, " "), ok
}

// argumentPopup offers what may stand behind the name of a command: first what begins
// with what was typed, then what holds it.
func argumentPopup(label, typed string, all []string) popup {
	list := popup{commands: true, whole: true, at: -1}
	typed = strings.ToLower(typed)
	for _, fits := range []func(s, typed string) bool{
		strings.HasPrefix, func(s, typed string) bool { return !strings.HasPrefix(s, typed) && strings.Contains(s, typed) },
	} {
		for _, argument := range all {
			switch lower := strings.ToLower(argument); {
			case lower == typed:
				return popup{} // it is written
			case fits(lower, typed) && len(list.rows) < 8*maxPopup:
				list.rows = append(list.rows, completion{text: label + " " + argument})
			}
		}
	}
	if len(list.rows) > 0 && typed != "" {
		list.at = 0
	}
	return list
}

// beforeCursor is the line of the cursor up to it.
func (p *Pane) beforeCursor() string {
	lines := strings.Split(p.area.Value(), "\n")
	row := p.area.Line()
	if row >= len(lines) {
		return ""
	}
	runes := []rune(lines[row])
	return string(runes[:min(p.area.Column(), len(runes))])
}

// PopupKey handles a key of the list, if that is open. It passes on the enter that
// calls a command.
func (p *Pane) PopupKey(name string) bool {
	if !p.Popup() {
		return false
	}
	part := keys.Mentioning
	if p.popup.commands {
		part = keys.Naming
	}
	switch part.Action(name) {
	case keys.Up:
		p.movePopup(-1)
	case keys.Down:
		p.movePopup(1)
	case keys.Complete:
		p.popup.at = max(p.popup.at, 0)
		p.completeCommand(" ")
	case keys.Accept:
		if !p.popup.commands {
			p.completeFile()
			break
		}
		if p.popup.at >= 0 {
			p.completeCommand("")
		}
		p.ClosePopup()
		return false
	default:
		return false
	}
	return true
}

// ClickPopup completes with a row of the list, if that is one of it.
func (p *Pane) ClickPopup(row int) bool {
	if row < 0 || row >= len(p.popupRows()) {
		return false
	}
	p.popup.at = p.popupTop() + row
	if p.popup.commands {
		p.completeCommand(" ")
	} else {
		p.completeFile()
	}
	return true
}

// popupTop is the first row of the list that is shown.
func (p *Pane) popupTop() int { return max(0, min(p.popup.at-maxPopup/2, len(p.popup.rows)-maxPopup)) }

func (p *Pane) movePopup(by int) {
	n := len(p.popup.rows)
	if p.popup.at < 0 && by < 0 {
		by = 0
	}
	p.popup.at = (p.popup.at + by + n) % n
}

// completeCommand writes the name of the command under the cursor.
func (p *Pane) completeCommand(behind string) {
	name := p.popup.rows[p.popup.at].text
	if !p.popup.whole {
		name, _, _ = strings.Cut(name, " ")
	}
	p.area.SetValue(name + behind)
	p.area.MoveToEnd()
	p.updatePopup()
}

func (p *Pane) completeFile() {
	word, _ := p.mention()
	file := p.popup.rows[p.popup.at].text
	for range []rune(word) {
		p.area, _ = p.area.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	name := strings.TrimPrefix(file, "@")
	if strings.HasSuffix(name, "/") { // its files come next
		p.area.InsertString(name)
		p.updatePopup()
		return
	}
	p.area.InsertString(name + " ")
	p.spaced = true
	p.ClosePopup()
}

// popupRows is the part of the list that there is room for, around the cursor.
func (p *Pane) popupRows() []string {
	all := p.popup.rows
	top := p.popupTop()
	shown := all[top:min(top+maxPopup, len(all))]
	widest := 0
	for _, row := range shown {
		widest = max(widest, theme.Width(row.text))
	}
	rows := make([]string, 0, len(shown))
	for i, row := range shown {
		text := theme.CutLeft(theme.Line(row.text), p.width-6)
		if row.detail != "" {
			text = theme.Fit(text, min(widest, p.width-6))
		}
		detail := theme.Cut("  "+row.detail, max(p.width-6-theme.Width(text), 0))
		if top+i == p.popup.at {
			line := theme.Fit("   "+p.theme.Accent.Paint(text)+p.theme.Dim.Paint(detail), p.width)
			rows = append(rows, p.theme.Selected.Over(line))
			continue
		}
		if row.detail == "" {
			rows = append(rows, "   "+p.theme.Dim.Paint(text))
			continue
		}
		rows = append(rows, "   "+text+p.theme.Dim.Paint(detail))
	}
	return rows
}
