package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"belay/ui/cli/app"
)

func (cli CLI) curlCommand(globals *globalFlags) *cobra.Command {
	return &cobra.Command{
		Use: "curl ID", Short: "Print a session's last request as a curl command, without the key", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := cli.findSession(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			c, err := cli.options(*globals, "curl")
			if err != nil {
				return err
			}
			c.Project = state.Project
			h, err := app.Open(cmd.Context(), cli.Env, c)
			if err != nil {
				return err
			}
			line, err := h.Curl(cmd.Context(), state.ID)
			if err = errors.Join(err, h.Close()); err == nil {
				_, err = fmt.Fprintln(cli.Out, line)
			}
			return err
		},
	}
}
