package app

import (
	"context"
	"os"
	"path/filepath"

	"belay/config"
	"belay/ui/cli/exit"
)

// dataKey is under which a context keeps the data folder that a command works on.
type dataKey struct{}

// InData makes everything that is read and written under a context that of another
// data folder: what a script played must not mix with what models did.
func InData(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, dataKey{}, dir)
}

// DataDir is the folder of the data: the user's, unless the context names another.
func DataDir(ctx context.Context) (string, error) {
	if dir, ok := ctx.Value(dataKey{}).(string); ok {
		return dir, nil
	}
	dir, err := config.Home(os.Getenv)
	if err != nil {
		return "", &exit.SettingsError{Err: err}
	}
	return dir, nil
}

// rehearsed is the folder, within the user's data, of what scripts played.
const rehearsed = "rehearsal"

// Rehearsed is the context of everything that scripts played.
func Rehearsed(ctx context.Context) (context.Context, error) {
	if IsRehearsed(ctx) {
		return ctx, nil
	}
	dir, err := DataDir(ctx)
	if err != nil {
		return ctx, err
	}
	return InData(ctx, filepath.Join(dir, rehearsed)), nil
}

// IsRehearsed reports whether a context is that of what scripts played.
func IsRehearsed(ctx context.Context) bool {
	dir, ok := ctx.Value(dataKey{}).(string)
	return ok && filepath.Base(dir) == rehearsed
}

// Within is the context of the data that an app with these options works on.
func (o Options) Within(ctx context.Context) (context.Context, error) {
	switch {
	case o.Data != "":
		return InData(ctx, o.Data), nil
	case o.Rehearsal != "":
		return Rehearsed(ctx)
	}
	return ctx, nil
}

// locate reads the settings and finds the data of an app with these options; the context
// is that of the data.
func locate(ctx context.Context, o Options) (context.Context, config.Settings, string, error) {
	settings, err := LoadSettings(ctx, o)
	if err != nil {
		return ctx, settings, "", err
	}
	if ctx, err = o.Within(ctx); err != nil {
		return ctx, settings, "", err
	}
	dir, err := DataDir(ctx)
	return ctx, settings, dir, err
}
