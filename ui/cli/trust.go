package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"belay/session/permit"
	"belay/session/store"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/theme"
)

// trustCommand shows and changes whose settings and instructions are read.
func (cli CLI) trustCommand(globals *globalFlags) *cobra.Command {
	command := &cobra.Command{
		Use: "trust", Short: "The folders whose .belay.toml and AGENTS.md are read", Args: cobra.NoArgs,
	}
	list := &cobra.Command{
		Use: "list", Short: "List the trusted folders", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cli.listTrusted(cmd.Context()) },
	}
	change := func(name, short, done string, trusted bool) *cobra.Command {
		return &cobra.Command{
			Use: name + " [FOLDER]", Short: short, Args: cobra.MaximumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				folder, err := cli.folder(*globals, args)
				if err != nil {
					return err
				}
				if err := app.SetTrusted(cmd.Context(), folder, trusted); err != nil {
					return err
				}
				_, err = fmt.Fprintln(cli.Out, locale.T(done, theme.Line(folder)))
				return err
			},
		}
	}
	command.AddCommand(list,
		change("add", "Trust this folder, or another", "%s is trusted", true),
		change("revoke", "Trust this folder, or another, no longer", "%s is trusted no longer", false))
	command.RunE = list.RunE
	return command
}

// folder is the one that an argument names, or the one to work in.
func (cli CLI) folder(globals globalFlags, args []string) (string, error) {
	if len(args) > 0 {
		globals.dir = args[0]
	}
	return cli.projectDir(globals)
}

func (cli CLI) listTrusted(ctx context.Context) error {
	return app.ReadStore(ctx, func(st *store.Store) error {
		folders, err := st.TrustedFolders(ctx)
		if err != nil {
			return err
		}
		if len(folders) == 0 {
			_, err := fmt.Fprintln(cli.Out, locale.T("no folder is trusted"))
			return err
		}
		for _, folder := range folders {
			if _, err := fmt.Fprintln(cli.Out, theme.Line(folder)); err != nil {
				return err
			}
		}
		return nil
	})
}

// permissionsCommand shows and takes back what runs without asking in a folder.
func (cli CLI) permissionsCommand(globals *globalFlags) *cobra.Command {
	command := &cobra.Command{
		Use: "permissions", Short: "What you have allowed for good in this folder", Args: cobra.NoArgs,
	}
	list := &cobra.Command{
		Use: "list", Short: "List what runs without asking", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.withRules(cmd.Context(), *globals, true, cli.listRules)
		},
	}
	revoke := &cobra.Command{
		Use: "revoke NUMBER", Short: "Ask again for one of them, or for all", Args: cobra.ExactArgs(1),
		Example: "  belay permissions revoke 2\n  belay permissions revoke all",
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.withRules(cmd.Context(), *globals, false,
				func(ctx context.Context, st *store.Store, project string, rules []string) error {
					return cli.revokeRules(ctx, st, project, rules, args[0])
				})
		},
	}
	command.AddCommand(list, revoke)
	command.RunE = list.RunE
	return command
}

func (cli CLI) withRules(
	ctx context.Context, globals globalFlags, readOnly bool,
	do func(ctx context.Context, st *store.Store, project string, rules []string) error,
) error {
	project, err := cli.projectDir(globals)
	if err != nil {
		return err
	}
	open := app.ReadStore
	if !readOnly {
		open = func(ctx context.Context, do func(*store.Store) error) error { return app.ChangeStore(ctx, cli.Err, do) }
	}
	return open(ctx, func(st *store.Store) error {
		rules, err := st.PermissionGrants(ctx, project)
		if err != nil {
			return err
		}
		return do(ctx, st, project, rules)
	})
}

func (cli CLI) listRules(_ context.Context, _ *store.Store, project string, rules []string) error {
	if len(rules) == 0 {
		_, err := fmt.Fprintln(cli.Out, locale.T("nothing is allowed for good in %s", theme.Line(project)))
		return err
	}
	for i, rule := range rules {
		if _, err := fmt.Fprintf(cli.Out, "%2d  %s\n", i+1, theme.Visible(permit.RuleText(rule))); err != nil {
			return err
		}
	}
	return nil
}

// revokeRules takes back the rule of a number, or all.
func (cli CLI) revokeRules(ctx context.Context, st *store.Store, project string, rules []string, which string) error {
	if which != "all" {
		n, err := strconv.Atoi(which)
		if err != nil || n < 1 || n > len(rules) {
			return &exit.UsageError{
				Err: fmt.Errorf("%q is none of the %d numbers", which, len(rules)), See: "belay permissions",
			}
		}
		rules = rules[n-1 : n]
	}
	for _, rule := range slices.Clone(rules) {
		if err := st.RevokePermission(ctx, project, rule); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(cli.Out, locale.T("asks again: %s", theme.Visible(permit.RuleText(rule)))); err != nil {
			return err
		}
	}
	return nil
}
