package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"belay/models"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
)

// statusReport is how things stand, for programs.
type statusReport struct {
	Targets  []models.Condition `json:"targets"`
	Gateways []app.GatewayState `json:"gateways"`
	Queue    *app.QueueState    `json:"queue"` // null: there is none, or it cannot be read

	QueueError string `json:"queue_error,omitempty"` // why it cannot be read
}

func newStatusCommand(cli CLI, globals *globalFlags) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "status",
		Short: "How things stand: the models of the tiers, the gateways that run, and the queue",
		Long: `Says in a few lines how the models of the tiers are doing, as all belays of
this computer know it, which gateways run and how busy they are, and how many tasks
of batches wait and run in the queue. Workers of a queue on PostgreSQL share what
they know of the models: what is worth knowing of it stands below. Nothing is asked
of a model. belay models tells more of each model, belay batch status of each batch.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := cli.options(*globals, "status")
			if err != nil {
				return err
			}
			return printStatus(cmd.Context(), cli, options, asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	addRehearsalFlag(command, &globals.rehearsal)
	return command
}

func printStatus(ctx context.Context, cli CLI, options app.Options, asJSON bool) (err error) {
	opened, err := app.Open(ctx, cli.Env, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	report := statusReport{Targets: []models.Condition{}, Gateways: []app.GatewayState{}}
	var rows [][]string
	for _, state := range opened.TargetStates("") {
		report.Targets = append(report.Targets, state.Condition)
		rows = append(rows, []string{
			locale.T(string(state.Tier)), state.Target.String(),
			stateText(state.Condition, noKey(opened, state.Target), cli.Now()),
		})
	}
	gateways, err := opened.Gateways(ctx)
	if err != nil {
		return err
	}
	report.Gateways = append(report.Gateways, gateways...)
	report.Queue, err = opened.QueueState(ctx)
	if err != nil { // the rest is told all the same
		report.QueueError = err.Error()
		fmt.Fprintln(cli.Err, "belay: "+exit.Message(err))
	}
	if asJSON {
		return plain.JSONLine(cli.Out, report)
	}
	for _, g := range gateways {
		busy := locale.T("%d requests, %d of them waiting", g.Streams, g.Waiting)
		rows = append(rows, []string{locale.T("gateway"), g.URL + "/v1", busy})
	}
	if q := report.Queue; q != nil {
		tasks := locale.T("%d open batches: tasks %d waiting, %d running, %d failed; %d workers",
			q.Batches, q.Waiting, q.Running, q.Failed, q.Workers)
		rows = append(rows, []string{locale.T("queue"), q.Where, tasks})
		for _, c := range q.Targets {
			rows = append(rows, []string{locale.T("workers"), c.Target.String(), stateText(c, "", cli.Now())})
		}
	}
	if err := plain.Table(cli.Out, rows, cli.Width(cli.Out)); err != nil {
		return fmt.Errorf("print the status: %w", err)
	}
	return nil
}
