// Package composer decides what the person at the keyboard is writing: the
// draft, its attachments, the history behind it, and what enter would do.
package composer

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
	"belay/ui/theme"
)

const (
	maxPlainLines = 12      // pastes of more lines are folded
	maxPlainBytes = 2 << 10 // and so are longer ones
	maxPaste      = 1 << 20 // bytes of one paste that are kept
)

// Pane is where a person writes.
type Pane struct {
	area      textarea.Model
	theme     *theme.Theme
	width     int
	maxRows   int // that the draft may take
	hint      string
	pastes    []paste
	history   []string
	historyAt int    // place in the history; its length: the draft
	unsent    string // what was being written before the history was walked

	borrowed bool           // it holds something other than the draft
	waiting  session.Unsent // the draft meanwhile

	files []string // to mention
	popup popup

	arguments map[keys.Action][]string // what may stand behind the names of commands
	own       []keys.Named             // commands that are not belay's own
	spaced    bool                     // the space before the cursor was put behind a file's name
	focused   bool

	cachedFor  string
	cachedRows []string
}

type paste struct {
	mark, text string
	own        bool // the person wrote it, and it was too long to show
}

// New makes an empty composer.
func New(th *theme.Theme) *Pane {
	p := &Pane{area: textarea.New(), maxRows: 8}
	p.area.ShowLineNumbers = false
	p.area.CharLimit, p.area.MaxWidth = 0, 0
	p.area.DynamicHeight = true
	p.area.MinHeight = 1
	p.area.MaxHeight = p.maxRows
	p.area.MaxContentHeight = 10_000
	p.area.SetVirtualCursor(false)
	p.area.KeyMap.InsertNewline = key.NewBinding(key.WithKeys(keys.Of(keys.NewLine).Keys...))
	p.area.KeyMap.Paste.SetEnabled(false)
	p.area.KeyMap.TransposeCharacterBackward.SetEnabled(false)
	p.area.SetPromptFunc(3, func(info textarea.PromptInfo) string {
		if info.LineNumber == 0 {
			return " › "
		}
		return "   "
	})
	p.SetTheme(th)
	p.Focus(true)
	return p
}

// SetTheme changes the colours.
func (p *Pane) SetTheme(th *theme.Theme) {
	p.theme, p.cachedFor = th, ""
	styles := textarea.DefaultStyles(th.Dark)
	none := lipgloss.NewStyle()
	for _, st := range []*textarea.StyleState{&styles.Focused, &styles.Blurred} {
		st.Base, st.CursorLine, st.Text, st.EndOfBuffer = none, none, none, none
		st.Prompt, st.Placeholder = none, none
		if th.AccentColor != nil {
			st.Prompt = none.Foreground(th.AccentColor).Bold(true)
			st.Placeholder = none.Foreground(th.DimColor)
		}
	}
	if th.AccentColor != nil {
		styles.Blurred.Prompt = none.Foreground(th.DimColor)
		styles.Blurred.Text = none.Foreground(th.DimColor)
	}
	styles.Cursor.Color = nil
	styles.Cursor.Shape = tea.CursorBar
	styles.Cursor.Blink = false
	p.area.SetStyles(styles)
}

// SetSize gives the width in cells and the most rows the draft may take.
func (p *Pane) SetSize(width, rows int) {
	p.width, p.maxRows = width, max(rows, 1)
	p.area.MaxHeight = p.maxRows
	p.area.SetWidth(width - 1)
	p.cachedFor = ""
}

// SetHint gives the words that stand in an empty composer.
func (p *Pane) SetHint(s string) {
	if s != p.hint {
		p.hint, p.cachedFor = s, ""
	}
}

// Focus gives or takes the keyboard.
func (p *Pane) Focus(on bool) {
	if on == p.focused {
		return
	}
	p.focused, p.cachedFor = on, ""
	if on {
		p.area.Focus()
	} else {
		p.area.Blur()
	}
}

// Empty reports whether nothing is written.
func (p *Pane) Empty() bool { return p.area.Length() == 0 }

// Draft is the text as it is shown, with pastes folded.
func (p *Pane) Draft() string { return p.area.Value() }

// Text is the whole text: folded pastes are opened again.
func (p *Pane) Text() string {
	s := p.area.Value()
	for _, f := range p.pastes {
		s = strings.Replace(s, f.mark, f.text, 1)
	}
	return strings.TrimSpace(s)
}

// Set replaces the draft.
func (p *Pane) Set(s string) {
	p.pastes = nil
	p.historyAt = len(p.history)
	p.area.SetValue("")
	p.insert(s, true)
	p.ClosePopup()
	p.area.MoveToEnd()
}

// Unsent is the draft with its folded pastes, also while the composer is borrowed.
func (p *Pane) Unsent() session.Unsent {
	if p.borrowed {
		return p.waiting
	}
	u := session.Unsent{Text: p.area.Value()}
	for _, f := range p.pastes {
		if strings.Contains(u.Text, f.mark) {
			u.Pastes = append(u.Pastes, session.Paste{Mark: f.mark, Text: f.text, Own: f.own})
		}
	}
	return u
}

// SetUnsent brings a draft back as it was.
func (p *Pane) SetUnsent(u session.Unsent) {
	p.Set("")
	p.area.SetValue(theme.Sanitize(u.Text))
	for _, f := range u.Pastes {
		p.pastes = append(p.pastes, paste{f.Mark, theme.Sanitize(f.Text), f.Own})
	}
	p.area.MoveToEnd()
}

// Borrow uses the composer for something other than the draft, which waits.
func (p *Pane) Borrow(text string) {
	p.waiting, p.borrowed = p.Unsent(), true
	p.Set(text)
}

// GiveBack brings the draft back.
func (p *Pane) GiveBack() {
	p.borrowed = false
	p.SetUnsent(p.waiting)
	p.waiting = session.Unsent{}
}

// Borrowed reports whether the composer holds something other than the draft.
func (p *Pane) Borrowed() bool { return p.borrowed }

// Restore replaces the draft by a prompt that was sent.
func (p *Pane) Restore(text string, attached []models.Attachment) {
	p.Set(text)
	for _, a := range attached {
		mark := "[" + a.Name + "]"
		if !strings.Contains(p.area.Value(), mark) {
			p.area.InsertString(" " + mark)
		}
		p.pastes = append(p.pastes, paste{mark: mark, text: a.Text})
	}
}

// Prompt is what would be sent: the text, and apart from it what was pasted. A
// paste that is all there is is the text.
func (p *Pane) Prompt() (text string, attached []models.Attachment) {
	text = strings.TrimSpace(p.area.Value())
	for _, f := range p.pastes {
		switch {
		case f.own || text == f.mark:
			text = strings.TrimSpace(strings.Replace(text, f.mark, f.text, 1))
		case strings.Contains(text, f.mark):
			attached = append(attached, models.Attachment{Name: strings.Trim(f.mark, "[]"), Text: f.text})
		}
	}
	return text, attached
}

// Clear empties the composer; the text goes into the history.
func (p *Pane) Clear() {
	if t := p.Text(); t != "" {
		p.Remember(t)
	}
	p.Set("")
}

// Remember adds a prompt to the history, unless it is the last one already.
func (p *Pane) Remember(s string) {
	if n := len(p.history); n == 0 || p.history[n-1] != s {
		p.history = append(p.history, s)
	}
	p.historyAt = len(p.history)
}

// SetHistory gives the prompts of earlier days, oldest first.
func (p *Pane) SetHistory(prompts []string) {
	p.history = append(append([]string(nil), prompts...), p.history...)
	p.historyAt = len(p.history)
}

// History is all known prompts, oldest first.
func (p *Pane) History() []string { return p.history }

// Paste inserts pasted text. A long one is folded to a mark that stands for it.
func (p *Pane) Paste(s string) { p.insert(s, false) }

func (p *Pane) insert(text string, typed bool) {
	text = theme.Sanitize(strings.ReplaceAll(text, "\r\n", "\n"))
	lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	if lines <= maxPlainLines && len(text) <= maxPlainBytes {
		p.area.InsertString(text)
		p.updatePopup()
		return
	}
	what := theme.Plural(lines, "line")
	if lines < 3 {
		what = theme.Count(int64(len(text))) + "B"
	}
	if len(text) > maxPaste {
		text = strings.ToValidUTF8(text[:maxPaste], "")
		what += ", the first 1 MB"
	}
	mark := "[pasted " + what + "]"
	for n := 2; strings.Contains(p.area.Value(), mark); n++ {
		mark = fmt.Sprintf("[pasted %s #%d]", what, n)
	}
	p.pastes = append(p.pastes, paste{mark, text, typed})
	p.area.InsertString(mark)
}

// Type inserts text as if typed.
func (p *Pane) Type(s string) {
	p.area.InsertString(s)
	p.updatePopup()
}

// Key handles one key of the draft: editing, history, the mention list.
func (p *Pane) Key(msg tea.KeyPressMsg) {
	name := msg.String()
	if p.PopupKey(name) {
		return
	}
	p.joinRange(msg.Text)
	switch keys.Composing.Action(name) {
	case keys.Up:
		if p.area.Line() == 0 && p.area.LineInfo().RowOffset == 0 {
			p.walkHistory(-1)
			return
		}
	case keys.Down:
		if p.area.Line() == p.area.LineCount()-1 && p.historyAt < len(p.history) {
			p.walkHistory(1)
			return
		}
	case keys.DeleteBack:
		if p.removeFold() {
			return
		}
	}
	p.area, _ = p.area.Update(msg)
	p.updatePopup()
}

// walkHistory goes through the history, whose end is the draft.
func (p *Pane) walkHistory(by int) {
	to := p.historyAt + by
	if to < 0 || to > len(p.history) {
		return
	}
	if p.historyAt == len(p.history) {
		p.unsent = p.area.Value()
	}
	text := p.unsent
	if to < len(p.history) {
		text = p.history[to]
	}
	pastes := p.pastes
	p.Set(text)
	p.historyAt = to
	if to == len(p.history) {
		p.pastes = pastes
	}
}

// removeFold removes the mark of a paste as a whole, when the cursor is behind it.
func (p *Pane) removeFold() bool {
	value := p.area.Value()
	for i, f := range p.pastes {
		if strings.HasSuffix(value, f.mark) && p.atEnd() {
			p.pastes = append(p.pastes[:i:i], p.pastes[i+1:]...)
			p.area.SetValue(strings.TrimSuffix(value, f.mark))
			p.area.MoveToEnd()
			return true
		}
	}
	return false
}

// AtSpace reports whether the cursor stands where a word can begin.
func (p *Pane) AtSpace() bool {
	before := p.beforeCursor()
	return before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "\t")
}

func (p *Pane) atEnd() bool {
	lines := strings.Split(p.area.Value(), "\n")
	return p.area.Line() == len(lines)-1 && p.area.Column() == len([]rune(lines[len(lines)-1]))
}

// Height is the number of rows that View takes.
func (p *Pane) Height() int { return p.area.Height() + len(p.popupRows()) }

// View gives the rows of the draft, with the mention list above it.
func (p *Pane) View() []string {
	return append(p.popupRows(), p.draftRows()...)
}

func (p *Pane) draftRows() []string {
	if p.Empty() {
		prompt := p.theme.Accent.Paint(" › ")
		if !p.focused {
			prompt = p.theme.Dim.Paint(" › ")
		}
		return []string{prompt + p.theme.Dim.Paint(theme.Cut(p.hint, p.width-4))}
	}
	// Laying a long draft out costs more than everything else in a frame.
	k := fmt.Sprint(p.area.Line(), p.area.Column(), p.area.ScrollYOffset(), p.area.Height(), "\x00", p.area.Value())
	if k != p.cachedFor {
		p.cachedFor, p.cachedRows = k, strings.Split(p.area.View(), "\n")
	}
	return p.cachedRows
}

// Cursor is the position of the cursor within View, and whether it shows.
func (p *Pane) Cursor() (x, y int, ok bool) {
	if !p.focused {
		return 0, 0, false
	}
	c := p.area.Cursor()
	if c == nil {
		return 0, 0, false
	}
	return c.X, c.Y + len(p.popupRows()), true
}

// Resized reports whether SetSize would change anything.
func (p *Pane) Resized(width, rows int) bool { return p.width != width || p.maxRows != rows }
