package composer

import (
	"path"
	"regexp"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"belay/ui/keys"
	"belay/ui/theme"
)

const maxPopup = 6

// SetFiles gives the paths that can be mentioned.
func (p *Pane) SetFiles(files []string) {
	p.files = files
	p.updatePopup()
}

// Mentioning reports whether a file is being named, so that the list of files
// is needed.
func (p *Pane) Mentioning() bool {
	_, ok := p.mention()
	return ok
}

// Popup reports whether the mention list is open.
func (p *Pane) Popup() bool { return len(p.popup) > 0 }

// ClosePopup closes the mention list.
func (p *Pane) ClosePopup() { p.popup = nil }

// mention is the word after the @ before the cursor.
func (p *Pane) mention() (word string, ok bool) {
	lines := strings.Split(p.area.Value(), "\n")
	row := p.area.Line()
	if row >= len(lines) {
		return "", false
	}
	runes := []rune(lines[row])
	before := string(runes[:min(p.area.Column(), len(runes))])
	at := strings.LastIndexByte(before, '@')
	if at < 0 || at > 0 && !strings.ContainsRune(" (\t", rune(before[at-1])) {
		return "", false
	}
	word = before[at+1:]
	return word, !strings.ContainsAny(word, " \t:")
}

func (p *Pane) updatePopup() {
	p.popup, p.popupAt = nil, 0
	word, ok := p.mention()
	if !ok || len(p.files) == 0 {
		return
	}
	if word == "" {
		p.popup = p.files[:min(maxPopup, len(p.files))]
		return
	}
	for _, m := range fuzzy.Find(word, p.files) {
		if m.Str == word {
			p.popup = nil
			return
		}
		if p.popup = append(p.popup, m.Str); len(p.popup) == maxPopup {
			break
		}
	}
}

// PopupKey handles a key of the mention list, if that is open.
func (p *Pane) PopupKey(name string) bool {
	if len(p.popup) == 0 {
		return false
	}
	switch keys.Mentioning.Action(name) {
	case keys.Up:
		p.popupAt = (p.popupAt + len(p.popup) - 1) % len(p.popup)
	case keys.Down:
		p.popupAt = (p.popupAt + 1) % len(p.popup)
	case keys.Accept:
		word, _ := p.mention()
		file := p.popup[p.popupAt]
		for range []rune(word) {
			p.area, _ = p.area.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
		}
		p.area.InsertString(file + " ")
		p.popup = nil
	default:
		return false
	}
	return true
}

func (p *Pane) popupRows() []string {
	rows := make([]string, 0, len(p.popup))
	for i, f := range p.popup {
		f = theme.CutLeft(theme.Line(f), p.width-6)
		if i == p.popupAt {
			rows = append(rows, p.theme.Selected.Over(theme.Fit("   "+p.theme.Accent.Paint("@")+f, p.width)))
			continue
		}
		rows = append(rows, "   "+p.theme.Dim.Paint("@"+f))
	}
	return rows
}

var mentioned = regexp.MustCompile(`(?:^|[\s(])@([^\s@()]+)`)

// Pictures lists the images that a text mentions.
func Pictures(text string) []string {
	var out []string
	for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
		switch strings.ToLower(path.Ext(m[1])) {
		case ".png", ".jpg", ".jpeg", ".gif", ".webp":
			out = append(out, m[1])
		}
	}
	return out
}
