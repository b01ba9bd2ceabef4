package cli

import (
	"context"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"belay/session/batch"
	"belay/session/queue"
	"belay/ui/cli/app"
	"belay/ui/locale"
)

func (cli batchCLI) workerCommand(globals *globalFlags) *cobra.Command {
	flags := batchFlags{globalFlags: globals}
	command := &cobra.Command{
		Use:   "worker",
		Short: "Carry out what was handed in with `belay batch submit`",
		Long: `Carries out the tasks that were handed in with ` + "`belay batch submit`" + `, until it is
ended. SIGTERM, or ctrl+c, saves what runs and gives it back; a worker that was
killed leaves everything to the next one on its machine.

With queue.url = "postgres://…" in the settings several machines share one queue:
a task names a repository, any worker fetches it, and the result comes back as a
patch and a branch. The clocks of the machines must agree within half a minute.
River's own web view, riverui (https://riverqueue.com/docs/river-ui), shows the
jobs of such a queue in a browser.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := cli.options(*globals, "batch")
			if err != nil {
				return err
			}
			return cli.withQueue(cmd.Context(), options, func(ctx context.Context, q *queue.Queue) error {
				return cli.runWorker(ctx, flags, options, q)
			})
		},
	}
	command.Flags().BoolVar(&flags.json, "json", false, "write JSON lines to standard output")
	command.Flags().BoolVar(&globals.trust, "trust", false, "trust the folders of the tasks: read their .belay.toml and AGENTS.md")
	addRehearsalFlag(command, &flags.rehearsal)
	return command
}

func (cli batchCLI) runWorker(ctx context.Context, flags batchFlags, options app.Options, q *queue.Queue) error {
	worker, err := app.TaskWorker(ctx, cli.Env, options, q)
	if err != nil {
		return err
	}
	view := cli.workerView(flags)
	var mu sync.Mutex
	worker.Scopes = q.Scopes()
	worker.Event = func(e batch.Event) {
		mu.Lock()
		defer mu.Unlock()
		view.event(e)
	}
	return q.Run(ctx, worker, func() {
		fmt.Fprintln(cli.Err, locale.T("working on %s; ctrl+c ends, and keeps everything", q.Where()))
	})
}
