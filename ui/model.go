package ui

import (
	"cmp"
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"belay/session"
	"belay/ui/approval"
	"belay/ui/composer"
	"belay/ui/keys"
	"belay/ui/steps"
	"belay/ui/theme"
	"belay/ui/transcript"
)

// Model is the whole screen. It routes messages and keys to its parts and decides
// what the actions mean that they give back. What happens in the engine comes
// back through the feed.
type Model struct {
	options Options
	backend *backend
	ready   chan Engine // hands the engine to the feed
	branch  string      // of the repository
	unheld  string      // what commands are not held to; empty: they are
	open    bool        // nothing holds them

	width  int
	height int
	sized  bool // by the terminal

	// unsized says that nothing is drawn before the terminal has told its size.
	unsized bool
	look    *look

	views    *sessionViews
	opener   *opener
	follower *planFollower
	controls *controls

	// The main screen.
	composer  *composer.Pane
	draft     *draft
	unsent    *unsentDrafts
	approvals *approval.Pane
	focus     *focus
	question  rowSpan // where the box of the approvals was drawn last
	pointer   *pointer

	// What lies over it, or stands beside the transcript.
	dialog   dialog // nil: none is open
	capacity *capacityPanel
	context  *contextPanel
	steps    *stepsPanel
	models   *modelChooser

	handlers map[keys.Action]handler
	notifier notifier
	toast    toast
	leaving  time.Time // when leaving was asked for; it is done when asked for again
	failure  error     // why nothing works any more
	ended    bool      // the last frame must not claim to be at work
	ticking  bool      // a tick is on its way

	pulse  *pulse
	dirty  bool // the screen may have changed since the cached frame
	cached tea.View
}

// look is how the screen is painted.
type look struct {
	name    string            // one of theme.Names
	own     map[string]string // colours of the person's own
	dark    bool              // the terminal's background
	profile colorprofile.Profile
	address func(path string) string // of files; nil: no links
	theme   *theme.Theme
}

func (l *look) refresh() {
	l.theme = theme.New(l.name, l.dark, l.profile, l.own)
	l.theme.Address = l.address
}

// New makes the screen. It does no I/O: everything is opened after Init.
func New(options Options) *Model {
	if options.Now == nil {
		options.Now = time.Now
	}
	screen := &Model{
		options: options,
		backend: &backend{ctx: context.Background(), owners: options.Owners},
		ready:   make(chan Engine, 1),
		width:   80, height: 24,
		look: &look{
			name: cmp.Or(options.Theme, theme.Names()[0].Name), own: options.Colours, address: options.Address,
			dark: true, profile: colorprofile.TrueColor,
		},
		notifier: notifier{Notices: options.Notices, now: options.Now},
		pulse:    &pulse{},
		dirty:    true,
	}
	screen.look.refresh()
	screen.addParts()
	screen.handlers = screen.newHandlers()
	return screen
}

// addParts makes the parts of the screen and joins them.
func (m *Model) addParts() {
	o := m.options
	th := m.look.theme
	now := m.options.Now
	editor := externalEditor{backend: m.backend, command: o.Editor, write: o.EditText, read: o.ReadText}
	m.composer = composer.New(th)
	m.approvals = approval.New(th, now, transcript.Diff)
	m.views = newSessionViews(th, now)
	own := &ownCommands{run: o.RunShell, backend: m.backend}
	m.opener = &opener{views: m.views, backend: m.backend, look: m.look, own: own, now: now,
		ids: map[session.ID]bool{}, wanted: o.Open}
	m.pointer = &pointer{now: now}
	m.focus = &focus{composer: m.composer, approvals: m.approvals, views: m.views}
	m.draft = &draft{
		composer: m.composer, views: m.views, backend: m.backend, editor: editor,
		size: sizeWarning{limit: o.Warn}, newID: o.NewID,
		readImage: o.ReadImage, listFiles: o.ListFiles,
		own: own, copied: o.CopiedPicture,
	}
	m.unsent = &unsentDrafts{
		composer: m.composer, views: m.views, backend: m.backend, project: o.Project,
		stored: map[session.ID]session.Unsent{},
	}
	m.controls = &controls{
		views: m.views, opener: m.opener, backend: m.backend,
		mode: o.Mode, newID: o.NewID, curl: o.Curl, clipboard: o.Clipboard,
	}
	m.capacity = &capacityPanel{views: m.views, backend: m.backend, load: o.Capacity, runTool: o.RunTool}
	m.models = &modelChooser{choice: o.Models, views: m.views, backend: m.backend, look: m.look, now: now}
	m.draft.written.load = o.Written
	m.draft.arguments = map[keys.Action]func() tea.Cmd{keys.Models: m.models.listNames}
	m.context = &contextPanel{views: m.views, backend: m.backend, load: o.Weight}
	m.steps = &stepsPanel{
		pane:  steps.New(transcript.Markdown),
		views: m.views, approvals: m.approvals, now: now, edits: &planEdits{backend: m.backend},
		file: planFile{editor: editor, format: o.PlanText, parse: o.ParsePlan},
	}
	m.follower = &planFollower{views: m.views, opener: m.opener, edits: m.steps.edits}
}

// Init asks the terminal for its background and opens the engine.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, m.backend.connect(m.options))
}

func (m *Model) connected(msg connectedMsg) tea.Cmd {
	if msg.err != nil {
		m.fail(msg.err)
		return nil
	}
	if msg.setup != nil {
		return m.perform(openDialog{newSetupDialog(m.backend.ctx, msg.setup)})
	}
	if _, ok := m.dialog.(*setupDialog); ok {
		m.dialog = nil
	}
	if msg.engine == nil {
		return nil
	}
	m.backend.engine, m.backend.store = msg.engine, msg.library
	m.branch, m.unheld, m.open = msg.branch, msg.unheld, msg.open
	select {
	case m.ready <- msg.engine:
	default: // the feed has its engine
	}
	m.views.refreshTiers(m.backend.engine)
	fresh := m.views.current == "" && m.options.Open == "" && m.options.Prompt == ""
	cmds := []tea.Cmd{m.backend.next(), m.begin(), m.draft.written.read(m.backend.ctx)}
	if fresh {
		cmds = append(cmds, m.unsent.load(""))
	}
	if load, ctx := m.options.Prompts, m.backend.ctx; load != nil {
		cmds = append(cmds, func() tea.Msg { return promptsMsg{load(ctx)} })
	}
	if len(m.opener.pending) > 0 && m.options.Open == "" {
		cmds = append(cmds, m.opener.start(m.options.Project))
	}
	return tea.Batch(cmds...)
}

// fail ends all work; the screen says why.
func (m *Model) fail(err error) { m.dialog, m.failure = failurePage{err}, err }

// begin does what the screen was opened for.
func (m *Model) begin() tea.Cmd {
	options := m.options
	switch {
	case options.Open != "":
		if options.GoOn {
			m.opener.resume = options.Open
		}
		if options.Prompt != "" {
			m.opener.first = firstPrompt{options.Open, session.Prompt{ID: options.NewID(), Text: options.Prompt}}
		}
		return m.perform(openSession{id: options.Open})
	case options.Picker:
		return m.run(keys.Sessions, "")
	case options.Prompt == "":
		return m.backend.unfinished()
	}
	m.options.Prompt = "" // once
	prompt := session.Prompt{ID: options.NewID(), Text: options.Prompt}
	if options.Split {
		return m.do(session.PlanTask{Prompt: prompt, Start: true})
	}
	return m.do(session.Send{Prompt: prompt})
}

// setTheme paints everything anew.
func (m *Model) setTheme() {
	m.look.refresh()
	th := m.look.theme
	m.composer.SetTheme(th)
	m.approvals.SetTheme(th)
	m.views.setTheme(th)
	if d, ok := m.dialog.(themed); ok {
		d.setTheme(th)
	}
}

// switchTo brings a session into view; the empty id begins a new one. Drafts stay
// with their sessions.
func (m *Model) switchTo(id session.ID) {
	if id == m.views.current {
		return
	}
	m.focus.set(nil)
	if v := m.views.shown(); v != nil {
		v.draft = m.composer.Unsent()
	}
	m.draft.size.shown = false
	fromBlank := m.views.current == ""
	m.views.current = id
	v := m.views.shown()
	switch {
	case v == nil:
		m.composer.Set("")
	case !v.draft.Empty() || !fromBlank:
		m.composer.SetUnsent(v.draft)
	}
	m.views.refreshTiers(m.backend.engine)
	m.focus.ask()
}

// isIdle reports whether a person is looking at a session and at nothing else.
func (m *Model) isIdle(id session.ID) bool {
	return m.views.current == id && (m.dialog == nil || m.dialog == m.steps) && m.focus.undisturbed()
}

// covered reports whether a dialog takes the keys in the place of the main screen.
func (m *Model) covered() bool {
	return m.dialog != nil && !(m.dialog == m.steps && m.steps.blurred && m.side() > 0)
}

// minWidthBeside is from how many columns on a panel stands beside the transcript.
const minWidthBeside = 120

// side is how many columns a panel takes beside the transcript.
func (m *Model) side() int {
	if _, ok := m.dialog.(panel); !ok || m.width < minWidthBeside {
		return 0
	}
	return min(max(m.width/2, 60), 110)
}
