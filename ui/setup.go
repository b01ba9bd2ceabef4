package ui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/ui/theme"
)

// firstStart is the screen of the first start: the question of trust, then the
// three ways to a model.
type firstStart struct {
	ask     *Setup
	trust   bool
	entry   bool // a key is being pasted
	key     []rune
	local   bool // the list of endpoints is open
	found   []Local
	at      int
	looking bool
	busy    bool
	problem string
}

// setupMsg ends a step of the setup; localMsg brings the endpoints found.
type (
	setupMsg struct {
		trust  bool
		toast  string
		banner string
		err    error
	}
	localMsg struct {
		found []Local
		err   error
	}
)

// look searches this computer for endpoints, so that the list is there when it
// is asked for.
func (m *Model) look() tea.Cmd {
	ask := m.first.ask
	if ask.Local == nil || !ask.Key {
		return nil
	}
	m.first.looking = true
	ctx := m.ctx
	return func() tea.Msg {
		found, err := ask.Local(ctx)
		return localMsg{found, err}
	}
}

func (m *Model) setupStep(msg setupMsg) tea.Cmd {
	m.first.busy = false
	if msg.err != nil {
		m.first.problem = msg.err.Error() + wayOut(msg.err)
		return nil
	}
	if msg.trust {
		m.first.trust = false
		if m.first.ask.Key {
			return nil
		}
	}
	m.first.busy = true
	if msg.banner != "" {
		m.o.Banner = msg.banner
	}
	cmd := m.connect()
	if msg.toast != "" {
		return tea.Batch(cmd, m.say(msg.toast))
	}
	return cmd
}

func (f *firstStart) paste(s string) {
	if f.entry {
		f.key = append(f.key, []rune(theme.Line(s))...)
	}
}

// stage runs one step of the setup.
func (m *Model) stage(trust bool, work func(ctx context.Context) (string, error)) tea.Cmd {
	m.first.busy, m.first.problem = true, ""
	ctx := m.ctx
	return func() tea.Msg {
		toast, err := work(ctx)
		return setupMsg{trust: trust, toast: toast, err: err}
	}
}

func (m *Model) setupKey(name, text string) tea.Cmd {
	f := &m.first
	if f.busy {
		return nil
	}
	switch {
	case f.trust:
		if (name == "y" || name == "n") && f.ask.Answer != nil {
			answer := f.ask.Answer
			return m.stage(true, func(ctx context.Context) (string, error) { return "", answer(ctx, name == "y") })
		}
	case f.entry:
		return m.secretKey(name, text)
	case f.local:
		return m.localKey(name)
	case name == "1" && f.ask.SaveKey != nil:
		f.entry, f.problem = true, ""
	case name == "2" && f.ask.Local != nil:
		f.local, f.problem = true, ""
	case name == "3" && f.ask.Rehearse != nil:
		rehearse := f.ask.Rehearse
		ctx := m.ctx
		f.busy, f.problem = true, ""
		return func() tea.Msg {
			banner, err := rehearse(ctx)
			return setupMsg{banner: banner, err: err}
		}
	case name == "q", name == "esc":
		return tea.Quit
	}
	return nil
}

func (m *Model) secretKey(name, text string) tea.Cmd {
	f := &m.first
	switch {
	case name == "esc":
		f.entry, f.key = false, nil
	case name == "backspace":
		if len(f.key) > 0 {
			f.key = f.key[:len(f.key)-1]
		}
	case name == "ctrl+u":
		f.key = nil
	case name == "enter":
		key := strings.TrimSpace(string(f.key))
		if key == "" {
			return nil
		}
		f.key = nil
		save := f.ask.SaveKey
		return m.stage(false, func(ctx context.Context) (string, error) {
			where, err := save(ctx, key)
			if err != nil {
				return "", err
			}
			return "the key is kept in " + where, nil
		})
	case text != "":
		f.key = append(f.key, []rune(text)...)
	}
	return nil
}

func (m *Model) localKey(name string) tea.Cmd {
	f := &m.first
	switch name {
	case "esc":
		f.local = false
	case "up":
		f.at = max(f.at-1, 0)
	case "down":
		f.at = min(f.at+1, max(len(f.found)-1, 0))
	case "r":
		return m.look()
	case "enter":
		if f.at < len(f.found) && f.ask.Use != nil {
			l, use := f.found[f.at], f.ask.Use
			return m.stage(false, func(ctx context.Context) (string, error) { return "", use(ctx, l) })
		}
	}
	return nil
}

// view gives the lines of the screen's body.
func (f *firstStart) view(th *theme.Theme, width int) []string {
	if f.ask == nil {
		return nil
	}
	room := min(width-8, 76)
	var lines []string
	add := func(s ...string) { lines = append(lines, s...) }
	prose := func(s string) {
		for _, l := range theme.Wrap(s, room) {
			add(th.Dim.Paint(l))
		}
	}
	switch {
	case f.trust:
		add(th.Strong.Paint("Do you trust this folder?"), "", theme.CutLeft(theme.Visible(f.ask.Trust), room), "")
		prose("If you do, its settings (.belay.toml) and its instructions for agents (AGENTS.md) are read. If you do not, belay works here without them. You are asked once.")
		add("", th.Keys("y", "trust it", "n", "work without"))
	case f.entry:
		add(th.Strong.Paint("Paste your "+theme.Line(f.ask.KeyFor)+" key"), "")
		shown := strings.Repeat("•", min(len(f.key), room-4))
		add(th.Accent.Paint("› ")+shown+th.Accent.Paint("▏"), "")
		prose("It is kept in the system's keyring, or in a file that only you can read. It is never shown and never logged.")
		add("", th.Keys("enter", "keep it", "esc", "back"))
	case f.local:
		add(th.Strong.Paint("Models on this computer"), "")
		add(f.locals(th, room)...)
		add("", th.Keys("enter", "use it", "r", "look again", "esc", "back"))
	default:
		add(th.Strong.Paint("belay needs a model to work with."), "")
		option := func(n, title, below string) {
			add(th.Key.Paint(n) + "  " + title)
			for _, l := range theme.Wrap(below, room-3) {
				add("   " + th.Dim.Paint(l))
			}
			add("")
		}
		option("1", "Paste a key", "for "+theme.Line(f.ask.KeyFor)+", or set its variable and start again")
		option("2", "Use a model on this computer", f.localWords())
		option("3", "Rehearse", "a scripted model inside belay: everything works, no account needed")
		add(th.Keys("1 2 3", "choose", "q", "leave"))
	}
	if f.problem != "" {
		add("")
		for _, l := range theme.Wrap("✗ "+theme.Plain(f.problem), room) {
			add(th.Bad.Paint(l))
		}
	}
	if f.busy {
		add("", th.Dim.Paint("one moment …"))
	}
	return lines
}

func (f *firstStart) localWords() string {
	switch {
	case f.looking:
		return "looking on the usual ports …"
	case len(f.found) == 0:
		return "none answers on the usual ports (Ollama, llama.cpp, LM Studio, vLLM)"
	}
	var names []string
	for _, l := range f.found {
		names = append(names, theme.Line(l.Name)+" with "+theme.Plural(len(l.Models), "model"))
	}
	return strings.Join(names, ", ")
}

func (f *firstStart) locals(th *theme.Theme, room int) []string {
	if len(f.found) == 0 {
		return []string{th.Dim.Paint(f.localWords())}
	}
	var lines []string
	for i, l := range f.found {
		head := fmt.Sprintf("%s  %s", theme.Line(l.Name), th.Dim.Paint(theme.Line(l.URL)))
		lead := "  "
		if i == f.at {
			lead = th.Accent.Paint("❯ ")
		}
		lines = append(lines, lead+theme.Cut(head, room-2))
		lines = append(lines, "  "+th.Dim.Paint(theme.Cut(theme.Line(strings.Join(l.Models, ", ")), room-2)))
	}
	return lines
}
