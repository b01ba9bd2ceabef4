package cli

import (
	"github.com/spf13/cobra"

	"belay/models/metrics"
)

func newMetricsCommand(cli CLI) *cobra.Command {
	command := &cobra.Command{
		Use:   "metrics",
		Short: "What Prometheus and Grafana need to show what belay does",
		Long: `belay gateway tells Prometheus at /metrics of every request to a model, how it
ended and what it took, and which models may be asked. In the settings of
Prometheus:

  scrape_configs:
    - job_name: belay
      static_configs: [{ targets: ["127.0.0.1:8790"] }]

belay metrics board prints a dashboard for Grafana, to be imported there.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(&cobra.Command{
		Use:   "board",
		Short: "Print a dashboard for Grafana, as JSON",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := cli.Out.Write(metrics.Board())
			return err
		},
	})
	return command
}
