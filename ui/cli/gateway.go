package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"belay/models/gateway"
	"belay/session"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
)

// gatewayServer is the command that serves other programs.
type gatewayServer struct {
	CLI
	addr, tokenEnv string
	drain          time.Duration // how long replies under way may take at the end
}

func newGatewayCommand(cli CLI, globals *globalFlags) *cobra.Command {
	serving := gatewayServer{CLI: cli}
	command := &cobra.Command{
		Use:   "gateway",
		Short: "Serve the tiers to other programs, with belay's waiting and switching",
		Long: `Serves an OpenAI-compatible endpoint: the Responses API and Chat Completions,
streaming or not, and the list of models. Any client pointed at it gets what
belay does where a model is at capacity: nothing is sent until a reply has
really begun, so that a failure at its start is never seen; it is tried again,
at other models as the settings say, while comments keep the stream alive.
After 4 minutes (gateway.hold) the client is told to come back, with 503 and
Retry-After. What breaks later is passed on as the API's own error.

As the model a client names a tier (heavy, medium, light), a provider/model, or
the name of a model that the settings know.

/metrics tells Prometheus of requests and models, /healthz whether it serves;
belay metrics board prints a dashboard for Grafana.

It is for this computer alone, unless a token is set: then every request must
carry it as its API key, and other computers are served as well.

It ends at SIGINT or SIGTERM, when the replies under way are whole.`,
		Example: `  belay gateway
  belay gateway --addr 127.0.0.1:9000
  BELAY_TOKEN=… belay gateway --addr 0.0.0.0:8790 --token-env BELAY_TOKEN

  OPENAI_BASE_URL=http://127.0.0.1:8790/v1 OPENAI_API_KEY=belay your-program`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := cli.options(*globals, "gateway")
			if err != nil {
				return err
			}
			options.NonInteractive = true
			options.Metrics = true
			options.Mode = string(session.Ask) // nothing runs here
			return serving.run(cmd.Context(), options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&serving.addr, "addr", "", "`ADDRESS` to listen on (default 127.0.0.1:8790, or gateway.address)")
	flags.StringVar(&serving.tokenEnv, "token-env", "", "the `VARIABLE` with the token that every request must carry")
	flags.DurationVar(&serving.drain, "drain", 30*time.Second, "how long replies under way may take when it ends")
	addRehearsalFlag(command, &globals.rehearsal)
	return command
}

func (s gatewayServer) run(ctx context.Context, options app.Options) (err error) {
	opened, err := app.Open(ctx, s.Env, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	addr := cmp.Or(s.addr, opened.Settings.Gateway.Address)
	token, err := app.GatewayToken(cmp.Or(s.tokenEnv, opened.Settings.Gateway.TokenEnv))
	if err != nil {
		return err
	}
	if token == "" && !gateway.IsLoopback(addr) {
		return &exit.UsageError{
			Err: fmt.Errorf("%s is reached from other computers: that needs a token (--token-env VARIABLE)", addr),
			See: "belay gateway --help",
		}
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	url := "http://" + listener.Addr().String()
	withdraw, err := opened.AnnounceGateway(ctx, url)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.introduce(url, token != "")
	attending, stop := context.WithCancel(context.WithoutCancel(ctx))
	attended := make(chan struct{})
	go func() {
		defer close(attended)
		opened.Attend(attending, func(text string) { fmt.Fprintln(s.Err, "belay: "+locale.Said(text)) })
	}()
	err = serveGateway(ctx, listener, opened.NewGateway(token), s.drain)
	stop()
	<-attended
	return errors.Join(err, withdraw())
}

// introduce says where the gateway is, for programs on the first line, and how
// to use it.
func (s gatewayServer) introduce(url string, token bool) {
	key := "belay"
	if token {
		key = locale.T("the token")
	}
	fmt.Fprintf(s.Out, "%s/v1\n", url)
	fmt.Fprintln(s.Err, locale.T("Point a client at it: OPENAI_BASE_URL=%s/v1 OPENAI_API_KEY=%s, model heavy, medium or light.", url, key))
	fmt.Fprintln(s.Err, `codex -c model_provider=belay -c 'model_providers.belay={name="belay",base_url="`+url+
		`/v1",wire_api="responses"}' -c web_search=disabled -m heavy`)
}

// serveGateway answers until ctx ends and the replies under way are whole, or have
// taken too long.
func serveGateway(ctx context.Context, listener net.Listener, g *gateway.Gateway, drain time.Duration) error {
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server := &http.Server{
		Handler:           g,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	over := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		g.Drain()
		patient, cancel := context.WithTimeout(base, drain)
		defer cancel()
		if server.Shutdown(patient) == nil {
			over <- nil
			return
		}
		end() // what is left is told that the gateway ends
		brief, cancelBrief := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancelBrief()
		if server.Shutdown(brief) == nil {
			over <- nil
			return
		}
		over <- server.Close()
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fmt.Errorf("serve: %w", err)
	}
	return <-over
}
