package ui

import (
	_ "embed" // for the prompts
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
	"belay/ui/transcript"
)

// sessionCommands are the commands that are typed by name to learn about the session in
// view, or to do with it what the command line does as well.
type sessionCommands struct {
	options Options
	views   *sessionViews
	backend *backend
	draft   *draft
	mode    session.Mode // of new sessions
}

// run runs one of belay's own commands and shows what it printed.
func (c *sessionCommands) run(args ...string) action {
	run, ctx := c.options.RunTool, c.backend.ctx
	if run == nil {
		return nil
	}
	line := "belay " + strings.Join(args, " ")
	return together{message{runsText(line)}, work{func() tea.Msg {
		out, err := run(ctx, args...)
		return shellMsg{line, out, err}
	}}}
}

// permissions lists what runs without asking; "revoke 2" takes that back.
func (c *sessionCommands) permissions(text string) action {
	return c.run(append([]string{"permissions"}, strings.Fields(text)...)...)
}

// export writes the session in view to a new file.
func (c *sessionCommands) export(file string) action {
	v := c.views.shown()
	if v == nil {
		return message{"there is nothing to export yet"}
	}
	if file == "" {
		file = "belay-" + string(v.state.ID) + ".md"
	}
	return c.run("sessions", "export", string(v.state.ID), "-o", file)
}

// changes shows what differs from the last commit.
func (c *sessionCommands) changes() action {
	load, ctx := c.options.Changes, c.backend.ctx
	if load == nil {
		return nil
	}
	return work{func() tea.Msg {
		diff, err := load(ctx)
		return changesMsg{diff, err}
	}}
}

// changesMsg brings what differs from the last commit.
type changesMsg struct {
	diff string
	err  error
}

func showChanges(msg changesMsg) action {
	switch {
	case msg.err != nil:
		return complaint{msg.err}
	case strings.TrimSpace(msg.diff) == "":
		return message{"nothing differs from the last commit"}
	}
	return openDialog{&pager{title: locale.T("changes since the last commit"), change: msg.diff,
		draw: func(th *theme.Theme, width int, sideBySide bool) []string {
			var lines []string
			for _, file := range theme.SplitPatch(msg.diff) {
				if len(lines) > 0 {
					lines = append(lines, "")
				}
				lines = append(lines, th.Strong.Paint(theme.Cut(file.Name, width)))
				lines = append(lines, transcript.Diff(th, file.Text, width, sideBySide)...)
			}
			return lines
		}}}
}

//go:embed review.md
var reviewPrompt string

//go:embed init.md
var initPrompt string

// review asks the model to look at what differs from the last commit, or at what the
// words say.
func (c *sessionCommands) review(what string) action {
	prompt := strings.TrimSpace(reviewPrompt)
	if what != "" {
		prompt += "\n\nLook at this above all: " + what
	}
	return c.ask(prompt)
}

func (c *sessionCommands) writeRules() action { return c.ask(strings.TrimSpace(initPrompt)) }

func (c *sessionCommands) ask(prompt string) action {
	return c.draft.deliver(session.Prompt{ID: c.options.NewID(), Text: prompt}, asSend)
}

// cost says what the session in view has used.
func (c *sessionCommands) cost() action {
	v := c.views.shown()
	if v == nil {
		return message{"nothing has been used yet"}
	}
	return note{strings.Join(usageLines(&v.state), "\n")}
}

func usageLines(s *session.Session) []string {
	used := s.Usage
	tokens := locale.T("used     %s tokens in, %s out", theme.Count(used.Input), theme.Count(used.Output))
	if used.Cached > 0 {
		tokens = locale.T("used     %s tokens in (%s of them cached), %s out", theme.Count(used.Input),
			theme.Count(used.Cached), theme.Count(used.Output))
	}
	cost := locale.T("cost     %s, as far as prices are known", theme.Money(s.Cost))
	return []string{cost, tokens, locale.T("turns    %d", s.Turn)}
}

// status says how the session in view stands.
func (c *sessionCommands) status() action {
	lines := []string{locale.T("folder   %s", theme.Line(c.options.Project)), "belay    " + c.options.Version}
	tiers, mode := c.views.tiers, c.mode
	if v := c.views.shown(); v != nil {
		s := &v.state
		tiers, mode = v.tiers, s.Mode
		lines = append(lines, locale.T("session  %s  %s  (%s)", s.ID, theme.Line(s.Title), locale.T(string(s.Status))))
		if counted := v.usage.Counted; counted > 0 || s.ContextTokens > 0 {
			lines = append(lines, locale.T("context  %s of %s tokens (%s shows what they are)",
				theme.Count(max(counted, s.ContextTokens)), theme.Count(s.Window), keys.Label(keys.Context)))
		}
		lines = append(lines, usageLines(s)...)
		if s.PinnedTarget != (models.Target{}) {
			lines = append(lines, locale.T("pinned   %s", s.PinnedTarget))
		}
	}
	for _, condition := range tiers {
		tier := theme.Fit(locale.T(string(condition.Tier)), 8)
		lines = append(lines, tier+" "+condition.Target.String()+"  "+locale.T(string(condition.State)))
	}
	lines = append(lines, locale.T("mode     %s  (%s changes it, %s lists what you allowed for good)", mode,
		keys.Label(keys.NextMode), keys.Label(keys.Permissions)))
	return note{strings.Join(lines, "\n")}
}

// renameTo takes a title, or asks for one.
func (c *controls) renameTo(title string) action {
	if title == "" {
		return c.rename()
	}
	return c.ifOpen(session.Rename{Title: title})
}

// unknownCommand says what may have been meant by the name of no command.
func unknownCommand(name string) action {
	if name == "" {
		return message{locale.T("type the name of a command, such as %s", keys.Label(keys.Compact))}
	}
	text := locale.T("there is no /%s", theme.Line(name))
	var near []string
	for _, n := range models.Nearest(name, keys.AllNames()) {
		near = append(near, "/"+n)
	}
	if len(near) > 0 {
		text += locale.T("; nearest: %s", strings.Join(near, ", "))
	}
	return message{text + locale.T(" (a space in front sends it to the model)")}
}
