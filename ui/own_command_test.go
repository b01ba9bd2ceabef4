package ui

import (
	"context"
	"errors"
	"strings"
	"testing"

	"belay/models"
	"belay/session"
)

// ownShell runs no command: the test says what it prints and when it ends.
type ownShell struct {
	lines  chan string // that were begun
	output chan string // closed: it ends
}

func (f *ownShell) run(ctx context.Context, line string, output func(string)) (string, error) {
	f.lines <- line
	var all strings.Builder
	for {
		select {
		case <-ctx.Done():
			return all.String(), errors.New("the command: stopped")
		case text, more := <-f.output:
			if !more {
				return all.String(), nil
			}
			all.WriteString(text)
			output(text)
		}
	}
}

func startWithShell(t *testing.T) (*ownShell, chan session.Prompt, *screen) {
	t.Helper()
	shell := &ownShell{make(chan string, 1), make(chan string)}
	sent := make(chan session.Prompt, 1)
	world := newFakeEngine()
	world.add("s1", "", turn("go on"), session.TurnEnded{Outcome: session.OutcomeDone})
	world.reply = func(_ *fakeEngine, _ session.ID, c session.Command) { sent <- c.(session.Send).Prompt }
	o := world.options()
	o.Open, o.RunShell = "s1", shell.run
	s := startScreen(t, 100, 24, o)
	s.wait("go on")
	return shell, sent, s
}

func TestOnesOwnCommandShowsItsOutputAsItComes(t *testing.T) {
	shell, sent, s := startWithShell(t)
	s.press("!make test", "enter")
	if got := <-shell.lines; got != "make test" {
		t.Errorf("it runs %q", got)
	}
	s.wait("▸ ! make test", "esc stops it")
	shell.output <- "ok one\n"
	s.wait("│ ok one", "▸ ! make test")
	shell.output <- "ok two\n"
	s.wait("│ ok two")
	close(shell.output)
	s.wait("✓ ! make test", "goes with your next message")
	s.press("why?", "enter")
	got := <-sent
	want := models.Attachment{Name: "output of ! make test", Text: "ok one\nok two"}
	if len(got.Attachments) != 1 || got.Attachments[0] != want || got.Text != "why?" {
		t.Errorf("sent %+v, want the output with it", got)
	}
	s.wait("the model has it")
	s.press("and?", "enter")
	if got := <-sent; len(got.Attachments) != 0 {
		t.Errorf("the output is sent again: %+v", got)
	}
}

func TestOnesOwnCommandStopsWithEsc(t *testing.T) {
	shell, _, s := startWithShell(t)
	s.press("!sleep 1000", "enter")
	<-shell.lines
	shell.output <- "begun\n"
	s.wait("│ begun")
	s.press("esc")
	s.wait("✗ ! sleep 1000", "the command: stopped", "│ begun")
}

func TestTwoMarksKeepTheOutputFromTheModel(t *testing.T) {
	shell, sent, s := startWithShell(t)
	s.press("!!cat notes", "enter")
	if got := <-shell.lines; got != "cat notes" {
		t.Errorf("it runs %q", got)
	}
	shell.output <- "private\n"
	close(shell.output)
	s.wait("✓ ! cat notes", "the model does not see it")
	s.press("hello", "enter")
	if got := <-sent; len(got.Attachments) != 0 {
		t.Errorf("the output was sent: %+v", got)
	}
}

func TestACommandBeforeThereIsASessionBecomesItsBeginning(t *testing.T) {
	shell := &ownShell{make(chan string, 1), make(chan string)}
	sent := make(chan session.Prompt, 2)
	world := newFakeEngine()
	world.reply = func(w *fakeEngine, id session.ID, c session.Command) {
		sent <- c.(session.Send).Prompt
		obeyQuickly(w, id, c)
	}
	o := world.options()
	o.RunShell = shell.run
	s := startScreen(t, 100, 30, o)
	s.wait("● sol")
	s.press("!make test", "enter")
	<-shell.lines
	shell.output <- "one fails\n"
	close(shell.output)
	s.wait("! make test", "one fails", "yours; goes with your next message")
	shell.output = make(chan string)
	s.press("!make run", "enter")
	<-shell.lines
	s.wait("! make run")
	s.press("mend it", "enter")
	text := s.wait("› mend it", "yours; the model has it", "! make run")
	if strings.Index(text, "! make test") > strings.Index(text, "› mend it") {
		t.Errorf("the command does not stand before the message:\n%s", text)
	}
	if p := <-sent; len(p.Attachments) != 1 || p.Attachments[0].Text != "one fails" {
		t.Errorf("the first message goes with %v", p.Attachments)
	}
	shell.output <- "it runs\n"
	close(shell.output)
	s.wait("it runs", "yours; goes with your next message")
	s.press("and now", "enter")
	if p := <-sent; len(p.Attachments) != 1 || p.Attachments[0].Text != "it runs" {
		t.Errorf("the second message goes with %v", p.Attachments)
	}
}
