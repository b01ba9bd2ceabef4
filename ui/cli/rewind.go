package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"belay/session"
	"belay/session/engine"
	"belay/session/store"
	"belay/ui/theme"
)

func (d Deps) checkpoints() *cobra.Command {
	var json bool
	c := &cobra.Command{
		Use: "checkpoints ID", Short: "List the places that a session can return to", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, list, err := d.places(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if json {
				for _, p := range list {
					if err := writeJSON(d.Out, p); err != nil {
						return err
					}
				}
				return nil
			}
			if len(list) == 0 {
				fmt.Fprintf(d.Err, "session %s has no turns yet\n", s.ID)
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
				rows = append(rows, []string{strconv.Itoa(i + 1), strconv.FormatInt(p.Seq, 10), theme.Age(p.Time, d.Now()), files, what})
			}
			return table(d.Out, rows, d.Width(d.Out))
		},
	}
	c.Flags().BoolVar(&json, "json", false, "one JSON object a line")
	return c
}

// places lists a session's checkpoints.
func (d Deps) places(ctx context.Context, prefix string) (s session.Session, list []session.Checkpoint, err error) {
	err = with(ctx, true, func(st *store.Store) error {
		if s, err = st.Find(ctx, prefix); err != nil {
			return err
		}
		list, err = engine.Checkpoints(ctx, st, s.ID)
		return err
	})
	return s, list, err
}

func (d Deps) rewind(g *global) *cobra.Command {
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
			s, list, err := d.places(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if undo != (len(args) == 1) {
				return &usageError{err: errors.New("say the number of a checkpoint, or --undo"), help: "belay sessions checkpoints " + string(s.ID)}
			}
			var at session.Checkpoint
			if !undo {
				n, err := strconv.Atoi(args[1])
				if err != nil || n < 1 || n > len(list) {
					return &usageError{err: fmt.Errorf("there is no checkpoint %q: they are 1 to %d", args[1], len(list)), help: "belay sessions checkpoints " + string(s.ID)}
				}
				at = list[n-1]
			}
			if !files && !talk {
				files, talk = at.Tree != "", true
			}
			if err := there(s); err != nil {
				return err
			}
			c, err := d.choice(*g, "rewind")
			if err != nil {
				return err
			}
			c.Project, c.Alone = s.Project, true
			h, err := d.Connect(cmd.Context(), c)
			if err != nil {
				return err
			}
			if _, err = h.Engine.Open(cmd.Context(), s.ID, false); err == nil {
				if undo {
					err = h.Engine.Do(cmd.Context(), s.ID, session.UndoRewind{})
				} else {
					err = d.turnBack(cmd.Context(), h, s.ID, at, session.Rewind{To: at.Seq, Conversation: talk, Files: files}, yes)
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

// turnBack shows what a rewind would do, and does it.
func (d Deps) turnBack(ctx context.Context, h *House, id session.ID, at session.Checkpoint, c session.Rewind, yes bool) error {
	p, err := h.Engine.Preview(ctx, id, at.Seq)
	if err != nil && c.Files {
		return err
	}
	if c.Conversation {
		fmt.Fprintf(d.Out, "taken back of the conversation: %s, %s of the plan\n", theme.Plural(p.Turns, "turn"), theme.Plural(p.Steps, "step"))
	}
	if c.Files {
		fmt.Fprintf(d.Out, "files that change: %d\n", len(p.Changes))
		for _, f := range p.Changes {
			fmt.Fprintf(d.Out, "  %-8s %s  +%d −%d\n", f.Kind, theme.Line(f.Path), f.Added, f.Removed)
		}
		for _, s := range p.Skipped {
			fmt.Fprintf(d.Out, "not covered: %s\n", theme.Line(s))
		}
		if !yes && p.Patch != "" {
			fmt.Fprintf(d.Out, "\n%s\n", strings.TrimRight(theme.Sanitize(p.Patch), "\n"))
		}
	}
	if len(p.Commands) > 0 {
		fmt.Fprintln(d.Out, "what these commands did outside the folder stays:")
		for _, line := range p.Commands {
			fmt.Fprintf(d.Out, "  %s\n", theme.Line(line))
		}
	}
	if !yes {
		fmt.Fprintln(d.Err, "nothing was changed; to do it: --yes")
		return nil
	}
	c.ExpectTree = p.Now
	if err := h.Engine.Do(ctx, id, c); err != nil {
		return err
	}
	fmt.Fprintf(d.Err, "done; to take it back: belay sessions rewind %s --undo\n", id)
	return nil
}
