package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"belay/models"
	"belay/session/batch"
	"belay/session/queue"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
)

// batchCLI is the command line of batches and of what carries them out.
type batchCLI struct{ CLI }

// batchFlags are the flags of batch and of its commands.
type batchFlags struct {
	*globalFlags
	json        bool
	format      string
	lane        string
	worktree    bool
	resume      bool
	retryFailed bool
	shiftTier   string
	report      string
	patch       bool
	timeout     time.Duration
}

func (cli batchCLI) batchCommand(globals *globalFlags) *cobra.Command {
	flags := batchFlags{globalFlags: globals}
	command := &cobra.Command{
		Use:   "batch FILE | -",
		Short: "Carry out a list of tasks without watching them",
		Long: `Carries out a list of tasks, each in a session of its own: TOML, YAML, or one
prompt a line (see ` + "`belay help batch`" + `). Two at once to begin with, three after
a clean while, half as many while a model is full.

Each task is in the queue before anything begins, so that a batch that was ended,
or killed, goes on where it was: belay batch --resume.

On a pipe it writes JSON lines. Exit codes are those of ` + "`belay run`" + `: 0 when every
task is done, the code of the failures when all are of one kind, else 1.`,
		Example: `  belay batch tasks.toml
  git ls-files '*.go' | sed 's/^/review the file /' | belay batch --lane batch -
  belay batch --resume                 go on with the last one
  belay batch --retry-failed           only what failed
  belay batch --shift-tier light       move all that waits to another tier
  belay batch submit tasks.toml        hand it to belay worker`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return cli.runBatch(cmd.Context(), flags, args) },
	}
	cli.addTaskFlags(command, &flags)
	f := command.Flags()
	f.BoolVar(&flags.resume, "resume", false, "go on with a batch: the one with this ID, or the last that is not done")
	f.BoolVar(&flags.retryFailed, "retry-failed", false, "the same, with the tasks that failed")
	f.StringVar(&flags.shiftTier, "shift-tier", "", "move the tasks that wait to this `TIER`, and end; with an ID: of that batch alone")
	f.StringVar(&flags.report, "report", "", "at the end write a report to this `FILE`: .html, else Markdown")
	command.AddCommand(
		cli.batchSubmitCommand(globals),
		cli.batchStatusCommand(globals),
		cli.batchWaitCommand(globals),
		cli.batchCancelCommand(globals),
		cli.batchLogsCommand(globals),
		cli.batchDeleteCommand(globals),
	)
	return command
}

func (cli batchCLI) addTaskFlags(c *cobra.Command, f *batchFlags) {
	c.Flags().BoolVar(&f.json, "json", false, "write JSON lines to standard output")
	c.Flags().StringVar(&f.format, "format", "", "of the file: `FORMAT` toml, yaml or lines (default: as it looks)")
	c.Flags().StringVar(&f.lane, "lane", "", "of tasks that name none: `LANE` interactive, normal or batch")
	c.Flags().BoolVar(&f.worktree, "worktree", false, "each task in a git worktree of its own, unless it says otherwise")
	cli.addModelFlags(c, f.globalFlags)
	addRehearsalFlag(c, &f.rehearsal)
}

// readTasks reads the tasks of a file, or of standard input.
func (cli batchCLI) readTasks(flags batchFlags, options app.Options, name string) ([]batch.Task, error) {
	var data []byte
	var err error
	said := name
	if name == "-" {
		said = "standard input"
		data, err = io.ReadAll(io.LimitReader(cli.In, batch.MaxFile+1))
	} else {
		data, err = readBounded(name, batch.MaxFile)
	}
	if err != nil {
		return nil, &exit.UsageError{Err: fmt.Errorf("read the tasks: %w", err), See: "belay help batch"}
	}
	base := batch.Defaults()
	base.Folder, base.Worktree = options.Project, flags.worktree
	base.Tier, base.Effort = models.Tier(options.Tier), options.Effort
	base.Approve = modeOf(options.Mode)
	switch lane := batch.Lane(flags.lane); lane {
	case "":
	case batch.Interactive, batch.Normal, batch.Bulk:
		base.Lane = lane
	default:
		return nil, &exit.UsageError{Err: fmt.Errorf("unknown lane %q: use interactive, normal or batch", flags.lane)}
	}
	tasks, err := batch.Read(data, batch.ReadOptions{
		Name: said, Format: flags.format, Dir: options.Project, Base: base,
	})
	if err != nil {
		return nil, &exit.UsageError{Err: err, See: "belay help batch"}
	}
	return tasks, nil
}

func readBounded(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	return data, errors.Join(err, file.Close())
}

// openQueue opens the queue for as long as do runs.
func (cli batchCLI) withQueue(
	ctx context.Context, options app.Options, do func(context.Context, *queue.Queue) error,
) error {
	ctx, err := options.Within(ctx)
	if err != nil {
		return err
	}
	q, err := app.OpenQueue(ctx, cli.Env, options)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, q), q.Close())
}

// runBatch carries a batch out, or goes on with one.
func (cli batchCLI) runBatch(ctx context.Context, flags batchFlags, args []string) error {
	options, err := cli.options(*flags.globalFlags, "batch")
	if err != nil {
		return err
	}
	again := flags.resume || flags.retryFailed || flags.shiftTier != ""
	if len(args) == 0 && !again {
		return &exit.UsageError{Err: errors.New("there is no file of tasks"), See: "belay batch --help"}
	}
	if flags.shiftTier != "" {
		if _, err := models.ParseTier(flags.shiftTier); err != nil {
			return &exit.UsageError{Err: fmt.Errorf("--shift-tier: %w", err)}
		}
	}
	var tasks []batch.Task
	if !again {
		if tasks, err = cli.readTasks(flags, options, args[0]); err != nil {
			return err
		}
	}
	return cli.withQueue(ctx, options, func(ctx context.Context, q *queue.Queue) error {
		if again {
			return cli.continueBatch(ctx, flags, options, q, args)
		}
		at, err := cli.quietTimes(ctx, options, tasks)
		if err != nil {
			return err
		}
		b, err := q.Submit(ctx, queue.Submission{Name: args[0], Tasks: tasks, Own: true, At: at})
		if err != nil {
			return err
		}
		return cli.workOn(ctx, flags, options, q, b)
	})
}

// continueBatch goes on with a batch that is in the queue already.
func (cli batchCLI) continueBatch(
	ctx context.Context, flags batchFlags, options app.Options, q *queue.Queue, args []string,
) error {
	id := ""
	if len(args) > 0 {
		id = args[0]
	}
	if flags.shiftTier != "" && !flags.resume && !flags.retryFailed {
		return cli.shiftTier(ctx, flags, q, id)
	}
	b, err := cli.findBatch(ctx, q, id, flags.retryFailed)
	if err != nil {
		return err
	}
	if flags.retryFailed {
		if _, err := q.RetryFailed(ctx, b.ID); err != nil {
			return err
		}
	}
	if flags.shiftTier != "" {
		if err := cli.shiftTier(ctx, flags, q, b.ID); err != nil {
			return err
		}
	}
	if b.Scope == queue.Workers {
		fmt.Fprintln(cli.Err, locale.T("batch %s is carried out by workers: belay batch wait %s", b.ID, b.ID))
		return nil
	}
	return cli.workOn(ctx, flags, options, q, b)
}

// findBatch is the batch with an id, or the last that there is something to do in.
func (cli batchCLI) findBatch(ctx context.Context, q *queue.Queue, id string, failed bool) (queue.Batch, error) {
	if id != "" {
		return q.Batch(ctx, id)
	}
	list, err := q.Batches(ctx)
	if err != nil {
		return queue.Batch{}, err
	}
	for _, b := range list {
		if b.Open() > 0 || failed && b.Counts[batch.Failed]+b.Counts[batch.Cancelled] > 0 {
			return b, nil
		}
	}
	return queue.Batch{}, &exit.UsageError{Err: errors.New("there is no batch to go on with"), See: "belay batch status, which lists them"}
}

func (cli batchCLI) shiftTier(ctx context.Context, flags batchFlags, q *queue.Queue, id string) error {
	if id != "" {
		b, err := q.Batch(ctx, id)
		if err != nil {
			return err
		}
		id = b.ID
	}
	n, err := q.ShiftTier(ctx, id, models.Tier(flags.shiftTier))
	if err == nil {
		fmt.Fprintln(cli.Err, locale.N(n, "%d task now asks the %s tier", "%d tasks now ask the %s tier", flags.shiftTier))
	}
	return err
}
