package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"belay/models/rehearsal"
	"belay/ui/cli/exit"
	"belay/ui/plain"
)

func (cli CLI) rehearseCommand() *cobra.Command {
	var addr, logFile string
	command := &cobra.Command{
		Use:   "rehearse [SCRIPT]",
		Short: "Serve a scripted model on a local address, for tests and practice",
		Long: `Serves an OpenAI-compatible endpoint that answers, and fails, by a script: both
the Responses API and Chat Completions, streaming or not, and the list of
models. It prints its base URL and runs until it is interrupted. Without
SCRIPT it prints an example of one.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := cli.Out.Write(rehearsal.Example())
				return err
			}
			data, err := os.ReadFile(args[0])
			if err != nil {
				return &exit.SettingsError{Err: fmt.Errorf("read the script: %w", err)}
			}
			script, err := rehearsal.Parse(args[0], data)
			if err != nil {
				return &exit.SettingsError{Err: err}
			}
			if logFile == "" {
				return cli.serve(cmd.Context(), addr, rehearsal.New(script, rehearsal.Options{}))
			}
			f, err := os.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
			if err != nil {
				return fmt.Errorf("open the log: %w", err)
			}
			server := rehearsal.New(script, rehearsal.Options{Done: exchangeLog(f)})
			return errors.Join(cli.serve(cmd.Context(), addr, server), f.Close())
		},
	}
	command.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "`ADDRESS` to listen on")
	command.Flags().StringVar(&logFile, "log", "",
		"append each request and what became of it to this `FILE`, one JSON object a line")
	return command
}

// exchangeLog writes what passes through a rehearsal. Keys are in the headers,
// which are not written.
func exchangeLog(w io.Writer) func(rehearsal.Exchange) {
	var mu sync.Mutex
	return func(exchange rehearsal.Exchange) {
		body := exchange.Body
		if !json.Valid(body) {
			body = nil
		}
		mu.Lock()
		defer mu.Unlock()
		_ = plain.JSONLine(w, struct { // a log that cannot be written must not change the answers
			Time      time.Time       `json:"time"`
			Method    string          `json:"method"`
			Path      string          `json:"path"`
			Model     string          `json:"model"`
			Stream    bool            `json:"stream"`
			Trace     string          `json:"trace"`
			Operation string          `json:"operation"`
			Reply     string          `json:"reply"`
			Status    int             `json:"status"`
			Outcome   string          `json:"outcome"`
			Body      json.RawMessage `json:"body"`
		}{
			exchange.Time, exchange.Method, exchange.Path, exchange.Model, exchange.Stream, exchange.Trace,
			exchange.Operation, exchange.Reply, exchange.Status, exchange.Outcome, body,
		})
	}
}

// serve answers on an address until ctx ends and the last answer is over.
func (cli CLI) serve(ctx context.Context, addr string, h http.Handler) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintf(cli.Out, "http://%s/v1\n", listener.Addr())
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	over := make(chan error, 1)
	context.AfterFunc(ctx, func() { // open streams end with ctx
		brief, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if server.Shutdown(brief) != nil {
			over <- server.Close()
			return
		}
		over <- nil
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-over
}
