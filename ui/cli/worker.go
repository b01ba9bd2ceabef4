package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"belay/models/gateway"
	"belay/models/metrics"
	"belay/session/batch"
	"belay/session/queue"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/theme"
)

func (cli batchCLI) workerCommand(globals *globalFlags) *cobra.Command {
	flags := batchFlags{globalFlags: globals}
	var told metricsServer
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
jobs of such a queue in a browser.

The first task of a batch that fails is told of as [alerts] in the settings says.
With --metrics 127.0.0.1:9464 /metrics tells Prometheus of tasks and requests; for
other computers that needs a token.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := cli.options(*globals, "batch")
			if err != nil {
				return err
			}
			return cli.withQueue(cmd.Context(), options, func(ctx context.Context, q *queue.Queue) error {
				return cli.runWorker(ctx, flags, told, options, q)
			})
		},
	}
	command.Flags().BoolVar(&flags.json, "json", false, "write JSON lines to standard output")
	command.Flags().BoolVar(&globals.trust, "trust", false, "trust the folders of the tasks: read their .belay.toml and AGENTS.md")
	command.Flags().StringVar(&told.addr, "metrics", "", "tell Prometheus at this `ADDRESS`, such as 127.0.0.1:9464")
	command.Flags().StringVar(&told.tokenEnv, "token-env", "", "the `VARIABLE` with the token that every request must carry")
	addRehearsalFlag(command, &flags.rehearsal)
	return command
}

func (cli batchCLI) runWorker(
	ctx context.Context, flags batchFlags, told metricsServer, options app.Options, q *queue.Queue,
) (err error) {
	listener, err := told.listen()
	if err != nil {
		return err
	}
	if listener != nil {
		defer listener.Close() //nolint:errcheck // it is closed already when it was served
		options.Counted = metrics.New(nil)
	}
	worker, err := app.TaskWorker(ctx, cli.Env, options, q)
	if err != nil {
		return err
	}
	watch, err := app.WatchTasks(ctx, cli.Env, options, q, func(text string) { fmt.Fprintln(cli.Err, "! "+theme.Line(text)) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, watch.Close()) }()
	if listener != nil {
		defer told.serve(listener, watch.Handler())()
		fmt.Fprintln(cli.Err, locale.T("metrics at %s", "http://"+listener.Addr().String()+"/metrics"))
	}
	view := cli.workerView(flags)
	var mu sync.Mutex
	worker.Scopes = q.Scopes()
	worker.Event = func(e batch.Event) {
		watch.Event(e)
		mu.Lock()
		defer mu.Unlock()
		view.event(e)
	}
	worker.Trouble = func(err error) { view.say(queueTrouble(err)) }
	return q.Run(ctx, worker, func() {
		fmt.Fprintln(cli.Err, locale.T("working on %s; ctrl+c ends, and keeps everything", q.Where()))
	})
}

// metricsServer tells Prometheus of a worker.
type metricsServer struct{ addr, tokenEnv, token string }

// listen takes the address; nil: there is none.
func (s *metricsServer) listen() (net.Listener, error) {
	if s.addr == "" {
		return nil, nil
	}
	var err error
	if s.token, err = app.GatewayToken(s.tokenEnv); err != nil {
		return nil, err
	}
	if s.token == "" && !gateway.IsLoopback(s.addr) {
		return nil, &exit.UsageError{
			Err: fmt.Errorf("%s is reached from other computers: that needs a token (--token-env VARIABLE)", s.addr),
			See: "belay worker --help",
		}
	}
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// serve answers until stop is called, which waits for what is under way.
func (s *metricsServer) serve(listener net.Listener, handler http.Handler) (stop func()) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", gateway.Guard(s.token, handler))
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // the tasks go on without it
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		serving.Wait()
	}
}
