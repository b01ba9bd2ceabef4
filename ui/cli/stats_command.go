package cli

import (
	"github.com/spf13/cobra"

	"belay/ui/cli/statistics"
)

func (cli CLI) statsCommand(globals *globalFlags) *cobra.Command {
	var options statistics.Options
	var here bool
	command := &cobra.Command{
		Use:   "stats",
		Short: "How the models did: when they were full, what it cost, where belay switched",
		Long: `Reads the record that belay keeps of every request: who was asked, how it
ended, what it took. All of it stays on this computer.

--since takes a time (36h, 7d, 2w) or a date (2026-03-01). With it, every
switch that belay made by itself is listed: worth a look once a week.
--csv writes the record itself, one attempt a line; with --by, the table.`,
		Example: `  belay stats --since 7d
  belay stats --by size
  belay stats --since 2026-03-01 --csv > march.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.SinceGiven = cmd.Flags().Changed("since")
			options.ByGiven = cmd.Flags().Changed("by")
			if here {
				var err error
				if options.Project, err = cli.projectDir(*globals); err != nil {
					return err
				}
			}
			return statistics.Run(cmd.Context(), cli.Env, options)
		},
	}
	addRehearsedFlag(command, globals)
	command.Flags().StringVar(&options.Since, "since", "30d", "only what happened since this `TIME`")
	command.Flags().StringVar(&options.By, "by", "model",
		"one line for each `WHAT`: model, project, hour or size (of the input)")
	command.Flags().BoolVar(&here, "here", false, "only what was done in this folder")
	command.Flags().BoolVar(&options.JSON, "json", false, "everything as one JSON object")
	command.Flags().BoolVar(&options.CSV, "csv", false, "comma-separated values")
	command.Flags().StringVar(&options.HTML, "html", "", "write a page that needs nothing else to this new `FILE`")
	return command
}
