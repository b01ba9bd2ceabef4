package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"belay/session"
	"belay/session/store"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
	"belay/ui/theme"
)

func (cli CLI) sessionsCommand(globals *globalFlags) *cobra.Command {
	command := &cobra.Command{
		Use:   "sessions",
		Short: "List, search, show, rename, fork, archive, delete and export sessions",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cli.listSessions(cmd.Context(), session.Filter{}) },
	}
	addRehearsedFlag(command, globals)
	command.AddCommand(
		cli.listCommand(globals),
		cli.showCommand(),
		cli.searchCommand(globals),
		cli.renameCommand(),
		cli.forkCommand(),
		cli.archiveCommand(),
		cli.deleteCommand(),
		cli.restoreCommand(),
		cli.exportCommand(globals),
		cli.repairCommand(),
		cli.curlCommand(globals),
		cli.checkpointsCommand(),
		cli.rewindCommand(globals),
	)
	return command
}

func (cli CLI) listCommand(globals *globalFlags) *cobra.Command {
	var filter session.Filter
	var here, json bool
	command := &cobra.Command{
		Use: "list", Short: "List sessions, the newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if filter.Limit < 0 {
				return &exit.UsageError{Err: fmt.Errorf("--limit %d: write a number above 0", filter.Limit)}
			}
			if here {
				dir, err := cli.projectDir(*globals)
				if err != nil {
					return err
				}
				filter.Project = dir
			}
			if json {
				return cli.listSessionsJSON(cmd.Context(), filter)
			}
			return cli.listSessions(cmd.Context(), filter)
		},
	}
	command.Flags().BoolVar(&here, "here", false, "only those of this folder")
	command.Flags().BoolVar(&filter.Archived, "archived", false, "the archived ones instead")
	command.Flags().BoolVar(&filter.Deleted, "deleted", false, "the deleted ones instead")
	command.Flags().IntVarP(&filter.Limit, "limit", "n", 0, "at most this `NUMBER`")
	command.Flags().BoolVar(&json, "json", false, "one JSON object a line")
	return command
}

func (cli CLI) listSessionsJSON(ctx context.Context, f session.Filter) error {
	return app.ReadStore(ctx, func(st *store.Store) error {
		list, err := st.List(ctx, f)
		if err != nil {
			return err
		}
		for _, s := range list {
			line := sessionLine{Session: s, Rehearsed: app.IsRehearsed(ctx)}
			if err := plain.JSONLine(cli.Out, line); err != nil {
				return err
			}
		}
		return nil
	})
}

// sessionLine is a session as it is listed.
type sessionLine struct {
	session.Session
	Rehearsed bool `json:"rehearsed,omitempty"` // a script answered in place of the models
}

// title is how a session is called in a list; one that was rehearsed is marked.
func title(ctx context.Context, s session.Session) string {
	if app.IsRehearsed(ctx) {
		return locale.T("(rehearsed)") + " " + theme.Line(s.Title)
	}
	return theme.Line(s.Title)
}

func (cli CLI) listSessions(ctx context.Context, f session.Filter) error {
	return app.ReadStore(ctx, func(st *store.Store) error {
		list, err := st.List(ctx, f)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			fmt.Fprintln(cli.Err, locale.T("no sessions yet: `belay` begins one"))
			return nil
		}
		rows := [][]string{{"ID", "STATE", "AGE", "COST", "PROJECT", "TITLE"}}
		for _, s := range list {
			rows = append(rows, []string{
				string(s.ID),
				locale.T(string(s.Status)),
				theme.Age(s.Updated, cli.Now()),
				theme.Money(s.Cost),
				filepath.Base(s.Project),
				title(ctx, s),
			})
		}
		return plain.Table(cli.Out, rows, cli.Width(cli.Out))
	})
}

func (cli CLI) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Print a session", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.ReadStore(cmd.Context(), func(st *store.Store) error {
				s, err := st.Find(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return st.Export(cmd.Context(), s.ID, plain.Clean(cli.Out), "markdown")
			})
		},
	}
}

func (cli CLI) searchCommand(globals *globalFlags) *cobra.Command {
	var here bool
	command := &cobra.Command{
		Use: "search WORDS", Short: "Search all that was said and done", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var filter session.Filter
			if here {
				dir, err := cli.projectDir(*globals)
				if err != nil {
					return err
				}
				filter.Project = dir
			}
			return app.ReadStore(cmd.Context(), func(st *store.Store) error {
				hits, err := st.Search(cmd.Context(), strings.Join(args, " "), filter)
				if err != nil {
					return err
				}
				for _, h := range hits {
					snippet := strings.NewReplacer("\x02", "«", "\x03", "»").Replace(h.Snippet)
					fmt.Fprintf(cli.Out, "%s\t%s\t%s\n", h.Session.ID, title(cmd.Context(), h.Session), theme.Line(snippet))
				}
				if len(hits) == 0 {
					fmt.Fprintln(cli.Err, locale.T("nothing found"))
					return &exit.Error{Code: exit.Failed}
				}
				return nil
			})
		},
	}
	command.Flags().BoolVar(&here, "here", false, "only in sessions of this folder")
	return command
}

// changeCommand is a command that appends events to one session.
func (cli CLI) changeCommand(
	use, short string,
	args cobra.PositionalArgs,
	does func(state session.Session, args []string) (session.Event, string, error),
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.ChangeStore(cmd.Context(), cli.Err, func(st *store.Store) error {
				state, err := st.Find(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				event, said, err := does(state, args[1:])
				if err != nil {
					return err
				}
				if _, _, err := st.Append(cmd.Context(), state.ID, state.Turn, event); err != nil {
					return err
				}
				fmt.Fprintln(cli.Err, said)
				return nil
			})
		},
	}
}

func (cli CLI) renameCommand() *cobra.Command {
	return cli.changeCommand(
		"rename ID TITLE",
		"Give a session a title",
		cobra.MinimumNArgs(2),
		func(s session.Session, args []string) (session.Event, string, error) {
			title := theme.Line(strings.Join(args, " "))
			if title == "" {
				return nil, "", &exit.UsageError{Err: errors.New("the title is empty")}
			}
			return session.Renamed{Title: title}, locale.T("%s is now %q", s.ID, title), nil
		},
	)
}

func (cli CLI) archiveCommand() *cobra.Command {
	return cli.changeCommand(
		"archive ID",
		"Put a session away; restore brings it back",
		cobra.ExactArgs(1),
		func(s session.Session, _ []string) (session.Event, string, error) {
			text := locale.T("%s is archived · back: belay sessions restore %s", s.ID, s.ID)
			return session.ArchiveChanged{Archived: true}, text, nil
		},
	)
}

func (cli CLI) deleteCommand() *cobra.Command {
	return cli.changeCommand(
		"delete ID",
		"Delete a session; restore brings it back for 30 days",
		cobra.ExactArgs(1),
		func(s session.Session, _ []string) (session.Event, string, error) {
			if s.Live() {
				return nil, "", fmt.Errorf("session %s is running: stop it first", s.ID)
			}
			text := locale.T("%s is deleted · back: belay sessions restore %s", s.ID, s.ID)
			return session.ArchiveChanged{Deleted: cli.Now()}, text, nil
		},
	)
}

func (cli CLI) restoreCommand() *cobra.Command {
	return cli.changeCommand(
		"restore ID",
		"Bring an archived or deleted session back",
		cobra.ExactArgs(1),
		func(s session.Session, _ []string) (session.Event, string, error) {
			return session.ArchiveChanged{}, locale.T("%s is back", s.ID), nil
		},
	)
}

func (cli CLI) forkCommand() *cobra.Command {
	var at int64
	command := &cobra.Command{
		Use: "fork ID", Short: "Begin a new session with the history of another", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.ChangeStore(cmd.Context(), cli.Err, func(st *store.Store) error {
				s, err := st.Find(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				forked, err := st.Fork(cmd.Context(), s.ID, at)
				if err != nil {
					return err
				}
				fmt.Fprintln(cli.Out, forked.ID)
				return nil
			})
		},
	}
	command.Flags().Int64Var(&at, "at", 0, "up to this `EVENT`, back to the end of its turn (default: all)")
	return command
}

func (cli CLI) exportCommand(globals *globalFlags) *cobra.Command {
	var format, file, archive string
	command := &cobra.Command{
		Use: "export ID", Short: "Write a session as Markdown, as JSON lines, or with all that is known of it",
		Long: `Writes a session as Markdown or as JSON lines. A bundle is an archive for others:
the transcript, the log, what the last request was made of, and the record of all
requests, also of the sessions of a plan's steps; without credentials. The same
session gives the same bytes.`,
		Example: `  belay sessions export 4kf > session.md
  belay sessions export 4kf --format jsonl -o log.jsonl
  belay sessions export 4kf --bundle session.tar.gz`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if archive != "" {
				if file != "" || cmd.Flags().Changed("format") {
					return &exit.UsageError{Err: errors.New("--bundle writes a file and a format of its own"), See: "belay sessions export --help"}
				}
				return writeBundle(cmd.Context(), cli, *globals, args[0], archive)
			}
			if format != "markdown" && format != "jsonl" {
				return &exit.UsageError{Err: fmt.Errorf("unknown format %q: use markdown or jsonl", format)}
			}
			return app.ReadStore(cmd.Context(), func(st *store.Store) error {
				state, err := st.Find(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if file == "" {
					return st.Export(cmd.Context(), state.ID, cli.Out, format)
				}
				f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				if err != nil {
					return fmt.Errorf("export: %w", err)
				}
				if err := errors.Join(st.Export(cmd.Context(), state.ID, f, format), f.Close()); err != nil {
					return err
				}
				fmt.Fprintln(cli.Err, locale.T("written to %s", file))
				return nil
			})
		},
	}
	command.Flags().StringVar(&format, "format", "markdown", "`FORMAT`: markdown or jsonl")
	command.Flags().StringVarP(&file, "output", "o", "", "write to this new `FILE`")
	command.Flags().StringVar(&archive, "bundle", "", "write everything into this new `FILE`, a .zip or .tar.gz")
	return command
}

func (cli CLI) repairCommand() *cobra.Command {
	return &cobra.Command{
		Use: "repair", Short: "Save what can be read of a damaged database", Args: cobra.NoArgs,
		Long: "Copies every event that can still be read into a fresh database. The damaged\nfile is kept beside it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := app.DataDir(cmd.Context())
			if err != nil {
				return err
			}
			report, err := store.Repair(cmd.Context(), dir)
			if err != nil {
				return err
			}
			fmt.Fprintln(cli.Out, locale.Said(report.String()))
			return nil
		},
	}
}
