package ui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/composer"
	"belay/ui/keys"
	"belay/ui/locale"
)

// draft is what a person writes in the composer, and its way to the engine.
type draft struct {
	composer *composer.Pane
	views    *sessionViews
	backend  *backend
	editor   externalEditor
	size     sizeWarning
	burst    burst
	newID    func() string
	own      *ownCommands
	listed   bool // a file is being mentioned, and the files were listed for that
	sent     sentPrompt
	escaped  time.Time // when esc was pressed that had nothing to close
	written  writtenPrompts
	// arguments read what may stand behind the names of commands, when one is begun.
	arguments map[keys.Action]func() tea.Cmd

	// What the world gives; may be nil.
	readImage func(ctx context.Context, path string) (models.Image, error)
	listFiles func(ctx context.Context, focus []string) ([]string, error)
	copied    func(ctx context.Context) (file string, err error) // the picture in the clipboard
}

// key edits the draft, or is one of the keys that only work beside it. Writing says
// that it is the draft and not an entry, or a box beside it.
func (d *draft) key(msg tea.KeyPressMsg, writing bool) action {
	name := msg.String()
	if d.composer.PopupKey(name) {
		return nil
	}
	act := keys.Action("")
	if writing && d.composer.Empty() {
		act = keys.EmptyDraft.Action(name)
	}
	if act == keys.TakeBack && d.lastQueued() == nil {
		act = "" // it goes through the earlier prompts
	}
	if act == "" {
		act = keys.Draft.Action(name)
	}
	if act != "" {
		return command{name: act}
	}
	before := d.composer.Calling()
	d.composer.Key(msg)
	d.size.shown = d.size.shown && !d.composer.Empty()
	if keys.Is(d.composer.Draft(), keys.CommandName) {
		return together{work{d.written.read(d.backend.ctx)}, d.mention()}
	}
	if calling := d.composer.Calling(); calling != before && d.arguments[calling] != nil {
		return together{work{d.arguments[calling]()}, d.mention()}
	}
	return d.mention()
}

func (d *draft) paste(text string) action {
	if pictures, ok := composer.Dropped(text); ok && d.readImage != nil && !d.composer.Borrowed() {
		text = pictures
		if !d.composer.AtSpace() {
			text = " " + text
		}
	}
	d.composer.Paste(text)
	return d.mention()
}

// mention lists the files each time that a mention begins: files come and go.
func (d *draft) mention() action {
	before := d.listed
	d.listed = d.composer.Mentioning()
	if before || !d.listed || d.listFiles == nil {
		return nil
	}
	var focus []string
	if v := d.views.shown(); v != nil {
		focus = v.state.Focus
	}
	list, ctx := d.listFiles, d.backend.ctx
	return work{func() tea.Msg {
		files, err := list(ctx, focus)
		if err != nil {
			return didMsg{err: err}
		}
		return filesMsg{files}
	}}
}

// shellMark begins a draft that is a command of the person's own.
const shellMark = "!"

// escape is an esc with nothing to stop or to close: the second one goes back to the
// last message, to write it anew.
func (d *draft) escape(now time.Time) action {
	v := d.views.shown()
	if v == nil || v.state.Turn == 0 || v.state.Live() || !d.composer.Empty() || d.composer.Borrowed() {
		return nil
	}
	if !d.escaped.IsZero() && now.Sub(d.escaped) < confirmLeave {
		d.escaped = time.Time{}
		return openRewind{last: true}
	}
	d.escaped = now
	return message{locale.T("%s again: edit the last message", keys.Label(keys.Stop))}
}

// sentPrompt is the last message that was sent to a session: it may still be on its way.
type sentPrompt struct {
	id string
	to session.ID
}

// send sends the draft. The composer is empty at once, so that a second press
// finds nothing to send.
func (d *draft) send() action { return d.sendAs(false) }

// steer sends the draft into the running turn, or, when nothing is written, what is
// queued behind it.
func (d *draft) steer() action {
	switch {
	case d.composer.Borrowed():
		return nil
	case !d.composer.Empty():
		return d.sendAs(true)
	case !d.canSteer():
		return nil
	}
	return send{command: session.SteerQueued{}, inOrder: true}
}

// canSteer reports whether a message waits for the end of the turn in view, or is on
// its way there.
func (d *draft) canSteer() bool {
	v := d.views.shown()
	if v == nil || !v.state.Live() {
		return false
	}
	return v.waitsForEnd() || d.sent.id != "" && d.sent.to == d.views.current && !v.state.HasPrompt(d.sent.id)
}

func (d *draft) sendAs(steered bool) action {
	text := d.composer.Text()
	if text == "" {
		return nil
	}
	if a, rest, ok := keys.Call(d.composer.Draft()); ok {
		d.composer.Clear()
		return command{a, rest}
	}
	if name, unknown := keys.Unknown(d.composer.Draft()); unknown {
		if written, ok := d.written.call(name); ok {
			return d.sendWritten(written)
		}
		return unknownCommand(name)
	}
	if line, ok := strings.CutPrefix(text, shellMark); ok && d.own.run != nil {
		d.take()
		return command{keys.Shell, strings.TrimSpace(line)}
	}
	prompt, attached := d.composer.Prompt()
	var inPassing action
	if !strings.HasPrefix(text, shellMark) {
		hold, hint := d.size.check(d.views, prompt, len(text))
		if hint != "" {
			inPassing = message{hint}
		}
		if hold {
			d.size.shown = true
			return inPassing
		}
	}
	if unknown := d.composer.UnknownFiles(prompt); len(unknown) > 0 && inPassing == nil {
		inPassing = message{locale.T("there is no file %s here; the words were sent as they are", strings.Join(unknown, ", "))}
	}
	d.take()
	attached = append(d.own.take(d.views.current), attached...)
	d.sent = sentPrompt{d.newID(), d.views.current}
	actions := together{
		inPassing, d.deliver(session.Prompt{ID: d.sent.id, Text: prompt, Attachments: attached}, asSend),
	}
	if v := d.views.shown(); steered && v != nil && v.state.Live() {
		actions = append(actions, send{command: session.SteerQueued{ID: d.sent.id}, inOrder: true})
	}
	return actions
}

// take empties the composer for what is sent.
func (d *draft) take() {
	d.size.shown = false
	d.composer.Clear()
	d.views.transcript().Bottom()
}

// shell runs a command of the person's own.
func (d *draft) shell(line string) action { return d.own.start(line, d.views) }

func asSend(p session.Prompt) session.Command { return session.Send{Prompt: p} }
func asPlan(p session.Prompt) session.Command { return session.PlanTask{Prompt: p} }

// deliver reads the pictures of a prompt and gives it to the engine.
func (d *draft) deliver(prompt session.Prompt, as func(session.Prompt) session.Command) action {
	pictures := composer.Pictures(prompt.Text)
	id := d.views.current
	engine := d.backend.engine
	read := d.readImage
	if read == nil || len(pictures) == 0 {
		return send{command: as(prompt), inOrder: id != ""}
	}
	return work{d.backend.enqueue(func(ctx context.Context) tea.Msg {
		given := as(prompt)
		for _, path := range pictures {
			img, err := read(ctx, path)
			if err != nil {
				return didMsg{err: err, queued: true, untaken: given}
			}
			prompt.Images = append(prompt.Images, img)
		}
		if id == "" || engine == nil {
			return didMsg{queued: true, begins: as(prompt)}
		}
		return didMsg{err: engine.Do(ctx, id, as(prompt)), queued: true}
	})}
}

// attachCopied mentions the picture in the clipboard.
func (d *draft) attachCopied() action {
	copied, ctx := d.copied, d.backend.ctx
	if copied == nil || d.readImage == nil || d.composer.Borrowed() {
		return nil
	}
	return work{func() tea.Msg {
		file, err := copied(ctx)
		return copiedPictureMsg{file, err}
	}}
}

// planTask lets a model propose steps for a task.
func (d *draft) planTask(task string) action {
	return d.deliver(session.Prompt{ID: d.newID(), Text: task}, asPlan)
}

// isLarge reports whether the draft is held back for its size.
func (d *draft) isLarge() bool { return d.size.shown && !d.composer.Empty() && !d.composer.Borrowed() }

// plan sends the draft as a task to be cut into steps.
func (d *draft) plan() action {
	text, attached := d.composer.Prompt()
	d.take()
	return d.deliver(session.Prompt{ID: d.newID(), Text: text, Attachments: attached}, asPlan)
}

// lastQueued is the last message behind the turn, or nil.
func (d *draft) lastQueued() *session.Queued {
	v := d.views.shown()
	if v == nil || len(v.state.Queue) == 0 {
		return nil
	}
	return &v.state.Queue[len(v.state.Queue)-1]
}

// takeBack returns the last queued message to the composer.
func (d *draft) takeBack() action {
	last := d.lastQueued()
	if last == nil {
		return nil
	}
	d.composer.Restore(last.Text, last.Attachments)
	return send{command: session.Unqueue{ID: last.ID}, inOrder: true}
}

// edit opens the draft in the person's editor.
func (d *draft) edit() action {
	if !d.editor.usable() {
		return nil
	}
	return work{d.editor.open(d.composer.Text(), nil)}
}

// restore gives prompts back that nobody took.
func (d *draft) restore(commands []session.Command) {
	for _, c := range commands {
		if !d.composer.Empty() {
			return
		}
		switch c := c.(type) {
		case session.Send:
			d.composer.Restore(c.Prompt.Text, c.Prompt.Attachments)
		case session.PlanTask:
			d.composer.Restore(keys.Label(keys.Steps)+" "+c.Prompt.Text, c.Prompt.Attachments)
		}
	}
}
