package ui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// newEndpoint is a provider that is being added.
type newEndpoint struct {
	provider string // of the catalogue; empty: an address of one's own
	variable string
	address  string // once it was written
	text     []rune
	refused  string
	problem  string
	busy     bool
}

// secret reports whether a key is being written, rather than an address.
func (e *newEndpoint) secret() bool { return e.provider != "" || e.address != "" }

func (d *modelsDialog) entryKey(name, text string) action {
	e := d.entry
	if e.busy {
		return nil
	}
	switch keys.SecretEntry.Action(name) {
	case keys.Close:
		d.entry = nil
	case keys.DeleteBack:
		e.text = e.text[:max(len(e.text)-1, 0)]
	case keys.ClearLine:
		e.text = nil
	case keys.Accept:
		return d.entered()
	default:
		e.text = append(e.text, []rune(theme.Line(text))...)
	}
	return nil
}

// entered takes an address, or a key.
func (d *modelsDialog) entered() action {
	e := d.entry
	text := strings.TrimSpace(string(e.text))
	switch {
	case !e.secret() && text != "":
		e.address, e.text, e.problem = strings.TrimRight(text, "/"), nil, ""
	case e.provider != "" && text != "":
		provider := e.provider
		return d.run(text, func(ctx context.Context) addedMsg {
			where, err := d.choice.SaveKey(ctx, provider, text)
			return addedMsg{provider: provider, said: locale.T("the key is kept in %s", where), err: err}
		}, func(ctx context.Context) error {
			if d.choice.CheckKey == nil {
				return nil
			}
			return d.choice.CheckKey(ctx, provider, text)
		})
	case e.address != "":
		address := e.address
		return d.run(text, func(ctx context.Context) addedMsg {
			name, err := d.choice.AddEndpoint(ctx, address, text)
			return addedMsg{provider: name, said: locale.T("added as %s", name), err: err}
		}, func(ctx context.Context) error { return d.choice.CheckEndpoint(ctx, address, text) })
	}
	return nil
}

// run checks what was entered and keeps it. What was refused is kept all the same when
// it is entered again.
func (d *modelsDialog) run(
	text string, keep func(ctx context.Context) addedMsg, check func(ctx context.Context) error,
) action {
	e, ctx := d.entry, d.backend.ctx
	insists := e.problem != "" && text == e.refused
	e.busy, e.problem = true, ""
	return work{func() tea.Msg {
		if !insists {
			if err := check(ctx); err != nil {
				return addedMsg{refused: text, err: err}
			}
		}
		return keep(ctx)
	}}
}

// entryBox is where an address or a key is written.
func (d *modelsDialog) entryBox(f frame) box {
	th, e := f.theme, d.entry
	width := min(f.width, 84)
	inner := width - 4
	hint := keys.SecretEntry.Hint
	title, shown, below := locale.T("the address of the endpoint"), theme.CutLeft(string(e.text), inner-4),
		locale.T("Up to and including the version, such as http://127.0.0.1:8080/v1")
	if e.secret() {
		title, shown = locale.T("the key of %s", theme.Line(e.provider+e.address)), strings.Repeat("•", min(len(e.text), inner-4))
		below = locale.T("It is checked once, and kept in the system's keyring or a file that only you can read.")
		switch {
		case e.address != "":
			below += " " + locale.T("Leave it empty where none is needed.")
		case e.variable != "":
			below += " " + locale.T("%s in the environment comes first.", theme.Line(e.variable))
		}
	}
	lines := []string{th.Accent.Paint("› ") + shown, ""}
	switch {
	case e.busy:
		lines = append(lines, th.Dim.Paint(locale.T("asking the endpoint …")))
	case e.problem != "":
		for _, l := range theme.Wrap("✗ "+theme.Line(e.problem), inner) {
			lines = append(lines, th.Bad.Paint(l))
		}
	default:
		lines = append(lines, dimmed(th, below, inner)...)
	}
	accept := "go on"
	if e.problem != "" && e.secret() && string(e.text) == e.refused {
		accept = "keep it all the same"
	}
	lines = append(lines, "", th.Keys(hint(accept, keys.Accept), hint("back", keys.Close)))
	return box{
		lines: th.Box(th.Strong.Paint(title), lines, width, th.Faint), left: (f.width - width) / 2, top: 2,
		cursor: &tea.Position{X: 4 + theme.Width(shown), Y: 1},
	}
}
