package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"belay/session/batch"
	"belay/session/queue"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
	"belay/ui/theme"
)

func (cli batchCLI) batchSubmitCommand(globals *globalFlags) *cobra.Command {
	flags := batchFlags{globalFlags: globals}
	command := &cobra.Command{
		Use:   "submit FILE | -",
		Short: "Hand a list of tasks to the workers, and return",
		Long: "Hand a list of tasks to the workers, and return. It prints the batch's ID.\n" +
			"belay worker carries them out; belay batch status and wait tell how far they are.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := cli.options(*globals, "batch")
			if err != nil {
				return err
			}
			tasks, err := cli.readTasks(flags, options, args[0])
			if err != nil {
				return err
			}
			return cli.withQueue(cmd.Context(), options, func(ctx context.Context, q *queue.Queue) error {
				return cli.submit(ctx, flags, q, args[0], tasks)
			})
		},
	}
	cli.addTaskFlags(command, &flags)
	return command
}

func (cli batchCLI) submit(
	ctx context.Context, flags batchFlags, q *queue.Queue, name string, tasks []batch.Task,
) error {
	options, err := cli.options(*flags.globalFlags, "batch")
	if err != nil {
		return err
	}
	at, err := cli.quietTimes(ctx, options, tasks)
	if err != nil {
		return err
	}
	b, err := q.Submit(ctx, queue.Submission{Name: name, Tasks: tasks, At: at})
	if err != nil {
		return err
	}
	if flags.json {
		return plain.JSONLine(cli.Out, statusOf(b))
	}
	if _, err := fmt.Fprintln(cli.Out, b.ID); err != nil {
		return err
	}
	workers, err := q.Workers(ctx)
	if err == nil && len(workers) == 0 {
		fmt.Fprintln(cli.Err, locale.T("no worker is running: belay worker"))
	}
	return err
}

// batchStatus is a batch as status and wait tell of it in JSON.
type batchStatus struct {
	V       int                 `json:"v"`
	Type    string              `json:"type"`
	Batch   string              `json:"batch"`
	Name    string              `json:"name"`
	Created time.Time           `json:"created"`
	Open    int                 `json:"open"`
	Counts  map[batch.State]int `json:"counts"`
}

func statusOf(b queue.Batch) batchStatus {
	return batchStatus{1, "batch", b.ID, b.Name, b.Created, b.Open(), b.Counts}
}

// taskStatus is a task in the same way.
type taskStatus struct {
	V        int          `json:"v"`
	Type     string       `json:"type"`
	Task     string       `json:"task"`
	Name     string       `json:"name"`
	State    batch.State  `json:"state"`
	Tier     string       `json:"tier,omitempty"`
	Lane     batch.Lane   `json:"lane"`
	Tries    int          `json:"tries"`
	Restarts int          `json:"restarts,omitempty"`
	Session  string       `json:"session,omitempty"`
	Worker   string       `json:"worker,omitempty"`
	Prompt   string       `json:"prompt"`
	Until    time.Time    `json:"until,omitzero"`
	Waits    string       `json:"waits,omitempty"` // for what, while it is parked
	Result   batch.Result `json:"result,omitzero"`
}

func taskStatusOf(e queue.Entry) taskStatus {
	waits := ""
	if e.State == batch.Parked {
		waits = e.Progress.Waits
	}
	return taskStatus{
		V: 1, Type: "task", Task: e.ID, Name: e.Task.Name, State: e.State, Tier: string(e.Task.Tier), Lane: e.Task.Lane,
		Tries: e.Tries, Restarts: e.Restarts, Session: string(e.Progress.Session), Worker: e.Worker,
		Prompt: e.Task.Prompt, Until: e.NotBefore, Waits: waits, Result: e.Result,
	}
}

// plainCommand is a command on the queue that takes an ID or none.
func (cli batchCLI) plainCommand(
	globals *globalFlags, use, short string, run func(context.Context, batchFlags, *queue.Queue, []string) error,
) (*cobra.Command, *batchFlags) {
	flags := &batchFlags{globalFlags: globals}
	command := &cobra.Command{
		Use: use, Short: short, Args: cobra.MaximumNArgs(1), ValidArgsFunction: cli.batchIDs(globals),
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := cli.options(*globals, "batch")
			if err != nil {
				return err
			}
			return cli.withQueue(cmd.Context(), options, func(ctx context.Context, q *queue.Queue) error {
				return run(ctx, *flags, q, args)
			})
		},
	}
	command.Flags().BoolVar(&flags.json, "json", false, "write JSON lines to standard output")
	addRehearsedFlag(command, globals)
	return command, flags
}

func (cli batchCLI) batchStatusCommand(globals *globalFlags) *cobra.Command {
	command, _ := cli.plainCommand(globals, "status [ID]", "How batches stand, or the tasks of one",
		func(ctx context.Context, flags batchFlags, q *queue.Queue, args []string) error {
			if len(args) > 0 {
				return cli.printTasks(ctx, flags, q, args[0])
			}
			list, err := q.Batches(ctx)
			if err != nil {
				return err
			}
			rows := [][]string{{"ID", "CREATED", "OPEN", "DONE", "FAILED", "FILE"}}
			for _, b := range list {
				if flags.json {
					if err := plain.JSONLine(cli.Out, statusOf(b)); err != nil {
						return err
					}
					continue
				}
				rows = append(rows, []string{
					b.ID, b.Created.Local().Format("2006-01-02 15:04"), fmt.Sprint(b.Open()),
					fmt.Sprint(b.Counts[batch.Done]), fmt.Sprint(b.Counts[batch.Failed]), theme.Line(b.Name),
				})
			}
			if flags.json {
				return nil
			}
			return plain.Table(cli.Out, rows, cli.Width(cli.Out))
		})
	return command
}

func (cli batchCLI) printTasks(ctx context.Context, flags batchFlags, q *queue.Queue, id string) error {
	b, err := q.Batch(ctx, id)
	if err != nil {
		return err
	}
	list, err := q.Tasks(ctx, b.ID)
	if err != nil {
		return err
	}
	rows := [][]string{{"TASK", "STATE", "TIER", "TRIES", "SESSION", "NAME"}}
	for _, e := range list {
		if flags.json {
			if err := plain.JSONLine(cli.Out, taskStatusOf(e)); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{
			e.ID, locale.T(string(e.State)), string(e.Task.Tier), fmt.Sprint(e.Tries), string(e.Progress.Session),
			theme.Line(strings.Join(nonEmpty(e.Task.Name, taskNote(e, cli.Now())), ": ")),
		})
	}
	if flags.json {
		return nil
	}
	return plain.Table(cli.Out, rows, cli.Width(cli.Out))
}

// taskNote is what is worth a word beside a task's name: until when it waits, and why.
func taskNote(e queue.Entry, now time.Time) string {
	var notes []string
	waits := e.State == batch.Parked && !e.NotBefore.IsZero() || e.State == batch.Waiting && e.NotBefore.After(now)
	if waits {
		notes = append(notes, locale.T("until %s", untilText(e.NotBefore, now)))
	}
	switch {
	case e.State == batch.Parked && e.Progress.Waits != "":
		notes = append(notes, locale.Said(e.Progress.Waits))
	case e.State != batch.Done && e.Result.Error != "":
		notes = append(notes, e.Result.Error)
	}
	return strings.Join(notes, ": ")
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

// untilText is a time that is to come, with its day where that is not today.
func untilText(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	switch {
	case at.YearDay() == now.YearDay() && at.Year() == now.Year():
		return at.Format("15:04:05")
	case at.Sub(now) < 6*24*time.Hour:
		return at.Format(locale.T("Mon 15:04"))
	}
	return at.Format("2006-01-02 15:04")
}

func (cli batchCLI) batchWaitCommand(globals *globalFlags) *cobra.Command {
	command, flags := cli.plainCommand(globals, "wait [ID]", "Wait until a batch is over; its exit code is that of `belay batch`",
		func(ctx context.Context, flags batchFlags, q *queue.Queue, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			b, err := cli.findBatch(ctx, q, id, false)
			if err != nil {
				return err
			}
			waiting, cancel := ctx, context.CancelFunc(func() {})
			if flags.timeout > 0 {
				waiting, cancel = context.WithTimeout(ctx, flags.timeout)
			}
			defer cancel()
			end := cli.watchBatch(waiting, q, b.ID, nil, nil, func(context.Context, map[batch.State]int) {})
			if end.err != nil {
				return end.err
			}
			return cli.endBatch(ctx, flags, q, b)
		})
	command.Flags().DurationVar(&flags.timeout, "timeout", 0, "wait at most this `TIME`, such as 10m")
	return command
}

func (cli batchCLI) batchCancelCommand(globals *globalFlags) *cobra.Command {
	command, _ := cli.plainCommand(globals, "cancel ID", "Cancel a batch, or one task of it",
		func(ctx context.Context, _ batchFlags, q *queue.Queue, args []string) error {
			batchID, taskID := "", ""
			if e, err := q.Task(ctx, args[0]); err == nil {
				taskID = e.ID
			} else if !errors.Is(err, queue.ErrNotFound) {
				return err
			} else {
				b, err := q.Batch(ctx, args[0])
				if err != nil {
					return err
				}
				batchID = b.ID
			}
			n, err := q.Cancel(ctx, batchID, taskID)
			if err == nil {
				fmt.Fprintln(cli.Err, locale.N(n, "%d task cancelled", "%d tasks cancelled"))
			}
			return err
		})
	command.Args = oneName
	return command
}

// oneName takes one argument with something in it: an empty one, as of a variable that
// is not set, would mean the newest batch.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] == "" {
		args = args[1:]
	}
	return cobra.ExactArgs(1)(cmd, args)
}

func (cli batchCLI) batchDeleteCommand(globals *globalFlags) *cobra.Command {
	command, _ := cli.plainCommand(globals, "delete ID", "Delete a batch that is over, with its patches and logs",
		func(ctx context.Context, flags batchFlags, q *queue.Queue, args []string) error {
			return cli.deleteBatch(ctx, flags, q, args[0])
		})
	command.Long = "Delete a batch that is over, with its patches and logs, and the worktrees that its failed\n" +
		"tasks left on this machine. Branches and sessions stay (belay sessions delete). Nothing is\n" +
		"deleted by itself."
	command.Args = oneName
	return command
}

func (cli batchCLI) deleteBatch(ctx context.Context, flags batchFlags, q *queue.Queue, id string) error {
	b, err := q.Batch(ctx, id)
	if err != nil {
		return err
	}
	tasks, err := q.Tasks(ctx, b.ID)
	if err != nil {
		return err
	}
	options, err := cli.options(*flags.globalFlags, "batch")
	if err != nil {
		return err
	}
	workspaces, err := app.TaskWorkspaces(ctx, options)
	if err != nil {
		return err
	}
	if err := q.Delete(ctx, b.ID); err != nil {
		return err
	}
	var left error
	for _, e := range tasks {
		if e.Machine == q.Machine() {
			left = errors.Join(left, workspaces.Remove(ctx, e.Progress.Workspace))
		}
	}
	fmt.Fprintln(cli.Err, locale.N(len(tasks), "%d task deleted with batch %s", "%d tasks deleted with batch %s", b.ID))
	return left
}

// batchIDs completes the id of a batch; what cannot be read is not offered.
func (cli batchCLI) batchIDs(globals *globalFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var found []cobra.Completion
		options, err := cli.options(*globals, "batch")
		if len(args) > 0 || err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		_ = cli.withQueue(ctx, options, func(ctx context.Context, q *queue.Queue) error {
			list, err := q.Batches(ctx)
			for _, b := range list[:min(len(list), maxCompletions)] {
				if strings.HasPrefix(b.ID, typed) {
					found = append(found, cobra.CompletionWithDesc(b.ID, theme.Cut(theme.Line(b.Name), 60)))
				}
			}
			return err
		})
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

func (cli batchCLI) batchLogsCommand(globals *globalFlags) *cobra.Command {
	command, flags := cli.plainCommand(globals, "logs TASK", "What came of a task: its session's log, or its patch",
		func(ctx context.Context, flags batchFlags, q *queue.Queue, args []string) error {
			return cli.printLogs(ctx, flags, q, args[0])
		})
	command.Long = "What came of a task that is over: its session's log as JSON lines, or with --patch its\n" +
		"changes as `git apply` takes them. Of one that runs: belay sessions show ID."
	command.Args = cobra.ExactArgs(1)
	command.Flags().BoolVar(&flags.patch, "patch", false, "its changes, as git apply takes them")
	return command
}

func (cli batchCLI) printLogs(ctx context.Context, flags batchFlags, q *queue.Queue, id string) error {
	e, err := q.Task(ctx, id)
	if err != nil {
		return err
	}
	patch, record, err := q.Artifacts(ctx, e.ID)
	if err != nil {
		return err
	}
	out := record
	if flags.patch {
		out = patch
	}
	if len(out) == 0 {
		see := "belay batch status " + e.Batch
		switch {
		case flags.patch && e.State == batch.Done && !e.Task.Worktree:
			see = "its folder, which it worked in: " + e.Task.Folder
		case !flags.patch && e.Progress.Session != "":
			see = "belay sessions show " + string(e.Progress.Session)
		}
		return &exit.UsageError{Err: fmt.Errorf("task %s has none", e.ID), See: see}
	}
	_, err = cli.Out.Write(out)
	return err
}
