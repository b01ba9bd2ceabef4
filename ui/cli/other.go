package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"belay/models/rehearsal"
	"belay/session/tools"
)

func writeJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func (d Deps) rehearse() *cobra.Command {
	var addr string
	c := &cobra.Command{
		Use:   "rehearse SCRIPT",
		Short: "Serve a scripted model on a local address, for tests and practice",
		Long: `Serves an OpenAI-compatible endpoint that answers, and fails, by a script: both
the Responses API and Chat Completions, streaming or not, and the list of
models. It prints its base URL and runs until it is interrupted. Without
SCRIPT it prints an example of one.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := d.Out.Write(rehearsal.Example())
				return err
			}
			data, err := os.ReadFile(args[0])
			if err != nil {
				return &SettingsError{fmt.Errorf("read the script: %w", err)}
			}
			script, err := rehearsal.Parse(args[0], data)
			if err != nil {
				return &SettingsError{err}
			}
			l, err := net.Listen("tcp", addr)
			if err != nil {
				return fmt.Errorf("listen: %w", err)
			}
			fmt.Fprintf(d.Out, "http://%s/v1\n", l.Addr())
			server := &http.Server{Handler: rehearsal.New(script, rehearsal.Options{}), ReadHeaderTimeout: 10 * time.Second}
			go func() {
				<-cmd.Context().Done()
				_ = server.Close() // open streams end with it
			}()
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "address to listen on")
	return c
}

// ReaperCommand is the name of the command that belay starts itself with to
// end what outlives it.
const ReaperCommand = "reap-orphans"

func (d Deps) reaper() *cobra.Command {
	return &cobra.Command{Use: ReaperCommand, Hidden: true, Args: cobra.NoArgs, Run: func(*cobra.Command, []string) { tools.Reap(d.In) }}
}
