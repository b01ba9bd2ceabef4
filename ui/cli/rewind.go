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
	"belay/ui/plain"
	"belay/ui/theme"
)

func (cli CLI) checkpointsCommand() *cobra.Command {
	var json bool
	c := &cobra.Command{
		Use: "checkpoints ID", Short: "List the places that a session can return to", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, list, err := cli.listCheckpoints(cmd.Context(), args[0])
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
				fmt.Fprintf(cli.Err, "session %s has no turns yet\n", s.ID)
				return nil
			}
			rows := [][]string{{"NUMBER", "EVENT", "AGE", "FILES", "WHERE"}}
			for i, p := range list {
				files := "kept"
				if p.Tree == "" {
					files = "not kept"
				}
				what := fmt.Sprintf("before turn %d: %s", p.Turn, theme.Line(p.Title))
				if p.After {
					what = fmt.Sprintf("after turn %d: %s", p.Turn, theme.Line(p.Title))
				}
				if p.Step > 0 {
					what = fmt.Sprintf("before step %d: %s", p.Step, theme.Line(p.Title))
				}
				rows = append(rows, []string{strconv.Itoa(i + 1), strconv.FormatInt(p.Seq, 10), theme.Age(p.Time, cli.Now()), files, what})
			}
			return plain.Table(cli.Out, rows, cli.Width(cli.Out))
		},
	}
	c.Flags().BoolVar(&json, "json", false, "one JSON object a line")
	return c
}

// listCheckpoints lists a session's checkpoints.
func (cli CLI) listCheckpoints(ctx context.Context, prefix string) (s session.Session, list []session.Checkpoint, err error) {
	err = app.WithStore(ctx, true, func(st *store.Store) error {
		if s, err = st.Find(ctx, prefix); err != nil {
			return err
		}
		list, err = rewind.List(ctx, st, s.ID)
		return err
	})
	return s, list, err
}

func (cli CLI) rewindCommand(g *global) *cobra.Command {
	var files, talk, yes, undo bool
	c := &cobra.Command{
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
			s, list, err := cli.listCheckpoints(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if undo != (len(args) == 1) {
				return &exit.UsageError{Err: errors.New("say the number of a checkpoint, or --undo"), See: "belay sessions checkpoints " + string(s.ID)}
			}
			var at session.Checkpoint
			if !undo {
				n, err := strconv.Atoi(args[1])
				if err != nil || n < 1 || n > len(list) {
					return &exit.UsageError{Err: fmt.Errorf("there is no checkpoint %q: they are 1 to %d", args[1], len(list)), See: "belay sessions checkpoints " + string(s.ID)}
				}
				at = list[n-1]
			}
			if !files && !talk {
				files, talk = at.Tree != "", true
			}
			if err := checkFolder(s); err != nil {
				return err
			}
			c, err := cli.options(*g, "rewind")
			if err != nil {
				return err
			}
			c.Project, c.NonInteractive = s.Project, true
			h, err := app.Open(cmd.Context(), cli.Env, c)
			if err != nil {
				return err
			}
			if _, err = h.Engine.Open(cmd.Context(), s.ID, false); err == nil {
				if undo {
					err = h.Engine.Do(cmd.Context(), s.ID, session.UndoRewind{})
				} else {
					err = cli.rewindTo(cmd.Context(), h, s.ID, at, session.Rewind{To: at.Seq, Conversation: talk, Files: files}, yes)
				}
			}
			return errors.Join(err, h.Close())
		},
	}
	c.Flags().BoolVar(&files, "files", false, "the files alone (default: files and conversation)")
	c.Flags().BoolVar(&talk, "conversation", false, "the conversation alone")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do it; otherwise it is only shown")
	c.Flags().BoolVar(&undo, "undo", false, "take the last rewind back")
	return c
}

// Rewind shows what a rewind would do, and does it.
func (cli CLI) rewindTo(ctx context.Context, h *app.App, id session.ID, at session.Checkpoint, c session.Rewind, yes bool) error {
	p, err := h.Engine.Preview(ctx, id, at.Seq)
	if err != nil && c.Files {
		return err
	}
	if c.Conversation {
		fmt.Fprintf(cli.Out, "taken back of the conversation: %s, %s of the plan\n", theme.Plural(p.Turns, "turn"), theme.Plural(p.Steps, "step"))
	}
	if c.Files {
		fmt.Fprintf(cli.Out, "files that change: %d\n", len(p.Changes))
		for _, f := range p.Changes {
			fmt.Fprintf(cli.Out, "  %-8s %s  +%d −%d\n", f.Kind, theme.Line(f.Path), f.Added, f.Removed)
		}
		for _, s := range p.Skipped {
			fmt.Fprintf(cli.Out, "not covered: %s\n", theme.Line(s))
		}
		if !yes && p.Patch != "" {
			fmt.Fprintf(cli.Out, "\n%s\n", strings.TrimRight(theme.Sanitize(p.Patch), "\n"))
		}
	}
	if len(p.Commands) > 0 {
		fmt.Fprintln(cli.Out, "what these commands did outside the folder stays:")
		for _, line := range p.Commands {
			fmt.Fprintf(cli.Out, "  %s\n", theme.Line(line))
		}
	}
	if !yes {
		fmt.Fprintln(cli.Err, "nothing was changed; to do it: --yes")
		return nil
	}
	c.ExpectTree = p.Now
	if err := h.Engine.Do(ctx, id, c); err != nil {
		return err
	}
	fmt.Fprintf(cli.Err, "done; to take it back: belay sessions rewind %s --undo\n", id)
	return nil
}
