// Package cli decides what the command line means: which command runs, what it
// prints, and with which code belay ends.
package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"belay/config"
	"belay/models"
	"belay/session"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/theme"
)

// CLI is the program that a command line is given to. Main makes it.
type CLI struct {
	app.Env
	// SaveTerminal notes the state of the terminal; restore puts it back, after a
	// program was killed that had it.
	SaveTerminal func() (restore func())
	// Screen opens the full screen. Main gives both, so that the commands do not
	// depend on a terminal.
	Screen func(ctx context.Context, c CLI, o app.Options, s app.Screen) error
}

// Run carries out a command line and returns the exit code.
func Run(ctx context.Context, cli CLI, args []string) int {
	root := cli.rootCommand()
	root.SetArgs(args)
	root.SetIn(cli.In)
	root.SetOut(cli.Out)
	root.SetErr(cli.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exit.Done
	}
	code := exit.Code(err)
	var told *exit.Error
	if !errors.As(err, &told) {
		fmt.Fprintln(cli.Err, "belay: "+theme.Sanitize(exit.Message(err)))
	}
	return code
}

// globalFlags are the flags of every command that works in a project.
type globalFlags struct {
	dir, tier, approve string
	budget, effort     string
	rehearsal          string
	trust              bool
	debugHTTP          string
}

func (cli CLI) rootCommand() *cobra.Command {
	var globals globalFlags
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
		Version:       cli.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A flag whose value may be left out takes it only after an =; people
			// write a space.
			switch {
			case len(args) == 0:
			case len(args) == 1 && resume == pickSession:
				resume = args[0]
			case len(args) == 1 && globals.rehearsal == app.BuiltIn:
				globals.rehearsal = args[0]
			default:
				return unknownCommand(cmd, args[0])
			}
			return cli.openScreen(cmd.Context(), globals, last, resume, cmd.Flags().Changed("resume"))
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetVersionTemplate("belay {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(printUsage)
	root.SetHelpCommand(helpCommand())
	p := root.PersistentFlags()
	p.BoolP("help", "h", false, "this text")
	root.Flags().BoolP("version", "v", false, "print the version")
	p.StringVarP(&globals.dir, "dir", "C", "", "work in this `FOLDER` instead of the current one")
	p.StringVar(&globals.debugHTTP, "debug-http", "", "append every exchange with a model to this `FILE`, without keys")
	root.Flags().BoolVarP(&last, "continue", "c", false, "go on with the last session of this folder")
	root.Flags().StringVarP(&resume, "resume", "r", "", "open this session; without an `ID`, pick one")
	root.Flags().Lookup("resume").NoOptDefVal = pickSession
	root.Flags().StringVar(&globals.rehearsal, "rehearsal", "",
		"play with a scripted model: your own `SCRIPT`, or the built-in one")
	root.Flags().Lookup("rehearsal").NoOptDefVal = app.BuiltIn
	cli.addModelFlags(root, &globals)
	root.AddCommand(
		cli.runCommand(&globals),
		cli.resumeCommand(&globals),
		cli.sessionsCommand(&globals),
		cli.modelsCommand(&globals),
		cli.doctorCommand(&globals),
		cli.statsCommand(&globals),
		cli.configCommand(&globals),
		cli.trustCommand(&globals),
		cli.permissionsCommand(&globals),
		cli.demoCommand(&globals),
		cli.rehearseCommand(),
		cli.playCommand(&globals),
	)
	addCompletion(root)
	checkArgs(root)
	return root
}

// pickSession is the value of -r without an id.
const pickSession = "pick"

func (cli CLI) addModelFlags(c *cobra.Command, g *globalFlags) {
	c.Flags().StringVar(&g.tier, "tier", "", "`TIER` to ask: heavy, medium or light")
	c.Flags().StringVar(&g.effort, "effort", "",
		"reasoning `EFFORT` to ask for, such as low or high (default: the settings')")
	c.Flags().StringVar(&g.approve, "approve", "",
		"`MODE`, what runs without asking: ask (reading), edits (and file changes), all")
	c.Flags().BoolVar(&g.trust, "trust", false, "trust this folder: read its .belay.toml and AGENTS.md")
}

func addRehearsalFlag(command *cobra.Command, script *string) {
	const text = "a `SCRIPT` that answers in place of the models; built-in for belay's own"
	command.Flags().StringVar(script, "rehearsal", "", text)
}

// options turns the global flags into Options.
func (cli CLI) options(globals globalFlags, program string) (app.Options, error) {
	if globals.tier != "" {
		if _, err := models.ParseTier(globals.tier); err != nil {
			return app.Options{}, &exit.UsageError{Err: err}
		}
	}
	switch session.Mode(globals.approve) {
	case "", session.Ask, session.Edits, session.All:
	default:
		return app.Options{}, &exit.UsageError{
			Err: fmt.Errorf("unknown approval mode %q: use ask, edits or all", globals.approve),
		}
	}
	for _, f := range []struct{ flag, key, value string }{
		{"--budget", "context.budget", globals.budget},
		{"--effort", "request.effort", globals.effort},
	} {
		if f.value == "" {
			continue
		}
		if _, err := config.Load(config.Sources{Flags: map[string]string{f.key: f.value}}); err != nil {
			return app.Options{}, &exit.UsageError{Err: fmt.Errorf("%s: %w", f.flag, err)}
		}
	}
	dir, err := cli.projectDir(globals)
	if err != nil {
		return app.Options{}, err
	}
	return app.Options{
		Project:   dir,
		Tier:      globals.tier,
		Mode:      globals.approve,
		Budget:    globals.budget,
		Effort:    globals.effort,
		Rehearsal: globals.rehearsal,
		Trust:     globals.trust,
		Program:   program,
		DebugHTTP: globals.debugHTTP,
	}, nil
}

// openScreen opens the full screen on a new session, the last one, or a chosen one.
func (cli CLI) openScreen(ctx context.Context, g globalFlags, last bool, resume string, asked bool) error {
	options, err := cli.options(g, "screen")
	if err != nil {
		return err
	}
	if last && asked {
		return &exit.UsageError{Err: errors.New("-c and -r exclude each other")}
	}
	if cli.Width(cli.In) == 0 || cli.Width(cli.Out) == 0 {
		return &exit.UsageError{Err: errors.New("the full screen needs a terminal; without one use `belay run`")}
	}
	var screen app.Screen
	switch {
	case last:
		screen.Session, err = cli.lastSession(ctx, options.Project)
	case asked && resume == pickSession:
		screen.Picker = true
	case asked:
		var found session.Session
		if found, err = cli.findSession(ctx, resume); err == nil {
			err = checkFolder(found)
			screen.Session, options.Project = found.ID, found.Project
		}
	}
	if err != nil {
		return err
	}
	if options.Rehearsal != "" {
		screen.Banner = app.RehearsalBanner
	}
	return cli.Screen(ctx, cli, options, screen)
}

// lastSession finds the session that -c means. No session is an error: silently
// beginning a new one would hide that the old one is gone.
func (cli CLI) lastSession(ctx context.Context, project string) (session.ID, error) {
	st, err := app.OpenForReading(ctx)
	if err != nil {
		return "", err
	}
	defer st.Close()
	state, ok, err := st.Last(ctx, project)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", &exit.UsageError{
			Err: fmt.Errorf("there is no session of %s to go on with", project),
			See: "belay, for a new one, or belay -r, to pick one of another folder",
		}
	}
	return state.ID, nil
}

func (cli CLI) findSession(ctx context.Context, prefix string) (session.Session, error) {
	st, err := app.OpenForReading(ctx)
	if err != nil {
		return session.Session{}, err
	}
	defer st.Close()
	return st.Find(ctx, prefix)
}
