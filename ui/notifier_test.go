package ui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"belay/session"
)

func TestAnAlertIsShownAndTheDesktopTold(t *testing.T) {
	w, s := startOnSession(t, 80, 24, turn("the job"))
	s.wait("the job")
	w.published <- []session.Record{{Event: session.Alerted{Text: "82 % of this day's budget is spent\x1b[31m",
		Screen:  true,
		Desktop: true}}}
	s.wait("82 % of this day's budget is spent")
	s.waitFor("a notification", func(string) bool {
		return strings.Contains(s.raw.String(), "\x1b]9;belay: 82 % of this day's budget is spent")
	})
	if s.wrote("spent\x1b[31m") {
		t.Error("an alert reached the terminal as it was")
	}
}

// A person who looks elsewhere is called when a turn ends, fails, is parked or asks, in
// the way of their terminal; nobody is called while they look, or in quiet hours.
func TestAPersonWhoLooksElsewhereIsCalled(t *testing.T) {
	ended := func(outcome session.TurnOutcome) session.Event {
		return session.TurnEnded{Outcome: outcome, Fault: capacityFault()}
	}
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i+1 < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for name, tt := range map[string]struct {
		setting string
		env     func(string) string
		event   session.Event
		want    string
	}{
		"done, iTerm2": {"auto", env("TERM_PROGRAM", "iTerm.app"), ended(session.OutcomeDone), "\x1b]9;belay: the job is done\a\a"},
		"parked, kitty": {
			"auto", env("TERM", "xterm-kitty"), ended(session.OutcomeParked), "\x1b]99;i=belay:p=body;the job is parked\a\a",
		},
		"asks, foot": {
			"auto", env("TERM", "foot"), approvalAsked("make migrate"), "\x1b]777;notify;belay;the job needs you\x1b\\\a",
		},
		"failed, under tmux": {
			"osc9", env("TMUX", "/tmp/x"), ended(session.OutcomeFailed), "\x1bPtmux;\x1b\x1b]9;belay: the job failed: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			world := newFakeEngine()
			world.add("s1", "", turn("the job"))
			o := world.options()
			o.Open = "s1"
			o.Notices = NoticesOf(tt.setting, tt.env, nil, nil)
			s := startScreen(t, 80, 24, o)
			s.wait("the job")
			s.press("blur", "x")
			s.wait("› x")
			world.emit("s1", tt.event)
			s.waitFor("a notification", func(string) bool { return s.wroteLocked(tt.want) })
		})
	}
	for name, quiet := range map[string]bool{"looking": false, "in quiet hours": true} {
		t.Run("nobody is called "+name, func(t *testing.T) {
			world := newFakeEngine()
			world.add("s1", "", turn("the job"))
			o := world.options()
			o.Open = "s1"
			o.Notices = NoticesOf("osc9", env(), func(time.Time) bool { return quiet }, nil)
			s := startScreen(t, 80, 24, o)
			s.wait("the job")
			if quiet {
				s.press("blur")
			}
			s.press("x")
			s.wait("› x")
			world.emit("s1", ended(session.OutcomeDone))
			s.wait("· done")
			if s.wrote("\x1b]9;belay") {
				t.Error("called")
			}
		})
	}
	t.Run("a command that fails says so", func(t *testing.T) {
		world := newFakeEngine()
		world.add("s1", "", turn("the job"))
		o := world.options()
		o.Open = "s1"
		told := make(chan string, 1)
		o.Notices = NoticesOf("command", env(), nil, func(text string) error { told <- text; return errors.New("no such program") })
		s := startScreen(t, 80, 24, o)
		s.wait("the job")
		s.press("blur", "x")
		s.wait("› x")
		world.emit("s1", ended(session.OutcomeDone))
		if got := <-told; got != "the job is done" {
			t.Errorf("told %q", got)
		}
		s.wait("no such program")
	})
}
