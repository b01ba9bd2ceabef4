package ui

import (
	"errors"
	"slices"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/keys"
)

func (m *Model) connect() tea.Cmd {
	o, ctx := m.o, m.ctx
	return func() tea.Msg {
		msg := connectedMsg{engine: o.Engine, library: o.Library, setup: o.Setup}
		if o.Connect != nil {
			msg.engine, msg.library, msg.setup, msg.err = o.Connect(ctx)
		}
		if o.Branch != nil {
			msg.branch = o.Branch(ctx)
		}
		return msg
	}
}

func (m *Model) connected(msg connectedMsg) tea.Cmd {
	if msg.err != nil {
		m.layer, m.fault = broken, msg.err
		return nil
	}
	if msg.setup != nil {
		m.layer = setup
		m.first = firstStart{ask: msg.setup, trust: msg.setup.Trust != ""}
		return m.look()
	}
	if m.layer == setup {
		m.layer = none
	}
	if msg.engine == nil {
		return nil
	}
	m.engine, m.books, m.branch = msg.engine, msg.library, msg.branch
	select {
	case m.ready <- msg.engine:
	default: // the feed has its engine
	}
	m.refreshTiers()
	cmds := []tea.Cmd{m.loadPrompts(), m.pump()}
	switch {
	case m.o.Open != "":
		if m.o.GoOn {
			m.goOn = m.o.Open
		}
		cmds = append(cmds, m.open(m.o.Open, false))
	case m.o.Picker:
		cmds = append(cmds, m.pick())
	case m.o.Prompt == "":
		cmds = append(cmds, m.offer())
	default:
		cmds = append(cmds, m.do(m.begin()))
	}
	if len(m.after) > 0 && !m.starting && m.o.Open == "" {
		cmds = append(cmds, m.start())
	}
	return tea.Batch(cmds...)
}

// begin is what the prompt that the screen opens with asks for, once.
func (m *Model) begin() session.Command {
	p := session.Prompt{ID: m.o.NewID(), Text: m.o.Prompt}
	m.o.Prompt = ""
	if m.o.Split {
		return session.PlanTask{Prompt: p, Start: true}
	}
	return session.Send{Prompt: p}
}

// mostOffered is how many sessions the first screen offers to go on with.
const mostOffered = 3

// offer looks for sessions that stand still and could go on.
func (m *Model) offer() tea.Cmd {
	books, ctx := m.books, m.ctx
	return func() tea.Msg {
		list, err := books.List(ctx, session.Filter{Limit: 200})
		if err != nil {
			return offerMsg{} // the list of sessions says why
		}
		list = slices.DeleteFunc(list, func(s session.Session) bool {
			switch s.Status {
			case session.Parked, session.Interrupted, session.Asking, session.NeedsPerson:
				return false
			}
			return true
		})
		return offerMsg{list[:min(len(list), mostOffered)]}
	}
}

// takeOffer opens the first session that was offered, and goes on with it.
func (m *Model) takeOffer() tea.Cmd {
	m.goOn = m.offered[0].ID
	return m.open(m.goOn, false)
}

func (m *Model) loadPrompts() tea.Cmd {
	if m.o.Prompts == nil {
		return nil
	}
	ctx, load := m.ctx, m.o.Prompts
	return func() tea.Msg { return promptsMsg{load(ctx)} }
}

// open makes a session ours and reads the end of its log.
func (m *Model) open(id session.ID, takeover bool) tea.Cmd {
	if m.engine == nil || m.opening[id] {
		return nil
	}
	if m.rooms[id] != nil {
		m.enter(id)
		return nil
	}
	m.opening[id] = true
	engine, books, ctx := m.engine, m.books, m.ctx
	return func() tea.Msg {
		s, err := engine.Open(ctx, id, takeover)
		if err != nil {
			return openedMsg{id: id, err: err}
		}
		records, err := books.Records(ctx, s.ID, s.LastSeq+1, tailRecords, tailBytes)
		return openedMsg{id, s, records, err, false}
	}
}

// reload reads a session again whose records did not all arrive.
func (m *Model) reload(id session.ID, behind bool) tea.Cmd {
	books, ctx := m.books, m.ctx
	return func() tea.Msg {
		s, err := books.Load(ctx, id)
		if err != nil {
			return openedMsg{id: id, err: err, behind: behind}
		}
		records, err := books.Records(ctx, id, s.LastSeq+1, tailRecords, tailBytes)
		return openedMsg{id, s, records, err, behind}
	}
}

// start makes a new session; what is to be done in it waits in m.after.
func (m *Model) start() tea.Cmd { return m.startIn(m.o.Project) }

func (m *Model) startIn(project string) tea.Cmd {
	if m.engine == nil || m.starting {
		return nil
	}
	m.starting = true
	engine, ctx := m.engine, m.ctx
	return func() tea.Msg {
		s, err := engine.Start(ctx, project)
		return openedMsg{s: s, err: err}
	}
}

func (m *Model) opened(msg openedMsg) tea.Cmd {
	again := m.rooms[msg.id] != nil && msg.id != ""
	delete(m.opening, msg.id)
	if msg.id == "" {
		m.starting = false
	}
	if said, ok := m.lost(msg.id, msg.err); ok {
		return said
	}
	if msg.err != nil {
		var o interface{ Owner() session.Owner }
		if errors.As(msg.err, &o) {
			m.layer, m.taken, m.takeID = owned, o.Owner(), msg.id
			return nil
		}
		if msg.id == "" {
			m.giveBack()
		}
		return m.complain(msg.err)
	}
	r := m.adopt(msg.s, msg.records)
	m.early = slices.DeleteFunc(m.early, func(rec session.Record) bool {
		if rec.Session == msg.s.ID {
			r.apply([]session.Record{rec})
			return true
		}
		return false
	})
	r.torn = false
	if len(m.opening) == 0 && !m.starting {
		m.early = nil
	}
	if again || msg.behind {
		m.arrived(msg.s.ID)
		m.ask()
		return nil
	}
	m.layer = none
	m.enter(msg.s.ID)
	var cmds []tea.Cmd
	if r.s.Turn > 0 && r.s.ContextTokens == 0 {
		cmds = append(cmds, m.weigh(msg.s.ID))
	}
	if msg.id == "" {
		for _, c := range m.after {
			cmds = append(cmds, m.inOrder(msg.s.ID, c))
		}
		m.after = nil
	}
	if msg.s.ID == m.goOn {
		m.goOn = ""
		if r.stuck() {
			if r.s.Plan != nil && r.s.Plan.Started {
				m.accompany()
			}
			cmds = append(cmds, m.doAt(msg.s.ID, session.Resume{}))
		}
	}
	return tea.Batch(cmds...)
}

// giveBack returns prompts that found no session to the composer.
func (m *Model) giveBack() {
	for _, c := range m.after {
		if !m.composer.Empty() {
			continue
		}
		switch c := c.(type) {
		case session.Send:
			m.composer.Restore(c.Prompt.Text, c.Prompt.Attachments)
		case session.PlanTask:
			m.composer.Restore("/"+keys.Name(keys.Steps)+" "+c.Prompt.Text, c.Prompt.Attachments)
		}
	}
	m.after = nil
}
