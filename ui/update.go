package ui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"belay/session"
	"belay/ui/theme"
)

// What commands bring back.
type (
	connectedMsg struct {
		branch  string
		engine  Engine
		library Library
		setup   *Setup
		err     error
	}
	openedMsg struct {
		id      session.ID // what was asked for; empty: a new one
		s       session.Session
		records []session.Record
		err     error
		behind  bool // not asked for by the person: it stays out of view
	}
	pageMsg struct {
		id      session.ID
		records []session.Record
		err     error
	}
	didMsg struct {
		err    error
		serial bool
		toast  string
	}
	listMsg struct {
		list []session.Session
		err  error
	}
	offerMsg struct{ list []session.Session }
	hitsMsg  struct {
		query string
		hits  []session.Hit
	}
	filesMsg   struct{ files []string }
	promptsMsg struct{ prompts []string }
	draftMsg   struct {
		path string
		err  error
		plan bool // it is the plan of a large task
	}
	editedMsg struct {
		text string
		err  error
		plan bool
	}
	shellMsg struct {
		command, output string
		err             error
	}
	tickMsg  struct{}
	toastOff struct{ text string }
)

// Update routes a message; what it means is decided in the methods it calls.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.dirty = true
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return m, m.then(m.key(msg))
	case tea.PasteMsg:
		return m, m.then(m.paste(msg.Content))
	case feedMsg:
		return m, m.then(m.records(msg.records))
	case tickMsg:
		return m, m.tick()
	case tea.WindowSizeMsg:
		first := !m.sized
		m.width, m.height, m.sized = msg.Width, msg.Height, true
		if first && m.layer == stepping && m.plan.away {
			m.letGo()
		}
	case tea.MouseWheelMsg:
		return m, m.then(m.wheel(msg))
	case tea.MouseClickMsg:
		if !m.covered() && msg.Button == tea.MouseLeft {
			m.transcript().Click(msg.Y - 2)
		}
	case tea.FocusMsg:
		m.blurred = false
	case tea.BlurMsg:
		m.blurred = true
	case tea.BackgroundColorMsg:
		m.dark = msg.IsDark()
		m.setTheme()
	case tea.ColorProfileMsg:
		m.profile = msg.Profile
		m.setTheme()
	default:
		return m, m.then(m.result(msg))
	}
	return m, nil
}

// then adds the clock, if anything on the screen moves by itself.
func (m *Model) then(cmd tea.Cmd) tea.Cmd { return tea.Batch(cmd, m.clock()) }

// result takes in what a command brought back.
func (m *Model) result(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case connectedMsg:
		return m.connected(msg)
	case openedMsg:
		return m.opened(msg)
	case pageMsg:
		if r := m.rooms[msg.id]; r != nil {
			r.paging = false
			if msg.err != nil {
				return m.say("older messages: " + msg.err.Error())
			}
			r.pane.Prepend(msg.records, len(msg.records) > 0 && msg.records[0].Seq > 1, r.s.RewoundSpans...)
		}
	case didMsg:
		return m.did(msg)
	case listMsg:
		if msg.err != nil {
			return m.say("sessions: " + msg.err.Error())
		}
		if m.picker != nil {
			m.picker.Set(m.withLive(msg.list))
		}
	case offerMsg:
		m.offered = msg.list
	case hitsMsg:
		if m.picker != nil {
			m.picker.Found(msg.query, msg.hits)
		}
	case filesMsg:
		m.composer.SetFiles(msg.files)
	case promptsMsg:
		m.composer.SetHistory(msg.prompts)
	case draftMsg:
		if msg.err != nil {
			return m.say("editor: " + msg.err.Error())
		}
		return m.runEditor(msg.path, msg.plan)
	case editedMsg:
		if msg.err != nil {
			return m.say("editor: " + msg.err.Error())
		}
		if msg.plan {
			return m.wrotePlan(msg.text)
		}
		m.composer.Set(msg.text)
	case shellMsg:
		out := msg.output
		if msg.err != nil {
			out += "\n" + msg.err.Error()
		}
		m.transcript().Ran(msg.command, out, msg.err != nil)
	case gaugeMsg:
		return m.gauged(msg)
	case weightMsg:
		return m.weighed(msg)
	case plannedMsg:
		return m.took(msg)
	case checkpointsMsg:
		return m.checkpoints(msg)
	case previewMsg:
		return m.previewed(msg)
	case rewoundMsg:
		return m.rewound(msg)
	case setupMsg:
		return m.setupStep(msg)
	case localMsg:
		m.first.found, m.first.looking = msg.found, false
		if msg.err != nil {
			m.first.problem = msg.err.Error()
		}
	case toastOff:
		if m.toast == msg.text {
			m.toast = ""
		}
	case feedLost:
		m.layer, m.fault = broken, fmt.Errorf("the engine stopped: %w", msg.err)
	}
	return nil
}

// records takes in what the engine published.
func (m *Model) records(records []session.Record) tea.Cmd {
	var cmds []tea.Cmd
	for len(records) > 0 {
		id, n := records[0].Session, 1
		for n < len(records) && records[n].Session == id {
			n++
		}
		part := records[:n]
		records = records[n:]
		if id == "" { // of no session: some target's state changed, or an alert
			m.refreshTiers()
			cmds = append(cmds, m.alerts(part)...)
			continue
		}
		r := m.rooms[id]
		if r == nil || r.loading {
			m.early = append(m.early, part...)
			if r == nil && !m.starting && !m.opening[id] && m.books != nil {
				// The engine goes on with a session by itself: get to know it.
				m.opening[id] = true
				cmds = append(cmds, m.reload(id, true))
			}
			continue
		}
		needed, was := r.s.NeedsYou(), r.s.Plan
		r.apply(part)
		if r.torn {
			r.loading = true
			cmds = append(cmds, m.reload(id, false))
			continue
		}
		if m.engine != nil {
			r.tiers = m.engine.Tiers(id)
			r.pane.SetNames(r.tiers)
		}
		if words := callsFor(part, &r.s, needed); words != "" {
			cmds = append(cmds, m.notify(&r.s, words))
		}
		cmds = append(cmds, m.reweigh(id, part), m.stepped(r, was, part))
		if m.picker != nil {
			m.picker.Live(r.s)
		}
	}
	m.ask()
	if m.focus == boxed && (m.room() == nil || m.room().wait == nil) {
		m.release()
	}
	return tea.Batch(cmds...)
}

// callsFor says for what a person is called, if these records call for one.
func callsFor(part []session.Record, s *session.Session, needed bool) string {
	if !needed && s.NeedsYou() {
		return "needs you"
	}
	for _, r := range part {
		e, ok := r.Event.(session.TurnEnded)
		if !ok || e.Outcome != session.OutcomeFailed || s.PartOf != "" { // its plan says so
			continue
		}
		switch why := theme.Kind(e.Fault); {
		case e.Reason != "":
			return theme.Line(e.Reason)
		case why != "":
			return "failed: " + why
		}
		return "failed"
	}
	return ""
}

// notify calls a person who is looking elsewhere.
func (m *Model) notify(s *session.Session, what string) tea.Cmd {
	if !m.blurred || m.o.Quiet {
		return nil
	}
	words := theme.Cut(m.stepName(s), 60)
	if words == "" {
		words = "a session"
	}
	if what != "needs you" {
		words += ":"
	}
	return tea.Raw(ansi.Notify("belay: "+words+" "+theme.Cut(what, 120)) + "\a")
}

// alerts tells of what stands out in the record.
func (m *Model) alerts(part []session.Record) (cmds []tea.Cmd) {
	for _, r := range part {
		a, ok := r.Event.(session.Alerted)
		if !ok {
			continue
		}
		if a.Screen {
			m.transcript().Note(theme.Sanitize(a.Text))
			cmds = append(cmds, m.say(a.Text))
		}
		if a.Desktop && !m.o.Quiet {
			cmds = append(cmds, tea.Raw(ansi.Notify("belay: "+theme.Line(a.Text))))
		}
	}
	return cmds
}

// clock starts the ticking if something on the screen moves by itself.
func (m *Model) clock() tea.Cmd {
	if m.ticking {
		return nil
	}
	d := m.pace()
	if d == 0 {
		return nil
	}
	m.ticking = true
	return tea.Tick(d, func(time.Time) tea.Msg { return tickMsg{} })
}

func (m *Model) pace() time.Duration {
	if m.layer == gauging {
		return time.Second
	}
	if r := m.room(); r != nil {
		d := r.ticks(m.o.Now())
		if whole := m.whole(); whole != nil {
			for _, x := range []*room{whole, m.working(whole)} { // the panel, or the line at the bottom, shows them
				if x != nil && x != r {
					d = sooner(d, x.ticks(m.o.Now()))
				}
			}
		}
		return d
	}
	for _, c := range m.tiers {
		if c.Until.After(m.o.Now()) {
			return time.Second
		}
	}
	return 0
}

// sooner is the shorter of two paces; 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

func (m *Model) tick() tea.Cmd {
	m.ticking = false
	m.transcript().Tick()
	m.refreshTiers()
	return tea.Batch(m.clock(), m.loadGauge())
}

// say shows passing words; the next key or a few seconds take them away.
func (m *Model) say(words string) tea.Cmd {
	words = theme.Line(words)
	m.toast = words
	return tea.Tick(6*time.Second, func(time.Time) tea.Msg { return toastOff{words} })
}

func (m *Model) did(msg didMsg) tea.Cmd {
	var next tea.Cmd
	if msg.serial {
		m.busy = false
		next = m.pump()
	}
	if msg.err != nil {
		return tea.Batch(next, m.complain(msg.err))
	}
	if msg.toast != "" {
		return tea.Batch(next, m.say(msg.toast))
	}
	return next
}

// complain shows an error and the way out of it that it knows.
func (m *Model) complain(err error) tea.Cmd {
	short := strings.TrimPrefix(err.Error(), fmt.Sprintf("session %s: ", m.current)) // it is on the screen
	m.transcript().Note(theme.Sanitize(short + wayOut(err)))
	return m.say(short)
}

// wayOut is the hint of an error, to be put behind its words.
func wayOut(err error) string {
	if h := session.ErrorHint(err); h != "" {
		return " — " + h
	}
	return ""
}
