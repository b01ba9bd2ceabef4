package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"belay/models"
	"belay/session"
	"belay/session/steps"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
)

// runFlags are the flags of run and resume.
type runFlags struct {
	*globalFlags
	json         bool
	continueLast bool
	id           string
	noWait       bool
	steps        bool
	plan         string // a file
	template     string // a template
	maxWait      time.Duration
	maxSteps     int
	maxCost      float64
	schema       string // a file
	output       string // a file
}

// maxPrompt bounds what is read from standard input: more than any model's
// window.
const maxPrompt = 8 << 20

// maxUsageWait is how far away a usage limit's reset may be for run to wait for
// it when --max-wait says nothing.
const maxUsageWait = 45 * time.Minute

func (cli CLI) runCommand(globals *globalFlags) *cobra.Command {
	flags := runFlags{globalFlags: globals}
	command := &cobra.Command{
		Use:   "run [flags] PROMPT | -",
		Short: "Carry out one prompt without a screen",
		Long: `Carries out one prompt. The answer goes to standard output, one line for each
event to standard error. File changes in the folder are made without asking;
a call that would have to ask ends the run with exit code 3 (see --approve).

When every model is at capacity the run is parked and tried again after 30 s,
2 min, 10 min and 30 min; --max-wait and --no-wait end it earlier.

With --output-schema the answer is JSON: asked for as structured output, found
among words and code fences, checked, asked for once more if it does not fit (a
turn of its own, with the same limits), and alone on standard output. What ends
early is gone on with by belay resume, which asks for the same.

Exit codes: 0 done · 1 the turn failed · 2 usage · 3 a person is needed ·
4 a limit was reached · 69 endpoint unreachable · 75 no capacity, rate or usage
limit: parked, can be resumed · 77 account · 78 settings · 130 interrupted`,
		Example: `  belay run "add a test for ParseDate"
  git diff | belay run "review this change: -"
  belay run --json --approve all - < task.txt
  belay run --steps --approve all "split the orders module into pricing and storage"
  belay run --plan plan.toml
  git diff main | belay run --output-schema review.schema.json -o review.json "review this: -"
  belay run --max-steps 40 --max-cost 2 --max-wait 20m "mend the failing test"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cli.runPrompt(cmd.Context(), flags, args) },
	}
	cli.addRunFlags(command, &flags)
	command.Flags().BoolVarP(&flags.continueLast, "continue", "c", false, "in the last session of this folder")
	command.Flags().StringVarP(&flags.id, "resume", "r", "", "in the session with this `ID`")
	command.Flags().BoolVar(&flags.steps, "steps", false,
		"split the task into checkpointed steps, and carry them out in order")
	command.Flags().StringVar(&flags.plan, "plan", "", "carry out the steps in this `FILE` (see `belay help steps`)")
	command.Flags().StringVar(&flags.template, "template", "",
		"with --steps: the usual `SHAPE` to begin with: change, fix or review")
	cli.addModelFlags(command, globals)
	return command
}

const maxWaitText = "end when the turn has been parked for this `TIME` in all, such as 10m " +
	"(default: the whole schedule)"

func (cli CLI) addRunFlags(c *cobra.Command, f *runFlags) {
	c.Flags().BoolVar(&f.json, "json", false, "write JSON lines to standard output")
	c.Flags().StringVar(&f.budget, "budget", "", "`TOKENS` a request may take (default: the settings')")
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "end at once when the turn is parked")
	c.Flags().DurationVar(&f.maxWait, "max-wait", 0, maxWaitText)
	c.Flags().IntVar(&f.maxSteps, "max-steps", 0, "end with 4 after this `NUMBER` of requests (default: the settings')")
	c.Flags().Float64Var(&f.maxCost, "max-cost", 0, "end with 4 before it costs more `DOLLARS` than this (default: the settings')")
	c.Flags().StringVar(&f.schema, "output-schema", "", "the answer is JSON that fits the JSON Schema in this `FILE`")
	c.Flags().StringVarP(&f.output, "output", "o", "", "also write the answer to this `FILE`, when there is one")
	addRehearsalFlag(c, &f.rehearsal)
}

func (cli CLI) resumeCommand(globals *globalFlags) *cobra.Command {
	flags := runFlags{globalFlags: globals}
	command := &cobra.Command{
		Use:   "resume ID",
		Short: "Go on with a parked, failed, stopped or interrupted turn without a screen",
		Long: "Go on with a parked, failed, stopped or interrupted turn without a screen.\n" +
			"The answer of a turn that is done is printed again, so that a pipeline may repeat the command.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.id = args[0]
			return cli.runSession(cmd.Context(), flags, session.Prompt{})
		},
	}
	cli.addRunFlags(command, &flags)
	cli.addModelFlags(command, globals)
	return command
}

func (cli CLI) runPrompt(ctx context.Context, flags runFlags, args []string) error {
	if flags.continueLast && flags.id != "" {
		return &exit.UsageError{Err: errors.New("-c and -r exclude each other")}
	}
	if flags.template != "" {
		if _, err := steps.FindTemplate(flags.template); err != nil {
			return &exit.UsageError{Err: fmt.Errorf("--template: %w", err)}
		}
		flags.steps = true
	}
	var list []session.Step
	var task string
	if flags.plan != "" {
		var err error
		if task, list, err = readPlan(flags.plan); err != nil {
			return err
		}
	}
	prompt := session.Prompt{Text: task}
	switch {
	case flags.plan != "" && task == "" && len(args) == 0:
		return &exit.UsageError{
			Err: fmt.Errorf("--plan %s: it has no task = \"…\", and none is on the command line", flags.plan),
			See: "belay help steps",
		}
	case flags.plan != "" && flags.template != "":
		return &exit.UsageError{
			Err: errors.New("--plan and --template exclude each other: a plan is there, or is made"),
		}
	case task == "" || len(args) > 0:
		var err error
		if prompt, err = cli.readPrompt(args); err != nil {
			return err
		}
	}
	return cli.runSession(ctx, flags, prompt, list...)
}

// maxPlan bounds a plan's file.
const maxPlan = 1 << 20

func readPlan(name string) (task string, list []session.Step, err error) {
	file, err := os.Open(name)
	if err != nil {
		return "", nil, &exit.UsageError{Err: fmt.Errorf("--plan: %w", err)}
	}
	data, err := io.ReadAll(io.LimitReader(file, maxPlan+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", nil, &exit.UsageError{Err: fmt.Errorf("--plan: %w", err)}
	}
	if len(data) > maxPlan {
		return "", nil, &exit.UsageError{Err: fmt.Errorf("--plan %s: it is longer than %d MB", name, maxPlan>>20)}
	}
	task, list, err = steps.Read(string(data))
	if err != nil {
		return "", nil, &exit.UsageError{Err: fmt.Errorf("--plan %s: %w", name, err), See: "belay help steps"}
	}
	return task, list, nil
}

// readPrompt is made of the arguments; a single - stands for standard input. At the
// end of other words it is what they speak of.
func (cli CLI) readPrompt(args []string) (session.Prompt, error) {
	var prompt session.Prompt
	words := strings.Join(args, " ")
	piped := len(args) == 0 && cli.Width(cli.In) == 0
	if piped || words == "-" || strings.HasSuffix(words, " -") {
		data, err := io.ReadAll(io.LimitReader(cli.In, maxPrompt+1))
		if err != nil {
			return prompt, fmt.Errorf("read the prompt: %w", err)
		}
		if len(data) > maxPrompt {
			return prompt, &exit.UsageError{
				Err: fmt.Errorf("the prompt on standard input is longer than %d MB", maxPrompt>>20),
			}
		}
		if bytes.IndexByte(data, 0) >= 0 {
			return prompt, &exit.UsageError{
				Err: errors.New("standard input is not text"),
				See: "belay run --help; a file is better named in the prompt than sent along",
			}
		}
		input := strings.ToValidUTF8(string(data), "�")
		if words = strings.TrimSpace(strings.TrimSuffix(words, "-")); words == "" {
			words = input
		} else if strings.TrimSpace(input) != "" {
			prompt.Attachments = []models.Attachment{{Name: "standard input", Text: input}}
		}
	}
	prompt.Text = strings.TrimSpace(strings.ToValidUTF8(words, "�"))
	if prompt.Text == "" {
		return prompt, &exit.UsageError{Err: errors.New("there is no prompt"), See: "belay run --help"}
	}
	return prompt, nil
}

// runSession runs a prompt, or goes on with a turn if there is none, to an end.
func (cli CLI) runSession(ctx context.Context, flags runFlags, prompt session.Prompt, list ...session.Step) error {
	options, err := cli.options(*flags.globalFlags, "run")
	if err != nil {
		return err
	}
	if err := flags.limit(&options); err != nil {
		return err
	}
	var id session.ID
	switch {
	case flags.continueLast:
		if id, err = cli.lastSession(ctx, options.Project); err != nil {
			return err
		}
	case flags.id != "":
		state, err := cli.findSession(ctx, flags.id)
		if err != nil {
			return err
		}
		id = state.ID
		if options.Project, err = cli.folderOf(ctx, state, options.Project); err != nil {
			return err
		}
	}
	return cli.runIn(ctx, flags, options, id, prompt, list...)
}

// checkFolder refuses a session whose folder was moved or deleted, with a way on.
func checkFolder(s session.Session) error {
	if _, err := os.Stat(s.Project); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &exit.UsageError{Err: fmt.Errorf("the folder of session %s is not there any more: %s", s.ID, s.Project),
		See: locale.T(
			"belay sessions show %s, to read it; if the folder was moved, a link to it lets belay go on: ln -s NEW %s",
			s.ID,
			s.Project,
		)}
}

func (cli CLI) runIn(
	ctx context.Context,
	f runFlags,
	c app.Options,
	id session.ID,
	prompt session.Prompt,
	list ...session.Step,
) error {
	schema, err := readSchema(f.schema)
	if err != nil {
		return err
	}
	file, err := openAnswerFile(cli, f.output)
	if err != nil {
		return err
	}
	h, err := app.Open(ctx, cli.Env, c)
	if err != nil {
		return errors.Join(err, file.close())
	}
	r := &sessionRunner{
		cli: cli, flags: f, app: h, out: cli.outputWriter(f.json), plan: list, schema: schema, file: file,
	}
	code, err := r.run(ctx, c, id, prompt)
	closeErr := errors.Join(h.Close(), file.close())
	r.alerts()
	if lost := r.out.Err(); err == nil && lost != nil {
		err = &outputError{err: lost, id: r.id}
	}
	if err == nil && closeErr != nil {
		err = fmt.Errorf("close: %w", closeErr)
	}
	if err == nil && code != exit.Done {
		err = &exit.Error{Code: code}
	}
	return err
}

func (cli CLI) outputWriter(json bool) plain.Writer {
	if json {
		return plain.NewJSON(cli.Out)
	}
	return plain.NewText(cli.Out, cli.Err, cli.Width(cli.Err), cli.Now)
}

// outputError is an answer that could not be written. It is kept all the same.
type outputError struct {
	err error
	id  session.ID
}

func (e *outputError) Error() string { return "write the answer: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }
func (e *outputError) Hint() string {
	return fmt.Sprintf("it is kept: belay sessions show %s", e.id)
}

// projectDir is the absolute folder to work in.
func (cli CLI) projectDir(globals globalFlags) (string, error) {
	dir := globals.dir
	if dir == "" && cli.Dir == "" {
		return "", &exit.UsageError{
			Err: errors.New("the folder that you are in no longer exists"),
			See: "belay --dir FOLDER, or change to another folder",
		}
	}
	if dir == "" {
		return cli.Dir, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(cli.Dir, dir)
	}
	found, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var is os.FileInfo
		if is, err = os.Stat(found); err == nil && !is.IsDir() {
			err = errors.New("it is no folder")
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no such folder")
	}
	if err != nil {
		return "", &exit.UsageError{Err: fmt.Errorf("work in %s: %w", globals.dir, err)}
	}
	return found, nil
}
