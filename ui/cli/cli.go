// Package cli decides what the command line means: which command runs, what it
// prints, and with which code belay ends.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"belay/config"
	"belay/models"
	"belay/session"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
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
	locale.Use(locale.Choose(app.ScreenSettings().Lang, os.Getenv))
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
	rehearsed          bool // what scripts played is meant, not what models did
	trust              bool
	debugHTTP          string
}

func (cli CLI) rootCommand() *cobra.Command {
	var globals globalFlags
	var last bool
	var resume string
	var plain bool
	root := &cobra.Command{
		Use:   "belay [PROMPT]",
		Short: "A terminal coding agent that keeps the work when the model gives way",
		Long: `belay drives coding sessions against OpenAI-compatible models. When a model is
at capacity it waits, switches or parks in the open, and goes on from the last
thing that was really done.

Without a command it opens the full screen.`,
		Example: `  belay                      a new session in this folder
  belay "fix the test"       the same, and begin with this
  belay -c                   go on with the last session of this folder
  belay -r                   pick a session
  belay run "fix the test"   without a screen
  belay --rehearsal          everything, with a scripted model and no account`,
		Args:          cobra.ArbitraryArgs,
		Version:       cli.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if resume == pickSession && len(args) > 0 {
				resume, args = args[0], args[1:]
			}
			if globals.rehearsal == app.BuiltIn && len(args) > 0 && isScript(args[0]) {
				globals.rehearsal, args = args[0], args[1:]
			}
			noScreen := !plain && (cli.Width(cli.In) == 0 || cli.Width(cli.Out) == 0)
			if len(args) > 0 && isCommandLike(cmd, args[0], noScreen && len(args) == 1) {
				return unknownCommand(cmd, args[0])
			}
			opening := opening{plain: plain, last: last, chosen: cmd.Flags().Changed("resume"), id: resume, prompt: strings.Join(args, " ")}
			return cli.openScreen(cmd.Context(), globals, opening)
		},
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if json := cmd.Flags().Lookup("json"); json != nil && json.Changed {
			locale.Use(locale.English) // programs read one language
		}
		if globals.rehearsal == "" && !globals.rehearsed {
			return nil
		}
		within, err := app.Rehearsed(cmd.Context())
		cmd.SetContext(within)
		return err
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
	root.Flags().BoolVar(&plain, "plain-screen", false,
		"line by line, without boxes and changes in place: for screen readers and logs")
	root.Flags().Lookup("rehearsal").NoOptDefVal = app.BuiltIn
	cli.addModelFlags(root, &globals)
	root.AddCommand(
		cli.runCommand(&globals),
		cli.resumeCommand(&globals),
		batchCLI{cli}.batchCommand(&globals),
		batchCLI{cli}.workerCommand(&globals),
		cli.sessionsCommand(&globals),
		cli.modelsCommand(&globals),
		cli.doctorCommand(&globals),
		cli.statsCommand(&globals),
		cli.configCommand(&globals),
		cli.trustCommand(&globals),
		cli.permissionsCommand(&globals),
		cli.demoCommand(&globals),
		newGatewayCommand(cli, &globals),
		newStatusCommand(cli, &globals),
		newMetricsCommand(cli),
		cli.rehearseCommand(),
		cli.playCommand(&globals),
		versionCommand(cli),
	)
	addCompletion(root)
	addExamples(root)
	completeNames(root)
	checkArgs(root)
	translate(root)
	return root
}

// opening is what the full screen is opened for.
type opening struct {
	plain  bool   // line by line instead
	last   bool   // on the last session of the folder
	chosen bool   // on the session id, or on the list of all
	id     string // pickSession: the list
	prompt string // sent at once
}

// isScript reports whether the word after --rehearsal is its script: a flag whose
// value may be left out takes it only after an =, and people write a space.
func isScript(word string) bool {
	if strings.HasSuffix(word, ".toml") {
		return true
	}
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular()
}

// isCommandLike reports whether a word was probably meant as a command, and not as
// the beginning of a prompt: it is near the name of one, or alone where there is no
// screen to take a prompt.
func isCommandLike(cmd *cobra.Command, word string, alone bool) bool {
	cmd.SuggestionsMinimumDistance = 2
	return !strings.ContainsAny(word, " \t\n") && (alone || len(cmd.SuggestionsFor(word)) > 0)
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

// addRehearsedFlag lets a command that reads what was done read what was rehearsed.
func addRehearsedFlag(command *cobra.Command, globals *globalFlags) {
	command.PersistentFlags().BoolVar(&globals.rehearsed, "rehearsed", false,
		"what scripts played: it is kept apart from what models did")
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
func (cli CLI) openScreen(ctx context.Context, g globalFlags, o opening) error {
	options, err := cli.options(g, "screen")
	if err != nil {
		return err
	}
	if o.last && o.chosen {
		return &exit.UsageError{Err: errors.New("-c and -r exclude each other")}
	}
	if !o.plain && (cli.Width(cli.In) == 0 || cli.Width(cli.Out) == 0) {
		return &exit.UsageError{Err: errors.New("the full screen needs a terminal; without one use `belay run` or `belay --plain-screen`")}
	}
	if !o.plain && os.Getenv("TERM") == "dumb" {
		return &exit.UsageError{Err: errors.New("this terminal (TERM=dumb) cannot show a full screen; use `belay --plain-screen`")}
	}
	screen := app.Screen{Prompt: o.prompt}
	switch {
	case o.last:
		screen.Session, err = cli.lastSession(ctx, options.Project)
	case o.chosen && o.id == pickSession && o.plain:
		return &exit.UsageError{Err: errors.New("-r needs the id of a session here"), See: "belay sessions, which lists them"}
	case o.chosen && o.id == pickSession:
		screen.Picker = true
	case o.chosen:
		var found session.Session
		if found, err = cli.findSession(ctx, o.id); err == nil {
			screen.Session = found.ID
			options.Project, err = cli.folderOf(ctx, found, options.Project)
		}
	}
	if err != nil {
		return err
	}
	if options.Rehearsal != "" {
		screen.Banner = app.RehearsalBanner
	}
	if o.plain {
		options.Program = "plain screen"
		return cli.openPlainScreen(ctx, options, screen)
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
		var moved session.Session
		if moved, ok, err = movedHere(ctx, st, project); err != nil {
			return "", err
		}
		if ok {
			return moved.ID, cli.follow(ctx, moved, project)
		}
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
