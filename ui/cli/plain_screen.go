package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
	"belay/ui/theme"
)

// plainScreen is a session that is read and written line by line: no boxes, nothing
// changes in place. It is for screen readers, for logs and for terminals that can do no
// more.
type plainScreen struct {
	*sessionRunner
	project string
	lines   <-chan string
	// interrupts are heard from the start on: one that comes while a session is opened counts.
	interrupts <-chan os.Signal

	ended   bool              // no more lines will come
	asked   *session.Approval // waits for an answer
	askedAt time.Time
	sure    bool // the next "a" is the second
}

// openPlainScreen goes on until the person leaves.
func (cli CLI) openPlainScreen(ctx context.Context, options app.Options, with app.Screen) (err error) {
	lines := readMessages(cli.In)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(interrupts)
	if err := cli.askSetup(ctx, options, lines); err != nil {
		return err
	}
	opened, err := app.Open(ctx, cli.Env, options)
	if err != nil {
		return err
	}
	runner := &sessionRunner{cli: cli, app: opened, out: plain.NewText(cli.Out, cli.Out, 0, cli.Now)}
	p := &plainScreen{sessionRunner: runner, project: options.Project, lines: lines, interrupts: interrupts}
	err = p.run(context.WithoutCancel(ctx), options, with)
	err = errors.Join(err, opened.Close())
	p.alerts()
	if p.id != "" && err == nil && options.Rehearsal == "" {
		p.say("to go on: belay -r %s", p.id)
	}
	return err
}

// askSetup asks what must be known before the first session.
func (cli CLI) askSetup(ctx context.Context, options app.Options, lines <-chan string) error {
	questions, err := app.SetupQuestions(ctx, options)
	if err != nil {
		return err
	}
	if questions.Key {
		return &exit.SettingsError{Err: &models.Fault{
			Kind:    models.KindAuth,
			Message: "there is no key for " + questions.Provider,
			Hint:    "Set its variable, or begin with `belay --rehearsal --plain-screen`.",
		}}
	}
	if !questions.Trust {
		return nil
	}
	fmt.Fprintln(cli.Out, locale.T("%s has settings or an AGENTS.md of its own. May belay read them? y or n",
		theme.Line(options.Project)))
	for {
		select {
		case <-ctx.Done():
			return &exit.Error{Code: exit.Interrupted}
		case line, open := <-lines:
			switch strings.ToLower(strings.TrimSpace(line)) {
			case "y", "yes":
				return app.SetTrusted(ctx, options.Project, true)
			case "n", "no":
				return app.SetTrusted(ctx, options.Project, false)
			}
			if !open {
				return &exit.Error{Code: exit.Interrupted}
			}
			fmt.Fprintln(cli.Out, locale.T("y or n"))
		}
	}
}

func (p *plainScreen) run(ctx context.Context, options app.Options, with app.Screen) error {
	if with.Banner != "" {
		p.say("%s", locale.Said(with.Banner))
	}
	var state session.Session
	var err error
	if with.Session == "" {
		state, err = p.app.Engine.Start(ctx, options.Project)
	} else {
		state, err = p.app.Engine.Open(ctx, with.Session, false)
	}
	if err != nil {
		return err
	}
	p.id, p.lastSeqBefore = state.ID, state.LastSeq
	p.noteSteps(state)
	if err := p.prepare(ctx, options, state); err != nil {
		return err
	}
	p.greet(state)
	if with.Prompt != "" {
		if err := p.send(ctx, with.Prompt); err != nil {
			return err
		}
	}
	return p.serve(ctx)
}

func (p *plainScreen) greet(state session.Session) {
	p.say("belay in %s. /help lists what can be typed.", theme.Line(p.project))
	if state.Turn > 0 {
		p.say("%s: %s", theme.Line(state.Title), p.standing(state))
	}
	if len(state.PendingApprovals) > 0 {
		p.ask(state.PendingApprovals[0])
	}
}

// standing says how a session is doing.
func (p *plainScreen) standing(state session.Session) string {
	_, text, _ := (&theme.Theme{}).Status(&state, p.cli.Now())
	return text
}

// serve takes what the person types and tells what happens, until one of them ends it.
func (p *plainScreen) serve(ctx context.Context) error {
	listening, quit := context.WithCancel(ctx)
	feed, failed, listener := p.listen(listening)
	defer func() {
		quit()
		listener.Wait()
	}()
	for {
		select {
		case records := <-feed:
			p.tell(records)
			if p.ended && !p.live() {
				return nil
			}
		case err := <-failed:
			return err
		case line, open := <-p.lines:
			leave, err := p.typed(ctx, line, open)
			if leave {
				return nil
			}
			if err != nil {
				p.say("✗ %s", exit.Message(err))
			}
		case got := <-p.interrupts:
			if got != os.Interrupt || !p.live() {
				return nil
			}
			if err := p.app.Engine.Do(ctx, p.id, session.Stop{}); err != nil {
				return err
			}
		}
	}
}

func (p *plainScreen) live() bool {
	state, ok := p.app.Engine.Session(p.id)
	return ok && state.Live()
}

// tell says what has happened, and asks what has to be asked.
func (p *plainScreen) tell(records []session.Record) {
	end := p.print(records)
	for _, r := range records {
		if r.Session != p.id {
			continue
		}
		switch e := r.Event.(type) {
		case session.ApprovalAsked:
			p.ask(e.Approval)
		case session.ApprovalAnswered, session.TurnEnded:
			p.asked = nil
		case session.PromptQueued:
			p.say("queued: goes out when this turn is over")
		}
	}
	if end == nil {
		return
	}
	state, _ := p.app.Engine.Session(p.id)
	if end.Outcome == session.OutcomeParked && !state.RetryAt.IsZero() {
		p.say("tried again at %s; /now tries at once", theme.At(state.RetryAt))
	}
	if end.Fault != nil && end.Fault.Hint != "" {
		p.say("  %s", locale.Said(end.Fault.Hint))
	}
}

// ask shows all of a call that waits for an answer, and what can be answered.
func (p *plainScreen) ask(a session.Approval) {
	p.asked, p.askedAt, p.sure = &a, p.cli.Now(), false
	detail := a.Preview
	if detail == "" {
		detail = a.Title
	}
	for _, line := range strings.Split(strings.TrimRight(theme.Visible(detail), "\n"), "\n") {
		p.say("  %s", line)
	}
	if a.UnknownOutcome {
		p.say("y: run it again · d: it was done · n REASON: neither")
		return
	}
	if a.Danger {
		p.say("this cannot be taken back")
	}
	if a.Always == "" {
		p.say("y: yes · n REASON: no")
		return
	}
	p.say("y: yes · a: always (%s) · n REASON: no", locale.Said(theme.Line(a.Always)))
}

// answer reads a line as the answer to the call that waits. Any other line is a message.
func (p *plainScreen) answer(line string) (answer session.Answer, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	answer.CallID = p.asked.CallID
	again := p.sure
	p.sure = false
	switch strings.ToLower(word) {
	case "n", "no":
		answer.Message = strings.TrimSpace(rest)
		return answer, true
	case "y", "yes":
		answer.Allow = true
		return answer, rest == ""
	case "d":
		answer.Outcome = true
		return answer, rest == "" && p.asked.UnknownOutcome
	case "a":
		if rest != "" || p.asked.Always == "" {
			return answer, false
		}
		answer.Allow, answer.Always = again, again
		p.sure = !again
		return answer, true
	}
	return answer, false
}

// typed carries a line out. It reports whether the person leaves.
func (p *plainScreen) typed(ctx context.Context, line string, open bool) (leave bool, err error) {
	if !open {
		p.ended, p.lines = true, nil
		return !p.live(), nil
	}
	if strings.TrimSpace(line) == "" {
		return false, nil
	}
	if p.asked != nil {
		if answer, ok := p.answer(line); ok {
			if answer.Allow && p.cli.Now().Sub(p.askedAt) < readingTime {
				p.say("that came before the question could be read: answer again")
				return false, nil
			}
			if p.sure {
				p.say("a once more allows it from now on: %s", locale.Said(theme.Line(p.asked.Always)))
				return false, nil
			}
			return false, p.app.Engine.Do(ctx, p.id, session.AnswerApproval{Answer: answer})
		}
	}
	if name, ok := strings.CutPrefix(line, "/"); ok {
		word, rest, _ := strings.Cut(name, " ")
		for _, c := range plainCommands {
			if c.name == strings.ToLower(word) {
				return c.name == leaveCommand, c.do(p, ctx, strings.TrimSpace(rest))
			}
		}
		if !strings.ContainsAny(word, "/.") {
			return false, &exit.UsageError{Err: fmt.Errorf("there is no command %q", "/"+word), See: "/help"}
		}
	}
	return false, p.send(ctx, line)
}

func (p *plainScreen) send(ctx context.Context, text string) error {
	prompt := session.Prompt{ID: p.cli.NewID(), Text: text}
	p.hints(ctx, prompt)
	return p.app.Engine.Do(ctx, p.id, session.Send{Prompt: prompt})
}

// readingTime is how long a question stands before an answer counts, so that what was
// typed for something else approves nothing.
const readingTime = 700 * time.Millisecond

// messageGap is how long lines may be apart that belong to one message: those of a
// paste come at once, those of a hand do not.
const messageGap = 40 * time.Millisecond
