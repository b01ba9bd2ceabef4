package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"belay/ui/cli/app"
	"belay/ui/cli/bundle"
	"belay/ui/cli/exit"
	"belay/ui/locale"
)

// writeBundle writes all that is known of a session into a new archive.
func writeBundle(ctx context.Context, cli CLI, globals globalFlags, prefix, name string) error {
	kind, err := bundle.KindOf(name)
	if err != nil {
		return &exit.UsageError{Err: fmt.Errorf("--bundle: %w", err), See: "belay sessions export --help"}
	}
	state, err := cli.findSession(ctx, prefix)
	if err != nil {
		return err
	}
	options, err := cli.options(globals, "export")
	if err != nil {
		return err
	}
	options.Project = state.Project
	opened, err := app.Open(ctx, cli.Env, options)
	if err != nil {
		return err
	}
	source := bundle.Source{
		Store: opened.Store, Session: state, Version: cli.Version, Rehearsed: app.IsRehearsed(ctx),
		Request: opened.LastRequest, Secrets: opened.Secrets(),
	}
	return errors.Join(createBundle(ctx, cli, kind, name, source), opened.Close())
}

// createBundle leaves no half of an archive behind.
func createBundle(ctx context.Context, cli CLI, kind bundle.Kind, name string, source bundle.Source) error {
	if !filepath.IsAbs(name) {
		name = filepath.Join(cli.Dir, name)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	err = bundle.Write(ctx, file, kind, filepath.Dir(name), source)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	fmt.Fprintln(cli.Err, locale.T("written to %s", name))
	return nil
}
