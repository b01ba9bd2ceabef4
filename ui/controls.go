package ui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/clipboard"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/status"
	"belay/ui/theme"
)

// controls turn commands for the session in view into what they mean in its
// present state.
type controls struct {
	views   *sessionViews
	opener  *opener
	backend *backend
	mode    session.Mode // of new sessions
	newID   func() string
	curl    func(ctx context.Context, id session.ID) (string, error) // may be nil

	clipboard clipboard.Clipboard
}

// chooseTier asks another tier. A parked turn is a wait as well: it goes on there.
func (c *controls) chooseTier(t models.Tier) action {
	choose := send{command: session.ChooseTier{Tier: t}}
	if v := c.views.shown(); v == nil || v.state.Status != session.Parked {
		return choose
	}
	choose.inOrder = true
	return together{choose, send{command: session.Resume{}, inOrder: true}}
}

func (c *controls) nextTier() action {
	all := models.Tiers()
	return c.chooseTier(all[(max(c.views.tier().Rank(), 0)+1)%len(all)])
}

func (c *controls) nextMode() action {
	all, mode := session.Modes(), c.mode
	if v := c.views.shown(); v != nil {
		mode = v.state.Mode
	}
	return send{command: session.ChooseMode{Mode: all[(slices.Index(all, mode)+1)%len(all)]}}
}

// chooseEffort sets the reasoning effort, also of a session that is still to begin.
func (c *controls) chooseEffort(level string) action {
	text := locale.T("reasoning effort: %s", level)
	if level == "" {
		text = locale.T("reasoning effort as the settings say")
	}
	return together{send{command: session.ChooseEffort{Effort: strings.ToLower(level)}}, message{text}}
}

// tryNow ends a wait of any length.
func (c *controls) tryNow() action {
	view := c.views.shown()
	switch {
	case view == nil && len(c.views.offered) > 0: // go on with the first one
		c.opener.resume = c.views.offered[0].ID
		return openSession{id: c.opener.resume}
	case view == nil:
	case view.state.Live():
		if worker := c.views.worker(view); worker != nil && worker.wait != nil {
			return sendTo{id: worker.state.ID, command: session.TryNow{}}
		}
		return send{command: session.TryNow{}}
	case view.state.PartOf != "" && view.stuck(): // its plan goes on, and with it the step
		if plan := c.views.planView(); plan != nil && plan.stuck() {
			return sendTo{id: plan.state.ID, command: session.Resume{}}
		}
	case view.stuck():
		return send{command: session.Resume{}}
	}
	return nil
}

// ifOpen sends a command unless there is no session yet.
func (c *controls) ifOpen(command session.Command) action {
	if c.views.shown() == nil {
		return nil
	}
	return send{command: command}
}

// stop ends what runs, or else leads back to where one came from; nil: there was
// nothing of either.
func (c *controls) stop() action {
	view := c.views.shown()
	switch {
	case view == nil:
	case view.wait != nil && view.wait.Details:
		view.wait.Details = false
		return together{}
	case view.state.Live() || view.activity.kind == summarising:
		return send{command: session.Stop{}}
	case view.state.PartOf != "":
		return leaveStep{}
	case view.state.Status == session.Parked && !view.state.RetryAt.IsZero():
		return send{command: session.Stop{}}
	case !view.pane.Following():
		view.pane.Bottom()
		return together{}
	}
	return nil
}

// details shows the server's own words.
func (c *controls) details() {
	switch v := c.views.shown(); {
	case v == nil:
	case v.wait != nil:
		v.wait.Details = !v.wait.Details
	case v.state.Fault != nil:
		v.pane.Note(strings.Join(status.Evidence(v.state.Fault), "\n"))
		v.pane.ShowNewest()
	}
}

func (c *controls) rename() action {
	v := c.views.shown()
	if v == nil {
		return nil
	}
	return borrow{entry: renameEntry{}, text: v.state.Title}
}

func (c *controls) fork() action {
	v := c.views.shown()
	if v == nil {
		return nil
	}
	return fork{v.state, v.state.LastSeq}
}

// neighbour goes to the next running session, by is 1 or -1. From a step the way
// back leads to its plan.
func (c *controls) neighbour(by int) action {
	if v := c.views.shown(); v != nil && v.state.PartOf != "" && by < 0 {
		return leaveStep{}
	}
	id := c.views.neighbour(by)
	if id == "" {
		return message{"no session runs"}
	}
	return show{id: id}
}

func (c *controls) copyAnswer() action {
	text := c.views.transcript().Answer()
	if text == "" {
		return message{"there is no answer to copy yet"}
	}
	return c.copyText(text)
}

// copyText copies a text, and says what is known of that.
func (c *controls) copyText(text string) action {
	board, ctx := c.clipboard, c.backend.ctx
	return work{func() tea.Msg { return copied(board.Copy(ctx, text), text) }}
}

// copied writes what the terminal gets of a copy, and says what became of it.
func copied(result clipboard.Result, text string) tea.Msg {
	said := func() tea.Msg {
		return didMsg{toast: result.Text() + ": " + theme.Plural(strings.Count(strings.TrimRight(text, "\n"), "\n")+1, "line")}
	}
	if result.Sequence == "" {
		return said()
	}
	return tea.Batch(tea.Raw(result.Sequence), said)()
}

// copyCurl copies the last request for a shell: it is made again out of the log.
func (c *controls) copyCurl() action {
	if c.views.shown() == nil || c.curl == nil {
		return message{"there is no request to copy yet"}
	}
	curl, board := c.curl, c.clipboard
	ctx := c.backend.ctx
	id := c.views.current
	return work{func() tea.Msg {
		line, err := curl(ctx, id)
		if err != nil {
			return didMsg{err: err}
		}
		return copied(board.Copy(ctx, line), line)
	}}
}

// undoRewind brings back what the last rewind took.
func (c *controls) undoRewind() action {
	v := c.views.planView()
	if v == nil {
		return message{"nothing was taken back"}
	}
	return sendTo{id: v.state.ID, command: session.UndoRewind{}}
}

// onContext is an action on what the requests of the session in view are made of.
func (c *controls) onContext(do func(v *sessionView) action) action {
	v := c.views.shown()
	if v == nil {
		return message{"nothing is in the context yet"}
	}
	return do(v)
}

func (c *controls) compact(keep string) action {
	return c.onContext(func(v *sessionView) action {
		compact := send{command: session.Compact{Keep: keep}}
		switch {
		case v.activity.kind == summarising:
			return message{"a summary is being written"}
		case v.state.Live():
			return together{compact, message{"a summary is made before the next request"}}
		}
		return compact
	})
}

func (c *controls) trim() action {
	return c.onContext(func(*sessionView) action { return send{command: session.PruneOutputs{}} })
}

func (c *controls) slim() action {
	return c.onContext(func(*sessionView) action {
		return together{send{command: session.PruneRequest{}}, message{"the next request goes out slim"}}
	})
}

func (c *controls) restore() action {
	return c.onContext(func(v *sessionView) action {
		if len(v.state.Omitted) == 0 && v.state.Summary == "" {
			return message{"nothing was taken out"}
		}
		return send{command: session.Restore{}}
	})
}

// focusPaths keeps searches, and the files that can be mentioned, to some paths.
func (c *controls) focusPaths(paths string) action {
	return c.onContext(func(*sessionView) action {
		return send{command: session.Focus{Paths: strings.Fields(paths)}}
	})
}

func (c *controls) pinNote(text string) action {
	return c.onContext(func(*sessionView) action {
		if text == "" {
			return borrow{entry: noteEntry{}}
		}
		return send{command: session.PinNote{Text: text}}
	})
}

// unpinNote drops the note that is meant, or asks which one is.
func (c *controls) unpinNote(part string) action {
	return c.onContext(func(view *sessionView) action {
		if len(view.state.PinnedNotes) == 0 {
			return message{"no note is pinned"}
		}
		found := matchingNotes(view.state.PinnedNotes, part)
		if len(found) == 1 {
			return send{command: session.PinNote{Text: found[0], Unpin: true}}
		}
		if len(found) == 0 {
			found = view.state.PinnedNotes
		}
		lines := []string{locale.T("Which note? Type %s and enough of its words:", keys.Label(keys.UnpinNote))}
		for _, text := range found {
			lines = append(lines, "- "+theme.Line(text))
		}
		view.pane.Note(strings.Join(lines, "\n"))
		view.pane.Bottom()
		return nil
	})
}

// matchingNotes are the notes with these words in them, or the one that is these
// words.
func matchingNotes(notes []string, part string) []string {
	if slices.Contains(notes, part) {
		return []string{part}
	}
	part = strings.ToLower(part)
	return slices.DeleteFunc(slices.Clone(notes), func(text string) bool {
		return !strings.Contains(strings.ToLower(text), part)
	})
}

// handOff begins a new session in the same project, which goes on with the work of
// this one.
func (c *controls) handOff(task string) action {
	return c.onContext(func(view *sessionView) action {
		switch {
		case task == "":
			return borrow{entry: handoffEntry{}}
		case c.opener.starting:
			return message{"one moment: a session is being started"}
		}
		old := view.state
		c.opener.pending = append(c.opener.pending, old.Handoff(c.newID(), task, view.pane.Answer())...)
		return together{show{}, work{c.opener.start(old.Project)}}
	})
}
