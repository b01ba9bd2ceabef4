package ui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/steps"
	"belay/ui/theme"
)

// rewindDialog lists the checkpoints of a session, shows what returning to one
// of them would do, and returns there.
type rewindDialog struct {
	pane        *steps.Rewind
	views       *sessionViews
	backend     *backend
	checkpoints func(ctx context.Context, id session.ID) ([]session.Checkpoint, error)
	loadPreview func(ctx context.Context, id session.ID, to int64) (session.Preview, error)

	of   session.ID // whose checkpoints they are
	step int        // the one that is gone back to before; 0: chosen from the list
	last bool       // it is gone back to before the last message
	from dialog     // opened again afterwards; nil: none
	busy bool
}

// What the store knows of the checkpoints, and what came of a rewind.
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
		id     session.ID
		err    error
		prompt *session.Prompt // that was taken back, to be written anew; nil: none
	}
)

func (d *rewindDialog) setTheme(th *theme.Theme) { d.pane.SetTheme(th) }

func (d *rewindDialog) opened() tea.Cmd {
	ctx := d.backend.ctx
	load := d.checkpoints
	id := d.of
	return func() tea.Msg {
		list, err := load(ctx, id)
		return checkpointsMsg{id, list, err}
	}
}

func (d *rewindDialog) update(msg tea.Msg) action {
	switch msg := msg.(type) {
	case checkpointsMsg:
		if msg.id == d.of {
			return d.listed(msg)
		}
	case previewMsg:
		switch {
		case msg.id != d.of:
		case msg.err != nil:
			d.pane.Close()
			return complaint{msg.err}
		default:
			d.pane.Show(msg.view)
		}
	case rewoundMsg:
		if msg.id == d.of {
			return d.rewound(msg)
		}
	}
	return nil
}

func (d *rewindDialog) listed(msg checkpointsMsg) action {
	if msg.err != nil {
		return together{d.leave(), complaint{msg.err}}
	}
	d.pane.Set(msg.list)
	switch {
	case d.last:
		if !d.pane.BeforeLastTurn() {
			return together{d.leave(), message{"there is no message to take back"}}
		}
		return d.ahead()
	case d.step == 0:
		return nil
	case !d.pane.Before(d.step):
		return together{d.leave(), message{"there is no checkpoint before this step"}}
	}
	return d.ahead()
}

// ahead asks what the chosen rewind would do.
func (d *rewindDialog) ahead() action {
	c, ok := d.pane.Chosen()
	if !ok {
		return nil
	}
	d.pane.Open()
	ctx := d.backend.ctx
	load := d.loadPreview
	id := d.of
	return work{func() tea.Msg {
		v, err := load(ctx, id, c.Seq)
		return previewMsg{id, v, err}
	}}
}

// leave closes the dialog; one that was opened from the steps goes back to them.
func (d *rewindDialog) leave() action { return together{closeDialog{}, reopen{d.from}} }

func (d *rewindDialog) key(name, _ string) action {
	switch keys.RewindDialog.Action(name) {
	case keys.Close:
		if d.pane.Opened() && d.step == 0 {
			d.pane.Close()
			return nil
		}
		return d.leave()
	case keys.Accept:
		if !d.pane.Opened() {
			return d.ahead()
		}
	case keys.ForkHere:
		return d.fork()
	case keys.RewindBoth:
		return d.rewind(session.Rewind{Conversation: true, Files: true})
	case keys.RewindFiles:
		return d.rewind(session.Rewind{Files: true})
	case keys.RewindTranscript:
		return d.rewind(session.Rewind{Conversation: true})
	default:
		d.pane.Key(name)
	}
	return nil
}

func (d *rewindDialog) scroll(lines int) { d.pane.Move(lines) }

// fork begins another session with what this one was at a checkpoint. The files
// stay as they are.
func (d *rewindDialog) fork() action {
	c, ok := d.pane.Chosen()
	v := d.views.get(d.of)
	if !ok || v == nil {
		return nil
	}
	return together{closeDialog{}, fork{v.state, max(c.Seq, 1)}}
}

// rewind returns to what the preview shows, unless files have changed since.
func (d *rewindDialog) rewind(c session.Rewind) action {
	v, ok := d.pane.Shown()
	if !ok || d.busy || d.backend.engine == nil {
		return nil
	}
	if c.Files && v.Checkpoint.Tree == "" {
		d.pane.Problem(locale.T("the files were not kept at this checkpoint: %s goes back in the conversation",
			keys.RewindDialog.Label(keys.RewindTranscript)))
		return nil
	}
	d.busy = true
	c.To, c.ExpectTree = v.Checkpoint.Seq, v.Now
	engine := d.backend.engine
	ctx := d.backend.ctx
	id := d.of
	again := d.last && c.Conversation
	return work{func() tea.Msg {
		msg := rewoundMsg{id: id, err: engine.Do(ctx, id, c)}
		if again && msg.err == nil {
			msg.prompt = d.promptAfter(ctx, c.To)
		}
		return msg
	}}
}

// promptAfter reads the message that a checkpoint lies before.
func (d *rewindDialog) promptAfter(ctx context.Context, checkpoint int64) *session.Prompt {
	if d.backend.store == nil {
		return nil
	}
	records, err := d.backend.store.Records(ctx, d.of, checkpoint+2, 1, tailBytes)
	if err != nil || len(records) == 0 {
		return nil // what was to be done is done; the message is among the earlier prompts
	}
	if e, ok := records[0].Event.(session.TurnStarted); ok && e.Prompt.Text != "" {
		return &e.Prompt
	}
	return nil
}

// rewound closes the dialog, or says why nothing happened and compares anew.
func (d *rewindDialog) rewound(msg rewoundMsg) action {
	d.busy = false
	if msg.err == nil {
		done := together{d.leave(), show{id: msg.id}, rewoundText()}
		if msg.prompt != nil {
			done = append(done, returnPrompts{[]session.Command{session.Send{Prompt: *msg.prompt}}})
		}
		return done
	}
	d.pane.Problem(msg.err.Error() + hintOf(msg.err))
	return d.ahead()
}

// rewoundText says how a rewind is taken back.
func rewoundText() action {
	return message{locale.T("taken back; %s brings it back", keys.Label(keys.UndoRewind))}
}

func (d *rewindDialog) list() (items, string) { return d.pane, keys.RewindDialog.Press(keys.Accept) }

func (d *rewindDialog) view(f frame) box {
	return box{lines: d.pane.View(f.width, f.height-2), top: 1}
}
