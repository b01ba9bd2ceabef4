package ui

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"belay/session"
	"belay/ui/theme"
)

// notifier calls a person through the terminal's notifications.
type notifier struct {
	quiet   bool // no notifications
	blurred bool // the terminal is not looked at
}

// needsYou is said where a session waits for a person.
const needsYou = "needs you"

// call calls a person who is looking elsewhere to a session.
func (n *notifier) call(title, reason string) tea.Cmd {
	if !n.blurred || n.quiet || reason == "" {
		return nil
	}
	text := theme.Cut(title, 60)
	if text == "" {
		text = "a session"
	}
	if reason != needsYou {
		text += ":"
	}
	return tea.Raw(ansi.Notify("belay: "+text+" "+theme.Cut(reason, 120)) + "\a")
}

// alerts shows what stands out in the record of requests.
func (n *notifier) alerts(records []session.Record) action {
	var actions together
	for _, r := range records {
		alert, ok := r.Event.(session.Alerted)
		if !ok {
			continue
		}
		if alert.Screen {
			actions = append(actions, note{alert.Text}, message{alert.Text})
		}
		if alert.Desktop && !n.quiet {
			actions = append(actions, work{tea.Raw(ansi.Notify("belay: " + theme.Line(alert.Text)))})
		}
	}
	return actions
}

// reasonToCall says why a person is called, if these records are a reason.
// Needed says whether the session already waited for one before them.
func reasonToCall(records []session.Record, s *session.Session, needed bool) string {
	if !needed && s.NeedsYou() {
		return needsYou
	}
	for _, r := range records {
		e, ok := r.Event.(session.TurnEnded)
		if !ok || e.Outcome != session.OutcomeFailed || s.PartOf != "" { // its plan says so
			continue
		}
		switch kind := theme.Kind(e.Fault); {
		case e.Reason != "":
			return theme.Line(e.Reason)
		case kind != "":
			return "failed: " + kind
		}
		return "failed"
	}
	return ""
}
