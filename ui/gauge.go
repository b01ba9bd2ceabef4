package ui

import (
	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/capacity"
	"belay/ui/keys"
	"belay/ui/theme"
)

// gauge is the capacity panel while it is open.
type gauge struct {
	pane    capacity.Pane
	loading bool
	again   bool // something changed while it was being loaded
}

// gaugeMsg brings a new state of all models.
type gaugeMsg struct {
	view capacity.View
	err  error
}

// besideFrom is from how many columns on a panel stands beside the transcript.
const besideFrom = 120

// toggleGauge opens or closes the capacity panel.
func (m *Model) toggleGauge() tea.Cmd {
	if m.layer == gauging {
		m.layer = none
		return nil
	}
	if m.o.Capacity == nil || m.engine == nil {
		return nil
	}
	m.layer = gauging
	return m.loadGauge()
}

// loadGauge reads the state, one reading at a time.
func (m *Model) loadGauge() tea.Cmd {
	if m.layer != gauging {
		return nil
	}
	if m.gauge.loading {
		m.gauge.again = true
		return nil
	}
	m.gauge.loading = true
	ctx, load := m.ctx, m.o.Capacity
	return func() tea.Msg {
		view, err := load(ctx)
		return gaugeMsg{view, err}
	}
}

func (m *Model) gauged(msg gaugeMsg) tea.Cmd {
	m.gauge.loading = false
	if msg.err != nil {
		return m.say("capacity: " + msg.err.Error())
	}
	m.gauge.pane.Set(msg.view, m.pinned())
	if m.gauge.again {
		m.gauge.again = false
		return m.loadGauge()
	}
	return nil
}

func (m *Model) pinned() models.Target {
	if r := m.room(); r != nil {
		return r.s.PinnedTarget
	}
	return models.Target{}
}

// gaugeKey gives a key to the panel. Keys that work everywhere go on working.
func (m *Model) gaugeKey(name string) tea.Cmd {
	row, ok := m.gauge.pane.Chosen()
	switch name {
	case "esc":
		m.layer = none
	case "up", "k":
		m.gauge.pane.Move(-1)
	case "down", "j":
		m.gauge.pane.Move(1)
	case "enter":
		if !ok {
			return nil
		}
		target := row.Target
		if target == m.pinned() {
			target = models.Target{}
		}
		return tea.Sequence(m.do(session.PinTarget{Target: target}), m.loadGauge())
	case "i":
		if !ok {
			return nil
		}
		engine, ctx, c := m.engine, m.ctx, session.DisableTarget{Target: row.Target, Disabled: row.State != models.Disabled}
		return tea.Sequence(func() tea.Msg { return didMsg{err: engine.Do(ctx, "", c)} }, m.loadGauge())
	case "d":
		return m.runTool("doctor")
	case "r":
		return m.runTool("stats")
	default:
		if a := keys.Global(name); a != "" {
			cmd, _ := m.act(a)
			return cmd
		}
	}
	return nil
}

// runTool runs one of belay's own commands and shows what it printed.
func (m *Model) runTool(name string) tea.Cmd {
	m.layer = none
	if m.o.RunTool == nil {
		return nil
	}
	run, ctx := m.o.RunTool, m.ctx
	return tea.Batch(m.say("belay "+name+" is running …"), func() tea.Msg {
		out, err := run(ctx, name)
		return shellMsg{"belay " + name, out, err}
	})
}

// side is how many columns a panel takes beside the transcript.
func (m *Model) side() int {
	if m.layer != gauging && m.layer != weighing && m.layer != stepping || m.width < besideFrom {
		return 0
	}
	return min(max(m.width/2, 60), 110)
}

// beside puts the panel to the right of the transcript's lines.
func (m *Model) beside(lines []string) []string {
	side := m.side()
	if side == 0 {
		return lines
	}
	var box []string
	switch m.layer {
	case weighing:
		box = m.scales.pane.View(m.theme, side, len(lines))
	case stepping:
		box = m.stepsView(side, len(lines))
	default:
		box = m.gauge.pane.View(m.theme, side, len(lines), m.o.Now())
	}
	for i := range lines {
		lines[i] = theme.Fit(lines[i], m.width-side)
		if i < len(box) {
			lines[i] += box[i]
		}
	}
	return lines
}
