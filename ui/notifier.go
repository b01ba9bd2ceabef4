package ui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"belay/session"
	"belay/ui/locale"
	"belay/ui/theme"
)

// Notices is how a person is called who looks elsewhere. The zero value calls with OSC 9
// and the bell.
type Notices struct {
	way     string // "osc9", "osc777", "osc99", "bell", "command" or "off"; empty: osc9
	wrap    func(sequence string) string
	silent  func(now time.Time) bool
	command func(text string) error
}

// NoticesOf is how a setting and a terminal have it, of which the environment tells.
// Silent reports hours without calls; command is run for "command".
func NoticesOf(
	setting string, env func(string) string, silent func(time.Time) bool, command func(string) error,
) Notices {
	n := Notices{way: setting, silent: silent, command: command}
	term, program := env("TERM"), env("TERM_PROGRAM")
	if setting == "auto" {
		switch {
		case env("KITTY_WINDOW_ID") != "" || strings.Contains(term, "kitty"):
			n.way = "osc99" // https://sw.kovidgoyal.net/kitty/desktop-notifications/
		case strings.HasPrefix(term, "foot") || strings.HasPrefix(term, "rxvt") || env("VTE_VERSION") != "" ||
			strings.Contains(term, "ghostty") || program == "ghostty" || program == "WezTerm":
			n.way = "osc777" // https://codeberg.org/dnkl/foot/wiki, of urxvt and VTE
		case env("STY") != "" || term == "linux":
			n.way = "bell" // nothing behind it would understand more
		default:
			n.way = "osc9"
		}
	}
	if env("TMUX") != "" {
		n.wrap = ansi.TmuxPassthrough
	}
	return n
}

// notifier calls a person who looks elsewhere.
type notifier struct {
	Notices
	now     func() time.Time
	blurred bool // the terminal is not looked at
}

// needsYou is said where a session waits for a person.
const needsYou = "needs you"

// off reports whether nobody is called now.
func (n *notifier) off() bool {
	return n.way == "off" || n.silent != nil && n.now != nil && n.silent(n.now())
}

// notify calls a person with a text.
func (n *notifier) notify(text string) tea.Cmd {
	sequence := ""
	switch n.way {
	case "command":
		command := n.command
		return func() tea.Msg {
			if err := command(text); err != nil {
				return didMsg{err: fmt.Errorf("the command of [screen]: %w", err)}
			}
			return nil
		}
	case "bell":
	case "osc777": // a semicolon would end the text
		sequence = "\x1b]777;notify;belay;" + strings.ReplaceAll(text, ";", ",") + "\x1b\\"
	case "osc99":
		sequence = ansi.DesktopNotification("belay", "i=belay", "d=0", "p=title") +
			ansi.DesktopNotification(text, "i=belay", "p=body")
	default:
		sequence = ansi.Notify("belay: " + text)
	}
	if n.wrap != nil && sequence != "" {
		sequence = n.wrap(sequence)
	}
	return tea.Raw(sequence + "\a")
}

// call calls a person who is looking elsewhere to a session.
func (n *notifier) call(title, reason string) tea.Cmd {
	if !n.blurred || n.off() || reason == "" {
		return nil
	}
	text := theme.Cut(title, 60)
	if text == "" {
		text = locale.T("a session")
	}
	return n.notify(text + " " + theme.Cut(reason, 120))
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
		if alert.Desktop && !n.off() {
			actions = append(actions, work{n.notify(theme.Line(alert.Text))})
		}
	}
	return actions
}

// reasonToCall says why a person is called, if these records are a reason.
// Needed says whether the session already waited for one before them.
func reasonToCall(records []session.Record, s *session.Session, needed bool) string {
	if !needed && s.NeedsYou() {
		return locale.T(needsYou)
	}
	for _, r := range records {
		e, ok := r.Event.(session.TurnEnded)
		if !ok || s.PartOf != "" { // its plan says so
			continue
		}
		switch kind := theme.Kind(e.Fault); {
		case e.Outcome == session.OutcomeDone && !s.Live(): // nothing queued goes on
			return locale.T("is done")
		case e.Outcome == session.OutcomeParked && e.ParkCount > 1: // it has been said, and goes on by itself
		case e.Outcome == session.OutcomeParked && e.RetryAt.IsZero():
			return locale.T("is parked")
		case e.Outcome == session.OutcomeParked:
			return locale.T("is parked until %s", theme.At(e.RetryAt))
		case e.Outcome != session.OutcomeFailed:
		case e.Reason != "":
			return locale.T("failed: %s", theme.Line(e.Reason))
		case kind != "":
			return locale.T("failed: %s", kind)
		default:
			return locale.T("failed")
		}
	}
	return ""
}
