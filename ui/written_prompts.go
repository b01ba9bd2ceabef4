package ui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// WrittenPrompt is a prompt that the person, or a project they trust, has written down
// under the name of a command.
type WrittenPrompt struct {
	Name        string
	Description string
	Tier        models.Tier // that it is asked of; empty: the session's
	Text        string
	Project     bool // the project has it
}

// writtenMsg brings the prompts that are written down.
type writtenMsg struct{ list []WrittenPrompt }

// writtenPrompts are those that can be called by name.
type writtenPrompts struct {
	load func(ctx context.Context) []WrittenPrompt // may be nil
	list []WrittenPrompt
}

// read reads them anew: they are files, which a person edits meanwhile.
func (w *writtenPrompts) read(ctx context.Context) tea.Cmd {
	load := w.load
	if load == nil {
		return nil
	}
	return func() tea.Msg { return writtenMsg{load(ctx)} }
}

// named are the prompts as the list of commands shows them; a command of belay's own
// goes before one of its name.
func (w *writtenPrompts) named() []keys.Named {
	var list []keys.Named
	for _, p := range w.list {
		if _, _, taken := keys.Call("/" + p.Name); taken {
			continue
		}
		whose := locale.T("yours")
		if p.Project {
			whose = locale.T("the project's")
		}
		does := whose
		if p.Description != "" {
			does = theme.Line(p.Description) + " (" + whose + ")"
		}
		list = append(list, keys.Named{Name: p.Name, Does: does})
	}
	return list
}

// call is the prompt of a name.
func (w *writtenPrompts) call(name string) (WrittenPrompt, bool) {
	for _, p := range w.list {
		if strings.EqualFold(p.Name, name) {
			return p, true
		}
	}
	return WrittenPrompt{}, false
}

// with is the prompt with what stands behind its name in the place of $ARGUMENTS and
// $1 to $9, or at its end.
func (p WrittenPrompt) with(arguments string) string {
	words := strings.Fields(arguments)
	pairs := []string{"$ARGUMENTS", arguments}
	for i := range 9 {
		word := ""
		if i < len(words) {
			word = words[i]
		}
		pairs = append(pairs, fmt.Sprintf("$%d", i+1), word)
	}
	text := strings.NewReplacer(pairs...).Replace(p.Text)
	if text == p.Text && arguments != "" {
		text += "\n\n" + arguments
	}
	return text
}

// sendWritten sends a prompt that was called by its name.
func (d *draft) sendWritten(p WrittenPrompt) action {
	text, attached := d.composer.Prompt()
	_, arguments, _ := strings.Cut(strings.NewReplacer("\n", " ").Replace(text), " ")
	d.take()
	attached = append(d.own.take(d.views.current), attached...)
	prompt := session.Prompt{ID: d.newID(), Text: p.with(strings.TrimSpace(arguments)), Attachments: attached}
	var choose action
	if p.Tier != "" && p.Tier != d.views.tier() {
		choose = send{command: session.ChooseTier{Tier: p.Tier}}
	}
	return inSequence{choose, d.deliver(prompt, asSend)}
}
