package ui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/locale"
	"belay/ui/theme"
	"belay/ui/transcript"
)

// ownCommand is a shell command that the person runs themselves.
type ownCommand struct {
	line    string
	session session.ID // in which it was begun
	private bool       // its output is not for the model
	stop    context.CancelFunc
	output  chan string // as it comes
	shown   *transcript.Local
}

// ownCommands are those that run, and the output of those that ended which goes with
// the next message.
type ownCommands struct {
	run     func(ctx context.Context, command string, output func(string)) (string, error)
	backend *backend
	running []*ownCommand
	offered []*ownOutput
}

// ownOutput is what a command printed, for the model.
type ownOutput struct {
	session  session.ID
	attached models.Attachment
	shown    *transcript.Local
}

type (
	// ownOutputMsg brings a piece of the output.
	ownOutputMsg struct {
		of   *ownCommand
		text string
	}
	// ownEndedMsg says that a command is over.
	ownEndedMsg struct {
		of     *ownCommand
		output string
		err    error
	}
)

// privateMark behind the first mark keeps the output from the model.
const privateMark = "!"

// start runs a line; one more mark in front of it keeps its output from the model.
func (o *ownCommands) start(line string, views *sessionViews) action {
	line, private := strings.CutPrefix(line, privateMark)
	line = strings.TrimSpace(line)
	if o.run == nil || line == "" {
		return nil
	}
	ctx, stop := context.WithCancel(o.backend.ctx)
	c := &ownCommand{
		line: line, session: views.current, private: private, stop: stop, output: make(chan string, 64),
		shown: views.transcript().RunLocal(line),
	}
	o.running = append(o.running, c)
	run := func() tea.Msg {
		defer stop()
		output, err := o.run(ctx, line, func(text string) {
			select {
			case c.output <- text:
			case <-ctx.Done():
			}
		})
		close(c.output)
		return ownEndedMsg{c, output, err}
	}
	return work{tea.Batch(run, c.listen)}
}

// listen waits for the next piece of output, and takes all that is there.
func (c *ownCommand) listen() tea.Msg {
	text, ok := <-c.output
	if !ok {
		return nil
	}
	var all strings.Builder
	all.WriteString(text)
	for len(c.output) > 0 {
		all.WriteString(<-c.output)
	}
	return ownOutputMsg{c, all.String()}
}

func (o *ownCommands) wrote(msg ownOutputMsg) tea.Cmd {
	msg.of.shown.Write(msg.text)
	return msg.of.listen
}

// ended shows how a command ended, and keeps its output for the next message.
func (o *ownCommands) ended(msg ownEndedMsg) {
	c := msg.of
	for i, other := range o.running {
		if other == c {
			o.running = append(o.running[:i:i], o.running[i+1:]...)
			break
		}
	}
	output := strings.TrimRight(msg.output, "\n")
	if msg.err != nil {
		output = strings.TrimLeft(output+"\n"+msg.err.Error(), "\n")
	}
	if c.private {
		c.shown.End(output, msg.err != nil, locale.T("yours; the model does not see it"))
		return
	}
	c.shown.End(output, msg.err != nil, locale.T("yours; goes with your next message"))
	name := "output of ! " + theme.Cut(theme.Line(c.line), 60)
	o.offered = append(o.offered, &ownOutput{c.session, models.Attachment{Name: name, Text: output}, c.shown})
}

// stopLast stops the command that was begun last, if one runs.
func (o *ownCommands) stopLast() bool {
	if len(o.running) == 0 {
		return false
	}
	o.running[len(o.running)-1].stop()
	return true
}

// adopt says to which session the commands belong that were begun before there was one.
func (o *ownCommands) adopt(id session.ID) {
	for _, c := range o.running {
		if c.session == "" {
			c.session = id
		}
	}
	for _, out := range o.offered {
		if out.session == "" {
			out.session = id
		}
	}
}

// take gives what goes with a message to a session. What was run before there was one
// goes with its first message.
func (o *ownCommands) take(to session.ID) []models.Attachment {
	var attached []models.Attachment
	var kept []*ownOutput
	for _, out := range o.offered {
		if out.session != to && out.session != "" {
			kept = append(kept, out)
			continue
		}
		out.shown.Note(locale.T("yours; the model has it"))
		attached = append(attached, out.attached)
	}
	o.offered = kept
	return attached
}
