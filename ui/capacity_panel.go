package ui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/capacity"
	"belay/ui/keys"
	"belay/ui/locale"
)

// capacityPanel shows how all models are doing, pins the session to one of them
// and sets them aside.
type capacityPanel struct {
	pane    capacity.Pane
	views   *sessionViews
	backend *backend
	load    func(ctx context.Context, id session.ID) (capacity.View, error)
	runTool func(ctx context.Context, command ...string) (string, error) // may be nil

	loading bool
	again   bool // something changed while it was being loaded
}

// capacityMsg brings a new state of all models.
type capacityMsg struct {
	view capacity.View
	err  error
}

func (p *capacityPanel) opened() tea.Cmd { return p.refresh() }

// refresh reads the state, one reading at a time.
func (p *capacityPanel) refresh() tea.Cmd {
	if p.loading {
		p.again = true
		return nil
	}
	p.loading = true
	ctx, load, id := p.backend.ctx, p.load, p.views.current
	return func() tea.Msg {
		view, err := load(ctx, id)
		return capacityMsg{view, err}
	}
}

// loaded takes a new state. It is read again if the panel is open and something
// changed meanwhile.
func (p *capacityPanel) loaded(msg capacityMsg, open bool) action {
	p.loading = false
	if msg.err != nil {
		return message{locale.T("capacity: %s", locale.Said(msg.err.Error()))}
	}
	p.pane.Set(msg.view, p.views.pinnedTarget())
	if !p.again {
		return nil
	}
	p.again = false
	if !open {
		return nil
	}
	return work{p.refresh()}
}

func (p *capacityPanel) key(name, _ string) action {
	row, chosen := p.pane.Chosen()
	switch a := keys.CapacityPanel.Action(name); a {
	case keys.Close:
		return closeDialog{}
	case keys.Up:
		p.pane.Move(-1)
	case keys.Down:
		p.pane.Move(1)
	case keys.PinModel:
		if !chosen {
			return nil
		}
		target := row.Target
		if target == p.views.pinnedTarget() {
			target = models.Target{}
		}
		return inSequence{send{command: session.PinTarget{Target: target}}, work{p.refresh()}}
	case keys.SetAside:
		if !chosen {
			return nil
		}
		disable := session.DisableTarget{Target: row.Target, Disabled: row.State != models.Disabled}
		return inSequence{sendTo{command: disable}, work{p.refresh()}}
	case keys.Doctor:
		return p.tool("doctor")
	case keys.Record:
		return p.tool("stats")
	default:
		return unhandled{}
	}
	return nil
}

// tool runs one of belay's own commands and shows what it printed.
func (p *capacityPanel) tool(name string) action {
	if p.runTool == nil {
		return closeDialog{}
	}
	run, ctx := p.runTool, p.backend.ctx
	return together{closeDialog{}, message{runsText("belay " + name)}, work{func() tea.Msg {
		out, err := run(ctx, name)
		return shellMsg{"belay " + name, out, err}
	}}}
}

func (p *capacityPanel) list() (items, string) {
	return &p.pane, keys.CapacityPanel.Press(keys.PinModel)
}

func (p *capacityPanel) view(f frame) box { return panelBox(f, p.beside) }

func (p *capacityPanel) beside(f frame) []string {
	return p.pane.View(f.theme, f.width, f.height, f.now)
}
