package ui

import (
	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
	"belay/ui/palette"
	"belay/ui/sessions"
	"belay/ui/steps"
	"belay/ui/transcript"
)

// handler says what an action means. The text is what was typed behind its name.
type handler func(text string) action

// run does what an action of the main screen means.
func (m *Model) run(a keys.Action, text string) tea.Cmd {
	if handle := m.handlers[a]; handle != nil {
		return m.perform(handle(text))
	}
	return nil
}

// newHandlers is the one map from the actions of the table of keys to what they
// mean.
func (m *Model) newHandlers() map[keys.Action]handler {
	c, d := m.controls, m.draft
	tier := func(t models.Tier) handler { return plain(func() action { return c.chooseTier(t) }) }
	ifOpen := func(command session.Command) handler {
		return plain(func() action { return c.ifOpen(command) })
	}
	neighbour := func(by int) handler { return plain(func() action { return c.neighbour(by) }) }
	dialogs := func(open func() dialog) handler { return plain(func() action { return openDialog{open()} }) }
	pane := m.views.transcript
	s := &sessionCommands{options: m.options, views: m.views, backend: m.backend, draft: d, mode: m.options.Mode}

	return map[keys.Action]handler{
		keys.Send:         plain(d.send),
		keys.Steer:        plain(d.steer),
		keys.PastePicture: plain(d.attachCopied),
		keys.TakeBack:     plain(d.takeBack),
		keys.Shell:        d.shell,
		keys.Editor:       plain(d.edit),

		keys.Heavy:      tier(models.Heavy),
		keys.Medium:     tier(models.Medium),
		keys.Light:      tier(models.Light),
		keys.NextTier:   plain(c.nextTier),
		keys.NextMode:   plain(c.nextMode),
		keys.Effort:     c.chooseEffort,
		keys.TryNow:     plain(c.tryNow),
		keys.Park:       ifOpen(session.Park{}),
		keys.Drop:       ifOpen(session.Drop{}),
		keys.Resume:     ifOpen(session.Resume{}),
		keys.Stop:       plain(m.stop),
		keys.Details:    effect(c.details),
		keys.Rename:     c.renameTo,
		keys.Fork:       plain(c.fork),
		keys.Previous:   neighbour(-1),
		keys.Next:       neighbour(1),
		keys.New:        plain(func() action { return show{} }),
		keys.Copy:       plain(c.copyAnswer),
		keys.CopyCurl:   plain(c.copyCurl),
		keys.UndoRewind: plain(c.undoRewind),
		keys.Compact:    c.compact,
		keys.Trim:       plain(c.trim),
		keys.Slim:       plain(c.slim),
		keys.Restore:    plain(c.restore),
		keys.PinNote:    c.pinNote,
		keys.UnpinNote:  c.unpinNote,
		keys.FocusPaths: c.focusPaths,
		keys.Handoff:    c.handOff,

		keys.PageUp:   plain(func() action { pane().Page(-1); return readOlder{} }),
		keys.PageDown: effect(func() { pane().Page(1) }),
		keys.Top:      plain(func() action { pane().Top(); return readOlder{} }),
		keys.Bottom:   effect(func() { pane().Bottom() }),
		keys.Find:     effect(func() { m.focus.set(&finder{pane: pane()}) }),
		keys.OpenCall: effect(func() {
			if pane().Open() {
				m.focus.set(callChooser{pane(), c.copyText})
			}
		}),
		keys.Reasoning: effect(func() { pane().Unfold() }),
		keys.Focus: effect(func() {
			if !m.focus.toBox() && m.dialog == m.steps {
				m.steps.focus()
			}
		}),

		keys.Palette: dialogs(func() dialog {
			return commandDialog{palette.Commands(m.look.theme, m.draft.written.named()...)}
		}),
		keys.Prompts: dialogs(func() dialog {
			return promptDialog{palette.Prompts(m.look.theme, m.composer.History())}
		}),
		keys.Help:       dialogs(func() dialog { return &helpDialog{} }),
		keys.Sessions:   plain(m.openSessions),
		keys.Capacity:   plain(m.toggleCapacity),
		keys.Context:    plain(m.toggleContext),
		keys.StepsPanel: plain(m.toggleSteps),
		keys.Steps:      m.planTask,
		keys.Rewind:     plain(func() action { return openRewind{} }),
		keys.Undo:       plain(func() action { return openRewind{last: true} }),

		keys.Models:      m.models.choose,
		keys.Status:      plain(s.status),
		keys.Cost:        plain(s.cost),
		keys.Changes:     plain(s.changes),
		keys.Review:      s.review,
		keys.Init:        plain(s.writeRules),
		keys.Permissions: s.permissions,
		keys.Export:      s.export,
		keys.Messages:    plain(m.toast.list),
		keys.ShowConfig:  plain(func() action { return s.run("config") }),
		keys.Doctor:      plain(func() action { return s.run("doctor") }),
		keys.Record:      plain(func() action { return s.run("stats") }),

		keys.ThemeCycle: func(name string) action {
			return m.look.choose(name, keepTheme(m.backend.ctx, m.options.KeepTheme))
		},
		keys.Redraw:  plain(func() action { return work{tea.ClearScreen} }),
		keys.Suspend: plain(func() action { return work{tea.Suspend} }),
		keys.Leave:   plain(m.interrupt),
		keys.Quit:    plain(m.quit),
	}
}

// plain is a handler of an action that takes no text.
func plain(do func() action) handler { return func(string) action { return do() } }

// effect is a handler after which nothing more is to be done.
func effect(do func()) handler {
	return func(string) action {
		do()
		return nil
	}
}

// stop is esc: what is open closes first, then what runs stops.
func (m *Model) stop() action {
	if m.composer.Popup() {
		m.composer.ClosePopup()
		return nil
	}
	if m.draft.own.stopLast() {
		return nil
	}
	if a := m.controls.stop(); a != nil || m.options.Checkpoints == nil {
		return a
	}
	return m.draft.escape(m.options.Now())
}

func (m *Model) openSessions() action {
	if m.backend.store == nil {
		return nil
	}
	pane := sessions.New(m.look.theme, m.options.Now, m.options.Project)
	pane.SetBanner(m.options.Banner)
	return openDialog{&sessionsDialog{
		pane: pane, views: m.views, backend: m.backend, now: m.options.Now, run: m.options.RunTool,
	}}
}

func (m *Model) toggleCapacity() action {
	switch {
	case m.dialog == m.capacity:
		return closeDialog{}
	case m.capacity.load == nil || m.backend.engine == nil:
		return nil
	}
	return openDialog{m.capacity}
}

func (m *Model) toggleContext() action {
	switch {
	case m.dialog == m.context:
		return closeDialog{}
	case m.context.load == nil:
		return nil
	case m.views.shown() == nil:
		return message{"nothing is in the context yet"}
	}
	return together{leaveMode{}, openDialog{m.context}}
}

// toggleSteps opens the panel, gives it the keys, or closes it. From a step it
// leads back to the plan; with a large draft it splits that.
func (m *Model) toggleSteps() action {
	view := m.views.shown()
	switch {
	case m.draft.isLarge():
		return m.draft.plan()
	case m.dialog == m.steps && m.covered():
		return closeDialog{}
	case view == nil:
		return noPlan()
	case view.state.PartOf != "":
		m.steps.left = true
		return leaveStep{}
	}
	return reopen{m.steps}
}

// planTask lets a model cut a task into steps, which is asked for if it is not
// given and there is no plan to show.
func (m *Model) planTask(task string) action {
	switch {
	case task != "":
		return m.draft.planTask(task)
	case m.steps.plan() != nil && !(m.dialog == m.steps && m.covered()):
		return m.toggleSteps()
	}
	return borrow{entry: taskEntry{}}
}

// openRewind lists the checkpoints of the session in view, or of its plan. With a
// step, or for the last message, it shows what going back to before that would do.
func (m *Model) openRewind(asked openRewind) action {
	view := m.views.planView()
	if m.options.Checkpoints == nil || m.options.Preview == nil || view == nil {
		return message{"there is nothing to go back to yet"}
	}
	rewind := &rewindDialog{
		pane: steps.NewRewind(m.look.theme, transcript.Diff), views: m.views, backend: m.backend,
		checkpoints: m.options.Checkpoints, loadPreview: m.options.Preview,
		of: view.state.ID, step: asked.step, last: asked.last,
	}
	if asked.step > 0 {
		rewind.from = m.steps
	}
	return together{leaveMode{}, openDialog{rewind}}
}
