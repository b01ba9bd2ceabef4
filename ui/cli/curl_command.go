package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"belay/ui/cli/app"
)

func (cli CLI) curlCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use: "curl ID", Short: "Print a session's last request as a curl command, without the key", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := cli.findSession(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			c, err := cli.options(*g, "curl")
			if err != nil {
				return err
			}
			c.Project = s.Project
			h, err := app.Open(cmd.Context(), cli.Env, c)
			if err != nil {
				return err
			}
			line, err := h.Curl(cmd.Context(), s.ID)
			if err = errors.Join(err, h.Close()); err == nil {
				_, err = fmt.Fprintln(cli.Out, line)
			}
			return err
		},
	}
}
