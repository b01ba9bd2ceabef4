package ui

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"belay/models"
	"belay/session"
	"belay/ui/approval"
	"belay/ui/composer"
	"belay/ui/palette"
	"belay/ui/sessions"
	"belay/ui/theme"
	"belay/ui/transcript"
)

// layer is what lies over the transcript and takes the keys.
type layer int

const (
	none layer = iota
	commands
	prompts
	help
	picking
	leaving
	owned // another belay has the session
	setup
	broken   // nothing works: say why and leave
	gauging  // the capacity panel
	weighing // the context panel
	stepping // the steps panel
	rewinding
)

// focus is which part of the main screen takes the keys.
type focus int

const (
	writing   focus = iota // the composer
	asked                  // the question about a call
	boxed                  // the box of a wait
	choosing               // tool calls in the transcript
	finding                // words in the transcript
	editing                // the composer holds an edited call; from here on it is borrowed
	naming                 // the composer holds a new title
	noting                 // the composer holds a note to keep
	aiming                 // the composer holds paths to focus on
	handing                // the composer holds the task of a new session
	splitting              // the composer holds a task to be cut into steps
	shaping                // the composer holds a step of the plan
	adding                 // the composer holds a new step
)

// Model is the whole screen. It routes messages to its panes and to the
// engine; what happens in the engine comes back through the feed.
type Model struct {
	o      Options
	ctx    context.Context
	ready  chan Engine
	engine Engine
	books  Library
	branch string

	width, height int
	sized         bool // by the terminal
	theme         *theme.Theme
	themeName     string
	dark          bool
	profile       colorprofile.Profile
	blurred       bool // the terminal is not looked at

	rooms    map[session.ID]*room
	order    []session.ID
	current  session.ID
	opening  map[session.ID]bool
	starting bool
	early    []session.Record // of sessions that are being opened
	after    []session.Command
	tiers    []models.Condition // of a session that does not exist yet
	blank    *transcript.Pane   // shown before there is a session
	offered  []session.Session  // stand still; shown before there is a session
	goOn     session.ID         // is resumed as soon as it is open

	composer *composer.Pane
	question *approval.Pane
	picker   *sessions.Pane
	palette  *palette.Pane
	help     palette.Help
	first    firstStart
	gauge    gauge
	scales   scales
	plan     plan
	back     wayBack
	going    going

	layer  layer
	focus  focus
	find   string
	finds  int
	told   bool           // that the draft makes a large request
	hints  []session.Hint // about the draft
	kept   string         // the draft while the composer holds something else
	toast  string
	fault  error
	taken  session.Owner
	takeID session.ID

	armed      time.Time // first ctrl+c
	ending     bool      // the last frame must not claim to be at work
	ticking    bool
	serial     []job
	busy       bool
	mentioning bool // a file is being named

	dirty  bool
	cached tea.View
}

// job is work that must not overtake earlier work.
type job func(ctx context.Context) tea.Msg

// New makes the screen. It does no I/O: everything is opened after Init.
func New(o Options) *Model {
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Model{
		o: o, ctx: context.Background(), ready: make(chan Engine, 1),
		width: 80, height: 24, dark: true, profile: colorprofile.TrueColor, themeName: o.Theme,
		rooms: map[session.ID]*room{}, opening: map[session.ID]bool{},
		dirty: true,
	}
	m.theme = theme.New(o.Theme, true, m.profile)
	m.blank = transcript.New(m.theme, o.Now)
	m.composer = composer.New(m.theme)
	m.question = approval.New(m.theme, o.Now, transcript.Diff)
	return m
}

// Init asks the terminal for its background and opens the engine.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, m.connect())
}

// room is the session in view, or nil.
func (m *Model) room() *room { return m.rooms[m.current] }

// transcript is what is in view.
func (m *Model) transcript() *transcript.Pane {
	if r := m.room(); r != nil {
		return r.pane
	}
	return m.blank
}

// conditions are the tiers of the session in view.
func (m *Model) conditions() []models.Condition {
	if r := m.room(); r != nil {
		return r.tiers
	}
	return m.tiers
}

func (m *Model) refreshTiers() {
	if m.engine == nil {
		return
	}
	if r := m.room(); r != nil {
		r.tiers = m.engine.Tiers(m.current)
		r.pane.SetNames(r.tiers)
		return
	}
	m.tiers = m.engine.Tiers("")
}

// enter makes a session the one in view. Drafts stay with their sessions.
func (m *Model) enter(id session.ID) {
	if id == m.current {
		return
	}
	m.release()
	if r := m.room(); r != nil {
		r.draft = m.composer.Text()
	}
	m.told = false
	leftBlank := m.current == ""
	m.current = id
	r := m.room()
	switch {
	case r == nil:
		m.composer.Set("")
	case r.draft != "" || !leftBlank:
		m.composer.Set(r.draft)
	}
	m.refreshTiers()
	m.ask()
}

// adopt makes a room of an opened session.
func (m *Model) adopt(s session.Session, records []session.Record) *room {
	r := m.rooms[s.ID]
	if r == nil {
		r = &room{pane: transcript.New(m.theme, m.o.Now)}
		m.rooms[s.ID] = r
		m.order = append(m.order, s.ID)
	}
	r.s, r.torn, r.loading, r.paging = s, false, false, false
	if m.engine != nil {
		r.tiers = m.engine.Tiers(s.ID)
		r.pane.SetNames(r.tiers)
	}
	more := len(records) > 0 && records[0].Seq > 1
	if s.Plan != nil {
		r.pane.SetSteps(len(s.Plan.Steps))
	}
	r.pane.Load(records, more, s.RewoundSpans...)
	r.checkpoints(records)
	switch s.Status {
	case session.Running:
		r.doing = "working"
	case session.Asking:
		r.doing = "waiting for you"
	}
	return r
}

// ask brings the question of the session in view up, or takes it away.
func (m *Model) ask() {
	var open []session.Approval
	if r := m.room(); r != nil {
		open = r.s.PendingApprovals
	}
	before := m.question.Asked().CallID
	m.question.Ask(open)
	switch {
	case len(open) == 0 && (m.focus == asked || m.focus == editing):
		m.release()
	case len(open) > 0 && m.question.Asked().CallID != before && m.focus != finding && !m.borrowing():
		m.release()
		m.focus = asked
	}
	m.composer.Focus(m.focus == writing || m.borrowing())
}

// release gives the keys back to the composer, with the draft that was there.
func (m *Model) release() {
	if m.borrowing() {
		m.composer.Set(m.kept)
		m.kept = ""
	}
	if m.focus == choosing {
		m.transcript().Leave()
	}
	if m.focus == finding {
		m.transcript().Find("")
		m.find = ""
	}
	m.focus = writing
	m.composer.Focus(true)
}

// borrowing reports whether the composer holds something other than the draft.
func (m *Model) borrowing() bool { return m.focus >= editing }

// borrow uses the composer for something other than the draft.
func (m *Model) borrow(f focus, text string) {
	m.release()
	m.kept = m.composer.Text()
	m.composer.Set(text)
	m.focus = f
	m.composer.Focus(true)
}

// live lists the sessions that run, in the order they were opened.
func (m *Model) live() []session.ID {
	return slices.DeleteFunc(slices.Clone(m.order), func(id session.ID) bool {
		r := m.rooms[id]
		return !r.s.Live() && r.s.Status != session.Parked
	})
}

func (m *Model) setTheme() {
	m.theme = theme.New(m.themeName, m.dark, m.profile)
	m.composer.SetTheme(m.theme)
	m.question.SetTheme(m.theme)
	m.blank.SetTheme(m.theme)
	if m.picker != nil {
		m.picker.SetTheme(m.theme)
	}
	if m.back.pane != nil {
		m.back.pane.SetTheme(m.theme)
	}
	for _, r := range m.rooms {
		r.pane.SetTheme(m.theme)
	}
}

func (m *Model) project() string {
	if r := m.room(); r != nil && r.s.Project != "" {
		return filepath.Base(r.s.Project)
	}
	return filepath.Base(m.o.Project)
}
