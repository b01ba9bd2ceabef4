package ui

import (
	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/steps"
	"belay/ui/transcript"
)

// wayBack is the layer of the checkpoints.
type wayBack struct {
	pane *steps.Rewind
	of   session.ID // whose they are
	step int        // the one that is gone back to before; 0: chosen from the list
	busy bool
}

// What the library knows of the way back, and what came of going it.
type (
	checkpointsMsg struct {
		id   session.ID
		list []session.Checkpoint
		err  error
	}
	previewMsg struct {
		id   session.ID
		view session.Preview
		err  error
	}
	rewoundMsg struct {
		id  session.ID
		err error
	}
)

// rewind lists the checkpoints of the session in view, or of its plan.
func (m *Model) rewind() tea.Cmd { return m.rewindTo(0) }

// rewindTo shows what going back to before a step would do.
func (m *Model) rewindTo(step int) tea.Cmd {
	r := m.whole()
	if m.o.Checkpoints == nil || m.o.Preview == nil || r == nil {
		return m.say("there is nothing to go back to yet")
	}
	m.release()
	m.back = wayBack{pane: steps.NewRewind(m.theme, transcript.Diff), of: r.s.ID, step: step}
	m.layer = rewinding
	ctx, load, id := m.ctx, m.o.Checkpoints, r.s.ID
	return func() tea.Msg {
		list, err := load(ctx, id)
		return checkpointsMsg{id, list, err}
	}
}

func (m *Model) checkpoints(msg checkpointsMsg) tea.Cmd {
	if m.layer != rewinding || msg.id != m.back.of {
		return nil
	}
	if msg.err != nil {
		m.leaveRewind()
		return m.complain(msg.err)
	}
	m.back.pane.Set(msg.list)
	if m.back.step == 0 {
		return nil
	}
	if !m.back.pane.Before(m.back.step) {
		m.leaveRewind()
		return m.say("there is no checkpoint before this step")
	}
	return m.preview()
}

// preview asks what the chosen rewind would do.
func (m *Model) preview() tea.Cmd {
	c, ok := m.back.pane.Chosen()
	if !ok {
		return nil
	}
	m.back.pane.Open()
	ctx, load, id := m.ctx, m.o.Preview, m.back.of
	return func() tea.Msg {
		v, err := load(ctx, id, c.Seq)
		return previewMsg{id, v, err}
	}
}

func (m *Model) previewed(msg previewMsg) tea.Cmd {
	if m.layer != rewinding || msg.id != m.back.of {
		return nil
	}
	if msg.err != nil {
		m.back.pane.Close()
		return m.complain(msg.err)
	}
	m.back.pane.Show(msg.view)
	return nil
}

// leaveRewind closes the layer; one that was opened from the steps goes back to
// them.
func (m *Model) leaveRewind() {
	m.layer = none
	if m.back.step > 0 {
		m.openSteps()
	}
}

func (m *Model) rewindKey(name string) tea.Cmd {
	p := m.back.pane
	switch name {
	case "esc":
		if p.Opened() && m.back.step == 0 {
			p.Close()
			return nil
		}
		m.leaveRewind()
	case "enter":
		if !p.Opened() {
			return m.preview()
		}
	case "k":
		return m.forkThere()
	case "b":
		return m.goThere(true, true)
	case "f":
		return m.goThere(false, true)
	case "c":
		return m.goThere(true, false)
	default:
		p.Key(name)
	}
	return nil
}

// forkThere begins another session with what this one was at a checkpoint. The
// files stay as they are.
func (m *Model) forkThere() tea.Cmd {
	c, ok := m.back.pane.Chosen()
	r := m.rooms[m.back.of]
	if !ok || r == nil {
		return nil
	}
	m.layer = none
	return m.forkAt(r.s, max(c.Seq, 1))
}

// goThere rewinds to what the preview shows, unless files have changed since.
func (m *Model) goThere(talk, files bool) tea.Cmd {
	v, ok := m.back.pane.Shown()
	if !ok || m.back.busy || m.engine == nil {
		return nil
	}
	if files && v.Checkpoint.Tree == "" {
		m.back.pane.Problem("the files were not kept at this checkpoint: c goes back in the conversation")
		return nil
	}
	m.back.busy = true
	engine, ctx, id := m.engine, m.ctx, m.back.of
	c := session.Rewind{To: v.Checkpoint.Seq, Conversation: talk, Files: files, ExpectTree: v.Now}
	return func() tea.Msg { return rewoundMsg{id, engine.Do(ctx, id, c)} }
}

// rewound closes the layer, or says why nothing happened and compares anew.
func (m *Model) rewound(msg rewoundMsg) tea.Cmd {
	if msg.id != m.back.of {
		return nil
	}
	m.back.busy = false
	if msg.err == nil {
		if m.layer == rewinding {
			m.leaveRewind()
			m.enter(msg.id)
		}
		return m.say("taken back; /undo rewind brings it back")
	}
	if m.layer != rewinding {
		return m.complain(msg.err)
	}
	m.back.pane.Problem(msg.err.Error() + wayOut(msg.err))
	return m.preview()
}

// unrewind brings back what the last rewind took.
func (m *Model) unrewind() tea.Cmd {
	r := m.whole()
	if r == nil {
		return m.say("nothing was taken back")
	}
	return m.doAt(r.s.ID, session.UndoRewind{})
}
