package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"belay/models"
	"belay/session"
	"belay/session/store"
	"belay/ui/cli/app"
	"belay/ui/theme"
)

// completeNames has shells complete what commands and flags take: sessions by their
// ids, tiers, approval modes.
func completeNames(command *cobra.Command) {
	if strings.Contains(command.Use, " ID") && command.ValidArgsFunction == nil {
		command.ValidArgsFunction = sessionIDs
	}
	var tiers, modes []string
	for _, tier := range models.Tiers() {
		tiers = append(tiers, string(tier))
	}
	for _, mode := range session.Modes() {
		modes = append(modes, string(mode))
	}
	for name, complete := range map[string]cobra.CompletionFunc{
		"tier":    cobra.FixedCompletions(tiers, cobra.ShellCompDirectiveNoFileComp),
		"approve": cobra.FixedCompletions(modes, cobra.ShellCompDirectiveNoFileComp),
		"resume":  sessionIDs,
	} {
		if command.Flags().Lookup(name) != nil {
			_ = command.RegisterFlagCompletionFunc(name, complete) // it fails only when there is one already
		}
	}
	for _, child := range command.Commands() {
		completeNames(child)
	}
}

// maxCompletions is how many sessions a shell is offered, the newest first.
const maxCompletions = 50

// sessionIDs completes the id of a session; what cannot be read is not offered.
func sessionIDs(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	_ = app.ReadStore(ctx, func(st *store.Store) error {
		list, err := st.List(ctx, session.Filter{Limit: maxCompletions})
		for _, s := range list {
			if strings.HasPrefix(string(s.ID), typed) {
				found = append(found, cobra.CompletionWithDesc(string(s.ID), theme.Cut(theme.Line(s.Title), 60)))
			}
		}
		return err
	})
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
