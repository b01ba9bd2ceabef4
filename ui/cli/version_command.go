package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"belay/ui/cli/build"
	"belay/ui/plain"
)

// versionCommand tells how this belay was made. It asks nobody.
func versionCommand(cli CLI) *cobra.Command {
	var json bool
	command := &cobra.Command{
		Use: "version", Short: "Say which belay this is, and how it was built", Args: cobra.NoArgs,
		Long: "Says which belay this is, of which commit, and by which compiler it was built; with\n" +
			"--json also every module in it, with its sum. Nobody is asked: belay looks for no updates.",
		Example: `  belay version
  belay version --json | jq -r '.modules[] | .path + " " + .version'`,
		RunE: func(*cobra.Command, []string) error {
			facts := build.Read()
			facts.Version = cli.Version
			if json {
				return plain.JSONLine(cli.Out, facts)
			}
			_, err := fmt.Fprint(cli.Out, facts.Text())
			return err
		},
	}
	command.Flags().BoolVar(&json, "json", false, "one JSON object")
	return command
}
