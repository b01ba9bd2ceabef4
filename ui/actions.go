package ui

import (
	"context"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/composer"
	"belay/ui/keys"
	"belay/ui/sessions"
)

const (
	tailRecords = 200       // read when a session opens, and for each older page
	tailBytes   = 256 << 10 //
)

// do carries a command out at once, ahead of anything that waits.
func (m *Model) do(c session.Command) tea.Cmd {
	if m.room() == nil {
		m.after = append(m.after, c)
		return m.start()
	}
	return m.doAt(m.current, c)
}

func (m *Model) doAt(id session.ID, c session.Command) tea.Cmd {
	if m.engine == nil {
		return nil
	}
	engine, ctx := m.engine, m.ctx
	return func() tea.Msg { return didMsg{err: engine.Do(ctx, id, c)} }
}

// inOrder carries a command out after those before it.
func (m *Model) inOrder(id session.ID, c session.Command) tea.Cmd {
	engine := m.engine
	m.serial = append(m.serial, func(ctx context.Context) tea.Msg {
		return didMsg{err: engine.Do(ctx, id, c), serial: true}
	})
	return m.pump()
}

func (m *Model) pump() tea.Cmd {
	if m.busy || len(m.serial) == 0 {
		return nil
	}
	m.busy = true
	next, ctx := m.serial[0], m.ctx
	m.serial = m.serial[1:]
	return func() tea.Msg { return next(ctx) }
}

// send sends the draft. The composer is empty at once, so that a second press
// finds nothing to send.
func (m *Model) send() tea.Cmd {
	text := m.composer.Text()
	if text == "" {
		return nil
	}
	if a, rest, ok := keys.Call(text); ok {
		m.composer.Clear()
		return m.call(a, rest)
	}
	words, attached := m.composer.Prompt()
	var said tea.Cmd
	if !strings.HasPrefix(text, "!") {
		var halt bool
		if halt, said = m.heavy(words, len(text)); halt {
			m.told = true
			return said
		}
	}
	m.told = false
	m.composer.Clear()
	m.transcript().Bottom()
	if command, ok := strings.CutPrefix(text, "!"); ok && m.o.RunShell != nil {
		run, ctx := m.o.RunShell, m.ctx
		command = strings.TrimSpace(command)
		return func() tea.Msg {
			out, err := run(ctx, command)
			return shellMsg{command, out, err}
		}
	}
	return tea.Batch(said, m.deliver(session.Prompt{ID: m.o.NewID(), Text: words, Attachments: attached}, asSend))
}

// deliver reads the pictures of a prompt and gives it to the engine.
func (m *Model) deliver(prompt session.Prompt, as func(session.Prompt) session.Command) tea.Cmd {
	pictures := composer.Pictures(prompt.Text)
	if m.o.ReadImage == nil || len(pictures) == 0 {
		if m.room() == nil {
			return m.do(as(prompt))
		}
		return m.inOrder(m.current, as(prompt))
	}
	id, read, engine := m.current, m.o.ReadImage, m.engine
	if id == "" || engine == nil {
		m.after = append(m.after, as(prompt))
		return m.start()
	}
	m.serial = append(m.serial, func(ctx context.Context) tea.Msg {
		for _, path := range pictures {
			img, err := read(ctx, path)
			if err != nil {
				return didMsg{err: err, serial: true}
			}
			prompt.Images = append(prompt.Images, img)
		}
		return didMsg{err: engine.Do(ctx, id, as(prompt)), serial: true}
	})
	return m.pump()
}

// takeBack returns the last queued message to the composer.
func (m *Model) takeBack() tea.Cmd {
	r := m.room()
	if r == nil || len(r.s.Queue) == 0 {
		return nil
	}
	last := r.s.Queue[len(r.s.Queue)-1]
	m.composer.Restore(last.Text, last.Attachments)
	return m.inOrder(m.current, session.Unqueue{ID: last.ID})
}

// tier presses a tier's key. A parked turn is a wait as well: it goes on there.
func (m *Model) tier(t models.Tier) tea.Cmd {
	r := m.room()
	if r != nil && r.s.Status == session.Parked {
		return tea.Batch(m.inOrder(m.current, session.ChooseTier{Tier: t}), m.inOrder(m.current, session.Resume{}))
	}
	return m.do(session.ChooseTier{Tier: t})
}

func (m *Model) nextTier() tea.Cmd {
	all := models.Tiers()
	now := models.Heavy
	if r := m.room(); r != nil {
		now = r.s.Tier
	}
	return m.tier(all[(max(now.Rank(), 0)+1)%len(all)])
}

func (m *Model) nextMode() tea.Cmd {
	all := session.Modes()
	now := m.o.Mode
	if r := m.room(); r != nil {
		now = r.s.Mode
	}
	return m.do(session.ChooseMode{Mode: all[(slices.Index(all, now)+1)%len(all)]})
}

// tryNow ends a wait of any length.
func (m *Model) tryNow() tea.Cmd {
	r := m.room()
	switch {
	case r == nil && len(m.offered) > 0:
		return m.takeOffer()
	case r == nil:
		return nil
	case r.s.Live():
		if c := m.working(r); c != nil && c.wait != nil {
			return m.doAt(c.s.ID, session.TryNow{})
		}
		return m.do(session.TryNow{})
	case r.s.PartOf != "" && r.stuck(): // its plan goes on, and with it the step
		if whole := m.whole(); whole != nil && whole.stuck() {
			return m.doAt(whole.s.ID, session.Resume{})
		}
	case r.stuck():
		return m.do(session.Resume{})
	}
	return nil
}

func (m *Model) runEditor(path string, plan bool) tea.Cmd {
	editor := strings.Fields(m.o.Editor)
	if len(editor) == 0 {
		editor = []string{"vi"}
		if runtime.GOOS == "windows" {
			editor = []string{"notepad"}
		}
	}
	read := m.o.ReadText
	return tea.ExecProcess(exec.Command(editor[0], append(editor[1:], path)...), func(err error) tea.Msg {
		if err != nil {
			return editedMsg{err: err}
		}
		text, err := read(path)
		return editedMsg{text, err, plan}
	})
}

func (m *Model) edit() tea.Cmd {
	if m.o.EditText == nil || m.o.ReadText == nil {
		return nil
	}
	write, ctx, text := m.o.EditText, m.ctx, m.composer.Text()
	return func() tea.Msg {
		path, err := write(ctx, text)
		return draftMsg{path, err, false}
	}
}

// older reads the page before the first loaded record, if the view is there.
func (m *Model) older() tea.Cmd {
	r := m.room()
	if r == nil || r.paging || m.books == nil {
		return nil
	}
	before, ok := r.pane.WantsOlder()
	if !ok {
		return nil
	}
	r.paging = true
	books, ctx, id := m.books, m.ctx, m.current
	return func() tea.Msg {
		records, err := books.Records(ctx, id, before, tailRecords, tailBytes)
		return pageMsg{id, records, err}
	}
}

// pick opens the list of sessions.
func (m *Model) pick() tea.Cmd {
	if m.books == nil {
		return nil
	}
	m.layer = picking
	m.picker = sessions.New(m.theme, m.o.Now, m.o.Project)
	return m.list()
}

func (m *Model) list() tea.Cmd {
	books, ctx := m.books, m.ctx
	f := session.Filter{Archived: m.picker.Shows() == sessions.Archived, Deleted: m.picker.Shows() == sessions.Deleted}
	return func() tea.Msg {
		list, err := books.List(ctx, f)
		return listMsg{list, err}
	}
}

// withLive puts the states known here in the place of stored ones.
func (m *Model) withLive(list []session.Session) []session.Session {
	for i, s := range list {
		if r := m.rooms[s.ID]; r != nil {
			list[i] = r.s
		}
	}
	return list
}

func (m *Model) search() tea.Cmd {
	q := m.picker.Words()
	if len(strings.TrimSpace(q)) < 2 {
		return nil
	}
	books, ctx := m.books, m.ctx
	return func() tea.Msg {
		hits, err := books.Search(ctx, q, session.Filter{Limit: 20})
		if err != nil {
			return nil // half a query may be no query: the titles still show
		}
		return hitsMsg{q, hits}
	}
}

// file archives, deletes or takes back the session.
func (m *Model) file(s session.Session, f session.SetArchived, toast string) tea.Cmd {
	engine, ctx := m.engine, m.ctx
	return tea.Sequence(func() tea.Msg { return didMsg{err: engine.Do(ctx, s.ID, f), toast: toast} }, m.list())
}

func (m *Model) remove(s session.Session) tea.Cmd {
	if s.Live() {
		m.picker.Note("it runs: stop it first")
		return nil
	}
	m.picker.Removed(s)
	if s.ID == m.current {
		m.enter("")
	}
	return m.doAt(s.ID, session.SetArchived{Archived: s.Archived, Deleted: m.o.Now()})
}

func (m *Model) fork(s session.Session) tea.Cmd { return m.forkAt(s, s.LastSeq) }

// forkAt begins a session with the beginning of another.
func (m *Model) forkAt(s session.Session, at int64) tea.Cmd {
	books, engine, ctx := m.books, m.engine, m.ctx
	return func() tea.Msg {
		made, err := books.Fork(ctx, s.ID, at)
		if err != nil {
			return didMsg{err: err}
		}
		opened, err := engine.Open(ctx, made.ID, false)
		if err != nil {
			return openedMsg{id: made.ID, err: err}
		}
		records, err := books.Records(ctx, made.ID, opened.LastSeq+1, tailRecords, tailBytes)
		return openedMsg{made.ID, opened, records, err, false}
	}
}

// leave ends the program; sessions that run are asked about first.
func (m *Model) leave() tea.Cmd {
	for _, id := range m.order {
		if m.rooms[id].s.Live() {
			m.layer = leaving
			return nil
		}
	}
	return tea.Quit
}

// leaveAll parks or stops what runs, and leaves.
func (m *Model) leaveAll(c session.Command) tea.Cmd {
	var ids []session.ID
	for _, id := range m.order {
		if m.rooms[id].s.Live() {
			ids = append(ids, id)
		}
	}
	engine := m.engine
	m.ending = true
	return func() tea.Msg {
		ctx, done := context.WithTimeout(context.Background(), 5*time.Second)
		defer done()
		for _, id := range ids {
			// A session that cannot be parked is found interrupted by the
			// next belay: nothing is lost by leaving.
			_ = engine.Do(ctx, id, c)
		}
		return tea.QuitMsg{}
	}
}
