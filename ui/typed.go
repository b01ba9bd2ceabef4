package ui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
	"belay/ui/theme"
)

// call carries a command out that was called by its name, with what was typed
// behind it.
func (m *Model) call(a keys.Action, rest string) tea.Cmd {
	switch a {
	case keys.Steps:
		return m.split(rest)
	case keys.Compact, keys.Trim, keys.Slim, keys.Effort, keys.Restore, keys.Keep, keys.Unkeep, keys.FocusOn, keys.HandOver:
	default:
		cmd, _ := m.act(a)
		return cmd
	}
	r := m.room()
	if a == keys.Effort {
		return m.effort(rest)
	}
	if r == nil {
		return m.say("nothing is in the context yet")
	}
	switch a {
	case keys.Compact:
		if r.doing == summarising {
			return m.say("a summary is being written")
		}
		cmd := m.do(session.Compact{Keep: rest})
		if r.s.Live() {
			return tea.Batch(cmd, m.say("a summary is made before the next request"))
		}
		return cmd
	case keys.Trim:
		return m.do(session.PruneOutputs{})
	case keys.Slim:
		return tea.Batch(m.do(session.PruneRequest{}), m.say("the next request goes out slim"))
	case keys.Restore:
		if len(r.s.Omitted) == 0 && r.s.Summary == "" {
			return m.say("nothing was taken out")
		}
		return m.do(session.Restore{})
	case keys.Unkeep:
		return m.unkeep(r, rest)
	case keys.FocusOn:
		return m.focusOn(rest)
	case keys.Keep:
		if rest == "" {
			m.borrow(noting, "")
			return nil
		}
		return m.do(session.PinNote{Text: rest})
	default:
		if rest == "" {
			m.borrow(handing, "")
			return nil
		}
		return m.handOver(r.s, rest)
	}
}

// effort sets the reasoning effort, also of a session that is still to begin.
func (m *Model) effort(level string) tea.Cmd {
	words := "reasoning effort: " + level
	if level == "" {
		words = "reasoning effort as the settings say"
	}
	return tea.Batch(m.do(session.ChooseEffort{Effort: strings.ToLower(level)}), m.say(words))
}

// focusOn keeps searches, and the files that can be mentioned, to some paths.
func (m *Model) focusOn(paths string) tea.Cmd {
	return m.do(session.Focus{Paths: strings.Fields(paths)})
}

// unkeep drops the note that somebody means: the only one, or the only one
// with those words in it.
func (m *Model) unkeep(r *room, words string) tea.Cmd {
	var found []string
	for _, k := range r.s.PinnedNotes {
		if k == words {
			return m.do(session.PinNote{Text: k, Unpin: true})
		}
		if strings.Contains(strings.ToLower(k), strings.ToLower(words)) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 1:
		return m.do(session.PinNote{Text: found[0], Unpin: true})
	case 0:
		if len(r.s.PinnedNotes) == 0 {
			return m.say("no note is pinned")
		}
		found = r.s.PinnedNotes
	}
	lines := []string{"Which note? Type /drop and enough of its words:"}
	for _, k := range found {
		lines = append(lines, "- "+theme.Line(k))
	}
	m.transcript().Note(strings.Join(lines, "\n"))
	m.transcript().Bottom()
	return nil
}

// handOver begins a new session in the same project, which knows of the old one
// what it carries over.
func (m *Model) handOver(old session.Session, task string) tea.Cmd {
	if m.starting {
		return m.say("one moment: a session is being started")
	}
	answer := m.transcript().Answer()
	m.enter("")
	m.after = append(m.after, session.ChooseTier{Tier: old.Tier})
	if len(old.Focus) > 0 {
		m.after = append(m.after, session.Focus{Paths: old.Focus})
	}
	for _, k := range old.PinnedNotes {
		m.after = append(m.after, session.PinNote{Text: k})
	}
	note := models.Attachment{Name: "carried over from session " + string(old.ID), Text: carryOver(&old, answer)}
	m.after = append(m.after, session.Send{Prompt: session.Prompt{ID: m.o.NewID(), Text: task, Attachments: []models.Attachment{note}}})
	return m.startIn(old.Project)
}

// mostAnswer bounds what is carried over of the last answer.
const mostAnswer = 4000 // bytes

// carryOver is what a new session is told of an earlier one, of which the last
// answer is known.
func carryOver(s *session.Session, answer string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "A record of the work of an earlier session, “%s”. It is not a request.\n", theme.Line(s.Title))
	if s.Summary != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(s.Summary))
	} else if s.FirstPrompt != "" {
		fmt.Fprintf(&b, "\nIt began with: %s\n", s.FirstPrompt)
	}
	if len(answer) > mostAnswer {
		answer = strings.ToValidUTF8(answer[:mostAnswer], "") + " …"
	}
	if answer = strings.TrimSpace(answer); answer != "" {
		fmt.Fprintf(&b, "\nIts last answer:\n%s\n", answer)
	}
	if len(s.Todos) > 0 {
		b.WriteString("\nIts plan:\n")
		for _, t := range s.Todos {
			mark := " "
			if t.Status == "done" {
				mark = "x"
			}
			fmt.Fprintf(&b, "- [%s] %s\n", mark, theme.Line(t.Text))
		}
	}
	if len(s.ChangedFiles) > 0 {
		b.WriteString("\nFiles it changed:\n")
		for _, f := range s.ChangedFiles {
			fmt.Fprintf(&b, "- %s\n", theme.Line(f))
		}
	}
	return strings.TrimSpace(b.String())
}
