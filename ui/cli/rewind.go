package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"belay/session"
	"belay/session/rewind"
	"belay/session/store"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
	"belay/ui/theme"
)

func (cli CLI) checkpointsCommand() *cobra.Command {
	var json bool
	command := &cobra.Command{
		Use: "checkpoints ID", Short: "List the places that a session can return to", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			state, list, err := cli.listCheckpoints(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if json {
				for _, p := range list {
					if err := plain.JSONLine(cli.Out, p); err != nil {
						return err
					}
				}
				return nil
			}
			if len(list) == 0 {
				fmt.Fprintln(cli.Err, locale.T("session %s has no turns yet", state.ID))
				return nil
			}
			rows := [][]string{{"NUMBER", "EVENT", "AGE", "FILES", "WHERE"}}
			for i, p := range list {
				files := locale.T("kept")
				if p.Tree == "" {
					files = locale.T("not kept")
				}
				what := locale.T("before turn %d: %s", p.Turn, theme.Line(p.Title))
				if p.After {
					what = locale.T("after turn %d: %s", p.Turn, theme.Line(p.Title))
				}
				if p.Step > 0 {
					what = locale.T("before step %d: %s", p.Step, theme.Line(p.Title))
				}
				rows = append(rows, []string{
					strconv.Itoa(i + 1),
					strconv.FormatInt(p.Seq, 10),
					theme.Age(p.Time, cli.Now()),
					files,
					what,
				})
			}
			return plain.Table(cli.Out, rows, cli.Width(cli.Out))
		},
	}
	command.Flags().BoolVar(&json, "json", false, "one JSON object a line")
	return command
}

// listCheckpoints lists a session's checkpoints.
func (cli CLI) listCheckpoints(
	ctx context.Context,
	prefix string,
) (state session.Session, list []session.Checkpoint, err error) {
	err = app.ReadStore(ctx, func(st *store.Store) error {
		if state, err = st.Find(ctx, prefix); err != nil {
			return err
		}
		list, err = rewind.List(ctx, st, state.ID)
		return err
	})
	return state, list, err
}

func (cli CLI) rewindCommand(globals *globalFlags) *cobra.Command {
	var files, talk, yes, undo bool
	command := &cobra.Command{
		Use:   "rewind ID [NUMBER]",
		Short: "Return to a checkpoint: the files, the conversation, or both",
		Long: `Returns to the checkpoint with a NUMBER as ` + "`belay sessions checkpoints ID`" + ` lists
it. Without --yes it only shows what would change. What commands did outside the
folder is not taken back. A rewind can itself be undone with --undo.`,
		Example: `  belay sessions checkpoints 7k3
  belay sessions rewind 7k3 2
  belay sessions rewind 7k3 2 --files --yes
  belay sessions rewind 7k3 --undo`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			state, list, err := cli.listCheckpoints(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if undo != (len(args) == 1) {
				return &exit.UsageError{
					Err: errors.New("say the number of a checkpoint, or --undo"),
					See: "belay sessions checkpoints " + string(state.ID),
				}
			}
			var at session.Checkpoint
			if !undo {
				n, err := strconv.Atoi(args[1])
				if err != nil || n < 1 || n > len(list) {
					return &exit.UsageError{
						Err: fmt.Errorf("there is no checkpoint %q: they are 1 to %d", args[1], len(list)),
						See: "belay sessions checkpoints " + string(state.ID),
					}
				}
				at = list[n-1]
			}
			if !files && !talk {
				files, talk = at.Tree != "", true
			}
			if err := checkFolder(state); err != nil {
				return err
			}
			command, err := cli.options(*globals, "rewind")
			if err != nil {
				return err
			}
			command.Project, command.NonInteractive = state.Project, true
			opened, err := app.Open(cmd.Context(), cli.Env, command)
			if err != nil {
				return err
			}
			if _, err = opened.Engine.Open(cmd.Context(), state.ID, false); err == nil {
				if undo {
					err = opened.Engine.Do(cmd.Context(), state.ID, session.UndoRewind{})
				} else {
					rewind := session.Rewind{To: at.Seq, Conversation: talk, Files: files}
					err = cli.rewindTo(cmd.Context(), opened, state.ID, at, rewind, yes)
				}
			}
			return errors.Join(err, opened.Close())
		},
	}
	command.Flags().BoolVar(&files, "files", false, "the files alone (default: files and conversation)")
	command.Flags().BoolVar(&talk, "conversation", false, "the conversation alone")
	command.Flags().BoolVarP(&yes, "yes", "y", false, "do it; otherwise it is only shown")
	command.Flags().BoolVar(&undo, "undo", false, "take the last rewind back")
	return command
}

// Rewind shows what a rewind would do, and does it.
func (cli CLI) rewindTo(
	ctx context.Context,
	opened *app.App,
	id session.ID,
	at session.Checkpoint,
	rewind session.Rewind,
	yes bool,
) error {
	preview, err := opened.Engine.Preview(ctx, id, at.Seq)
	if err != nil && rewind.Files {
		return err
	}
	if rewind.Conversation {
		fmt.Fprintln(cli.Out, locale.T("taken back of the conversation: %s, %s of the plan",
			theme.Plural(preview.Turns, "turn"), theme.Plural(preview.Steps, "step")))
	}
	if rewind.Files {
		fmt.Fprintln(cli.Out, locale.T("files that change: %d", len(preview.Changes)))
		for _, f := range preview.Changes {
			fmt.Fprintf(cli.Out, "  %s %s  +%d −%d\n", theme.Fit(locale.T(string(f.Kind)), 8), theme.Line(f.Path), f.Added, f.Removed)
		}
		for _, s := range preview.Skipped {
			fmt.Fprintln(cli.Out, locale.T("not covered: %s", theme.Line(s)))
		}
		if !yes && preview.Patch != "" {
			fmt.Fprintf(cli.Out, "\n%s\n", strings.TrimRight(theme.Sanitize(preview.Patch), "\n"))
		}
	}
	if len(preview.Commands) > 0 {
		fmt.Fprintln(cli.Out, locale.T("what these commands did outside the folder stays:"))
		for _, line := range preview.Commands {
			fmt.Fprintf(cli.Out, "  %s\n", theme.Line(line))
		}
	}
	if !yes {
		fmt.Fprintln(cli.Err, locale.T("nothing was changed; to do it: --yes"))
		return nil
	}
	rewind.ExpectTree = preview.Now
	if err := opened.Engine.Do(ctx, id, rewind); err != nil {
		return err
	}
	fmt.Fprintln(cli.Err, locale.T("done; to take it back: belay sessions rewind %s --undo", id))
	return nil
}
