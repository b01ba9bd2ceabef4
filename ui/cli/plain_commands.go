package cli

import (
	"bufio"
	"context"
	"io"
	"strings"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/locale"
	"belay/ui/theme"
)

// leaveCommand ends the plain screen.
const leaveCommand = "quit"

// plainCommand is one that can be typed on the plain screen.
type plainCommand struct {
	name, does string
	do         func(p *plainScreen, ctx context.Context, rest string) error
}

// plainCommands are what the keys of the full screen do, as words.
var plainCommands []plainCommand

func init() { // the help lists them all
	plainCommands = []plainCommand{
		{"heavy", "ask the heavy tier", chooseTier(models.Heavy)},
		{"medium", "ask the medium tier", chooseTier(models.Medium)},
		{"light", "ask the light tier", chooseTier(models.Light)},
		{"now", "try now; go on with a stopped, failed or parked turn", (*plainScreen).tryNow},
		{"park", "park: save for later", tell(session.Park{})},
		{"stop", "stop what runs", tell(session.Stop{})},
		{"drop", "drop the parked or failed turn; send what is held", tell(session.Drop{})},
		{"compact", "summarise older work", func(p *plainScreen, ctx context.Context, rest string) error {
			return p.app.Engine.Do(ctx, p.id, session.Compact{Keep: rest})
		}},
		{"mode", "ask, edits or all: what runs without asking", func(p *plainScreen, ctx context.Context, rest string) error {
			return p.app.Engine.Do(ctx, p.id, session.ChooseMode{Mode: session.Mode(rest)})
		}},
		{"status", "this session, its models and what it cost", (*plainScreen).status},
		{"again", "show the waiting question again", func(p *plainScreen, _ context.Context, _ string) error {
			if p.asked != nil {
				p.ask(*p.asked)
			}
			return nil
		}},
		{"help", "this list", func(p *plainScreen, _ context.Context, _ string) error {
			for _, c := range plainCommands {
				p.say("/%s  %s", c.name, locale.T(c.does))
			}
			p.say("anything else is sent to the model; while a turn runs it waits for its end")
			return nil
		}},
		{leaveCommand, "leave; the session stays", func(*plainScreen, context.Context, string) error { return nil }},
	}
}

func tell(command session.Command) func(*plainScreen, context.Context, string) error {
	return func(p *plainScreen, ctx context.Context, _ string) error { return p.app.Engine.Do(ctx, p.id, command) }
}

func chooseTier(tier models.Tier) func(*plainScreen, context.Context, string) error {
	return func(p *plainScreen, ctx context.Context, _ string) error {
		if err := p.app.Engine.Do(ctx, p.id, session.ChooseTier{Tier: tier}); err != nil {
			return err
		}
		p.say("%s from now on", locale.T(string(tier)))
		return nil
	}
}

// tryNow asks again at once: the request that waits, or the turn that stands still.
func (p *plainScreen) tryNow(ctx context.Context, _ string) error {
	if p.live() {
		return p.app.Engine.Do(ctx, p.id, session.TryNow{})
	}
	return p.app.Engine.Do(ctx, p.id, session.Resume{})
}

func (p *plainScreen) status(context.Context, string) error {
	state, _ := p.app.Engine.Session(p.id)
	p.say("session %s, %s, %s", state.ID, p.standing(state), theme.Money(state.Cost))
	for _, c := range p.app.Engine.Outlook(p.id) {
		text := theme.ConditionText(c, p.cli.Now())
		if c.Answers {
			text += locale.T(", answers")
		}
		p.say("%s  %s  %s", locale.T(string(c.Tier)), c.Target, text)
	}
	return nil
}

// readMessages gives what is typed, line by line. Lines that come at once, as those of
// a paste do, and lines that end in a backslash are one message with the next.
func readMessages(in io.Reader) <-chan string {
	lines, messages := make(chan string), make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxPrompt)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	go func() {
		defer close(messages)
		for first := range lines {
			messages <- gather(first, lines)
		}
	}()
	return messages
}

func gather(message string, lines <-chan string) string {
	for {
		goesOn := strings.HasSuffix(message, `\`)
		var late <-chan time.Time
		if !goesOn {
			late = time.After(messageGap)
		}
		select {
		case next, open := <-lines:
			if !open {
				return message
			}
			message = strings.TrimSuffix(message, `\`) + "\n" + next
		case <-late:
			return message
		}
	}
}
