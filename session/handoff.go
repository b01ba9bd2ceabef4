package session

import (
	"fmt"
	"strings"

	"belay/models"
)

// maxHandoffAnswer bounds what a handoff carries over of the last answer.
const maxHandoffAnswer = 4000 // bytes

// Handoff is what a new session is told to begin with, so that it goes on with
// a task on the ground of this one: its tier, its focus, its notes, and then the
// prompt with a record of the work. The answer is the session's last one.
func (s *Session) Handoff(promptID, task, answer string) []Command {
	commands := []Command{ChooseTier{Tier: s.Tier}}
	if len(s.Focus) > 0 {
		commands = append(commands, Focus{Paths: s.Focus})
	}
	for _, note := range s.PinnedNotes {
		commands = append(commands, PinNote{Text: note})
	}
	record := models.Attachment{Name: "carried over from session " + string(s.ID), Text: s.handoffRecord(answer)}
	prompt := Prompt{ID: promptID, Text: task, Attachments: []models.Attachment{record}}
	return append(commands, Send{Prompt: prompt})
}

// handoffRecord tells a model what was done in this session.
func (s *Session) handoffRecord(answer string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "A record of the work of an earlier session, “%s”. It is not a request.\n", singleLine(s.Title))
	if s.Summary != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(s.Summary))
	} else if s.FirstPrompt != "" {
		fmt.Fprintf(&b, "\nIt began with: %s\n", s.FirstPrompt)
	}
	if len(answer) > maxHandoffAnswer {
		answer = strings.ToValidUTF8(answer[:maxHandoffAnswer], "") + " …"
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
			fmt.Fprintf(&b, "- [%s] %s\n", mark, singleLine(t.Text))
		}
	}
	if len(s.ChangedFiles) > 0 {
		b.WriteString("\nFiles it changed:\n")
		for _, f := range s.ChangedFiles {
			fmt.Fprintf(&b, "- %s\n", singleLine(f))
		}
	}
	return strings.TrimSpace(b.String())
}
