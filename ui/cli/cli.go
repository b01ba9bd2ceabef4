// Package cli decides what the command line means: which command runs, what it
// prints, and with which code belay ends.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"belay/config"
	"belay/models"
	"belay/session"
	"belay/ui/theme"
)

// Deps are what the commands work with. Main gives them.
type Deps struct {
	In       io.Reader
	Out, Err io.Writer
	Dir      string // the working folder
	Version  string
	Now      func() time.Time
	NewID    func() string
	// Width is the number of columns if a stream is a terminal, else 0.
	Width func(stream any) int

	// Keep notes the state of the terminal; what it returns puts the terminal back
	// into that, after a program was killed that had it.
	Keep func() (mend func())
	// Screen opens the full screen. Main gives both, so that the commands do not
	// depend on a terminal.
	Screen func(ctx context.Context, d Deps, c Choice, s Screen) error
}

// Choice is what the command line says about models and permissions; empty
// fields leave it to the settings.
type Choice struct {
	Project   string
	Tier      string
	Approve   string
	Budget    string // tokens a request may take
	Effort    string // of reasoning
	Rehearsal string // a script; its models take the place of the real ones
	What      string // the kind of program, for others that want the same session
	Alone     bool   // nobody can answer questions
	Trust     bool   // the project's settings and AGENTS.md may be read
	Data      string // another data folder; for the demo
	NoWait    bool   // a parked turn ends the run
	MaxWait   time.Duration
	DebugHTTP string // a file for every exchange with a model
	Failback  string // how soon a model that gave way is gone back to; for the demo
}

// Screen is what the full screen opens with.
type Screen struct {
	Session session.ID
	GoOn    bool // with its turn, at once
	Picker  bool
	Prompt  string // sent at once
	Split   bool   // as a task to be carried out in steps
	Banner  string
	// Beside goes on beside the screen, once the house is open, until it returns
	// or its context ends; whoever opened the screen waits for it.
	Beside func(ctx context.Context, h *House)
}

// Run carries out a command line and returns the exit code.
func Run(ctx context.Context, d Deps, args []string) int {
	root := d.root()
	root.SetArgs(args)
	root.SetIn(d.In)
	root.SetOut(d.Out)
	root.SetErr(d.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	code := exitOf(err)
	var told *toldError
	if !errors.As(err, &told) {
		fmt.Fprintln(d.Err, "belay: "+theme.Sanitize(message(err)))
	}
	return code
}

// global are the flags of every command that works in a project.
type global struct {
	dir, tier, approve string
	budget, effort     string
	rehearsal          string
	trust              bool
	debugHTTP          string
}

func (d Deps) root() *cobra.Command {
	var g global
	var last bool
	var resume string
	root := &cobra.Command{
		Use:   "belay",
		Short: "A terminal coding agent that keeps the work when the model gives way",
		Long: `belay drives coding sessions against OpenAI-compatible models. When a model is
at capacity it waits, switches or parks in the open, and goes on from the last
thing that was really done.

Without a command it opens the full screen.`,
		Example: `  belay                      a new session in this folder
  belay -c                   go on with the last session of this folder
  belay -r                   pick a session
  belay run "fix the test"   without a screen
  belay --rehearsal          everything, with a scripted model and no account`,
		Args:          cobra.ArbitraryArgs,
		Version:       d.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A flag whose value may be left out takes it only after an =; people
			// write a space.
			switch {
			case len(args) == 0:
			case len(args) == 1 && resume == pick:
				resume = args[0]
			case len(args) == 1 && g.rehearsal == BuiltIn:
				g.rehearsal = args[0]
			default:
				return unknown(cmd, args[0])
			}
			return d.screen(cmd.Context(), g, last, resume, cmd.Flags().Changed("resume"))
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetVersionTemplate("belay {{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	root.SetUsageFunc(usage)
	root.SetHelpCommand(helpCommand())
	p := root.PersistentFlags()
	p.BoolP("help", "h", false, "this text")
	root.Flags().BoolP("version", "v", false, "print the version")
	p.StringVarP(&g.dir, "dir", "C", "", "work in this `FOLDER` instead of the current one")
	p.StringVar(&g.debugHTTP, "debug-http", "", "append every exchange with a model to this `FILE`, without keys")
	root.Flags().BoolVarP(&last, "continue", "c", false, "go on with the last session of this folder")
	root.Flags().StringVarP(&resume, "resume", "r", "", "open this session; without an `ID`, pick one")
	root.Flags().Lookup("resume").NoOptDefVal = pick
	root.Flags().StringVar(&g.rehearsal, "rehearsal", "", "play with a scripted model: your own `SCRIPT`, or the built-in one")
	root.Flags().Lookup("rehearsal").NoOptDefVal = BuiltIn
	d.modelFlags(root, &g)
	root.AddCommand(d.run(&g), d.resume(&g), d.sessions(&g), d.models(&g), d.doctor(&g), d.stats(&g), d.config(&g), d.demo(&g), d.rehearse(), d.reaper(), d.player(&g))
	completion(root)
	checkArgs(root)
	return root
}

// BuiltIn is a Choice's Rehearsal when the script of belay's own plays.
const BuiltIn = "built-in"

// pick is the value of -r without an id.
const pick = "pick"

func (d Deps) modelFlags(c *cobra.Command, g *global) {
	c.Flags().StringVar(&g.tier, "tier", "", "`TIER` to ask: heavy, medium or light")
	c.Flags().StringVar(&g.effort, "effort", "", "reasoning `EFFORT` to ask for, such as low or high (default: the settings')")
	c.Flags().StringVar(&g.approve, "approve", "", "`MODE`, what runs without asking: ask (reading), edits (and file changes), all")
	c.Flags().BoolVar(&g.trust, "trust", false, "trust this folder: read its .belay.toml and AGENTS.md")
}

// choice turns the global flags into a Choice.
func (d Deps) choice(g global, what string) (Choice, error) {
	if g.tier != "" {
		if _, err := models.ParseTier(g.tier); err != nil {
			return Choice{}, &usageError{err: err}
		}
	}
	switch session.Mode(g.approve) {
	case "", session.Ask, session.Edits, session.All:
	default:
		return Choice{}, &usageError{err: fmt.Errorf("unknown approval mode %q: use ask, edits or all", g.approve)}
	}
	for _, f := range []struct{ flag, key, value string }{{"--budget", "context.budget", g.budget}, {"--effort", "request.effort", g.effort}} {
		if f.value == "" {
			continue
		}
		if _, err := config.Load(config.Sources{Flags: map[string]string{f.key: f.value}}); err != nil {
			return Choice{}, &usageError{err: fmt.Errorf("%s: %w", f.flag, err)}
		}
	}
	dir, err := d.project(g)
	if err != nil {
		return Choice{}, err
	}
	return Choice{Project: dir, Tier: g.tier, Approve: g.approve, Budget: g.budget, Effort: g.effort, Rehearsal: g.rehearsal, Trust: g.trust, What: what, DebugHTTP: g.debugHTTP}, nil
}

// screen opens the full screen on a new session, the last one, or a chosen one.
func (d Deps) screen(ctx context.Context, g global, last bool, resume string, asked bool) error {
	c, err := d.choice(g, "screen")
	if err != nil {
		return err
	}
	if last && asked {
		return &usageError{err: errors.New("-c and -r exclude each other")}
	}
	if d.Width(d.In) == 0 || d.Width(d.Out) == 0 {
		return &usageError{err: errors.New("the full screen needs a terminal; without one use `belay run`")}
	}
	var s Screen
	switch {
	case last:
		s.Session, err = d.last(ctx, c.Project)
	case asked && resume == pick:
		s.Picker = true
	case asked:
		var found session.Session
		if found, err = d.find(ctx, resume); err == nil {
			err = there(found)
			s.Session, c.Project = found.ID, found.Project
		}
	}
	if err != nil {
		return err
	}
	if c.Rehearsal != "" {
		s.Banner = RehearsalBanner
	}
	return d.Screen(ctx, d, c, s)
}

// last finds the session that -c means. No session is an error: silently
// beginning a new one would hide that the old one is gone.
func (d Deps) last(ctx context.Context, project string) (session.ID, error) {
	st, err := Data(ctx, true)
	if err != nil {
		return "", err
	}
	defer st.Close()
	s, ok, err := st.Last(ctx, project)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", &usageError{err: fmt.Errorf("there is no session of %s to go on with", project), help: "belay, for a new one, or belay -r, to pick one of another folder"}
	}
	return s.ID, nil
}

func (d Deps) find(ctx context.Context, prefix string) (session.Session, error) {
	st, err := Data(ctx, true)
	if err != nil {
		return session.Session{}, err
	}
	defer st.Close()
	return st.Find(ctx, prefix)
}
