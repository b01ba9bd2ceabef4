package cli

import (
	"context"

	"github.com/spf13/cobra"

	"belay/session"
	"belay/ui/cli/app"
	"belay/ui/cli/demo"
)

func (cli CLI) demoCommand(globals *globalFlags) *cobra.Command {
	var plain, keep bool
	command := &cobra.Command{
		Use:   "demo",
		Short: "Watch belay carry a task through a capacity failure and a crash, without an account",
		Long: `Plays a whole task by itself in a temporary project. A scripted model cuts it
into five steps, gives way in the middle of a sentence, is taken over by another
and gone back to. In the third step belay itself is killed in the middle of a
sentence, started again, and goes on: nothing is done twice. At the end the last
step is taken back, and that as well. Files and commands are real, as is the kill.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo.Run(cmd.Context(), cli.demoHost(), demo.Options{
				Plain:     plain || cli.Width(cli.Out) == 0,
				Keep:      keep,
				DebugHTTP: globals.debugHTTP,
			})
		},
	}
	command.Flags().BoolVar(&plain, "plain", false, "without a screen")
	command.Flags().BoolVar(&keep, "keep", false, "keep the temporary project")
	return command
}

// playCommand is the belay that the demo starts, so that there is one that can
// be killed.
func (cli CLI) playCommand(g *globalFlags) *cobra.Command {
	var options demo.Options
	var id, dir string
	command := &cobra.Command{
		Use: demo.PlayCommand, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.DebugHTTP = g.debugHTTP
			return demo.Play(cmd.Context(), cli.demoHost(), options, dir, session.ID(id))
		},
	}
	command.Flags().StringVar(&dir, "in", "", "the `FOLDER` of the demo")
	command.Flags().StringVar(&id, "resume", "", "go on with this session: its `ID`")
	command.Flags().BoolVar(&options.Plain, "plain", false, "without a screen")
	return command
}

// demoHost lets the demo do what the commands do.
func (cli CLI) demoHost() demo.Host {
	return demo.Host{
		Env:          cli.Env,
		SaveTerminal: cli.SaveTerminal,
		Run: func(ctx context.Context, o app.Options, id session.ID, prompt string) error {
			return cli.runIn(ctx, runFlags{globalFlags: &globalFlags{}, steps: true}, o, id,
				session.Prompt{Text: prompt})
		},
		Screen: func(ctx context.Context, o app.Options, s app.Screen) error { return cli.Screen(ctx, cli, o, s) },
		Rewind: cli.rewindTo,
	}
}
