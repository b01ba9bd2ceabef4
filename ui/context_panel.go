package ui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/meter"
)

// contextPanel shows what the next request is made of, and leads to what makes
// it smaller. It also knows the sizes of the requests of all sessions by belay's
// own count, whether it is open or not.
type contextPanel struct {
	pane    meter.Pane
	views   *sessionViews
	backend *backend
	load    func(ctx context.Context, id session.ID) (session.ContextUsage, error) // may be nil

	loading session.ID
	again   session.ID // something changed while one was being loaded
}

// contextMsg brings what the next request of a session would be made of.
type contextMsg struct {
	id    session.ID
	usage session.ContextUsage
	err   error
}

// opened begins with the session in view.
func (p *contextPanel) opened() tea.Cmd {
	p.pane.Clear()
	return p.refresh(p.views.current)
}

func (p *contextPanel) sessionChanged() tea.Cmd { return p.opened() }

// refresh asks what a session's next request would be made of, one at a time.
func (p *contextPanel) refresh(id session.ID) tea.Cmd {
	if p.load == nil || p.views.get(id) == nil {
		return nil
	}
	if p.loading != "" {
		p.again = id
		return nil
	}
	p.loading = id
	ctx, load := p.backend.ctx, p.load
	return func() tea.Msg {
		usage, err := load(ctx, id)
		return contextMsg{id, usage, err}
	}
}

func (p *contextPanel) loaded(msg contextMsg, open bool) action {
	p.loading = ""
	shown := open && msg.id == p.views.current
	if v := p.views.get(msg.id); v != nil && msg.err == nil {
		v.usage = msg.usage
		if shown {
			p.pane.Set(msg.usage, v.state)
		}
	}
	if id := p.again; id != "" {
		p.again = ""
		return work{p.refresh(id)}
	}
	if shown && msg.err != nil {
		return together{closeDialog{}, complaint{msg.err}}
	}
	return nil
}

// follow counts a session's next request again after records that changed its
// size, if anybody sees it: in the panel, or in the status line while no provider
// has counted.
func (p *contextPanel) follow(view *sessionView, records []session.Record, open bool) action {
	shown := open && view.state.ID == p.views.current
	for _, r := range records {
		switch e := r.Event.(type) {
		case session.ContextMeasured:
			view.usage = e.Usage
		case session.Noted: // the panel may lie over it
			if shown {
				return message{e.Text}
			}
		case session.Pruned, session.Restored, session.Compacted, session.TurnStarted, session.TurnEnded:
			if view.state.ContextTokens == 0 || shown {
				return work{p.refresh(view.state.ID)}
			}
		case session.NotePinned, session.ReplyEnded, session.ToolEnded, session.TargetPinned, session.TierChosen:
			if shown {
				return work{p.refresh(view.state.ID)}
			}
		}
	}
	return nil
}

func (p *contextPanel) key(name, _ string) action {
	view := p.views.shown()
	switch a := keys.ContextPanel.Action(name); a {
	case keys.Close:
		return closeDialog{}
	case keys.Compact, keys.Trim, keys.Restore, keys.Slim:
		return command{name: a}
	case keys.PinNote:
		return together{closeDialog{}, borrow{entry: noteEntry{}, from: p}}
	case keys.FocusPaths:
		if view == nil {
			return nil
		}
		return together{closeDialog{}, borrow{focusEntry{}, strings.Join(view.state.Focus, " "), p}}
	case keys.Handoff:
		return together{closeDialog{}, borrow{entry: handoffEntry{}, from: p}}
	}
	return unhandled{}
}

func (p *contextPanel) view(f frame) box { return panelBox(f, p.beside) }

func (p *contextPanel) beside(f frame) []string { return p.pane.View(f.theme, f.width, f.height) }
