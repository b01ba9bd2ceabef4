package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"belay/session"
)

func (d Deps) curl(g *global) *cobra.Command {
	return &cobra.Command{
		Use: "curl ID", Short: "Print a session's last request as a curl command, without the key", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := d.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			c, err := d.choice(*g, "curl")
			if err != nil {
				return err
			}
			c.Project = s.Project
			h, err := d.Connect(cmd.Context(), c)
			if err != nil {
				return err
			}
			line, err := h.Curl(cmd.Context(), s.ID)
			if err = errors.Join(err, h.Close()); err == nil {
				_, err = fmt.Fprintln(d.Out, line)
			}
			return err
		},
	}
}

// Curl is a session's last request as a command for a shell.
func (h *House) Curl(ctx context.Context, id session.ID) (string, error) {
	target, req, err := h.Engine.Request(ctx, id)
	if err != nil {
		return "", err
	}
	return h.wire.client.Curl(target, req)
}
