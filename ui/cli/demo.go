package cli

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"belay/session"
)

//go:embed demo
var demoFiles embed.FS

// Rehearsal is the script behind --rehearsal without a file of one's own.
func Rehearsal() []byte { return embedded("demo/rehearsal.toml") }

// RehearsalFile is the script that --rehearsal names; empty is the built-in one.
func RehearsalFile(flag string) string {
	if flag == BuiltIn {
		return ""
	}
	return flag
}

func embedded(name string) []byte {
	b, err := demoFiles.ReadFile(name)
	if err != nil {
		panic(err) // a file that the compiler put here
	}
	return b
}

const demoPrompt = "The till is wrong for more than one of a kind. Find out why and mend it."

func (d Deps) demo(g *global) *cobra.Command {
	var plainly, keep bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch belay carry a task through a capacity failure, without an account",
		Long: `Plays a whole task by itself in a temporary project: a scripted model inside
belay reads, gives way in the middle of a sentence, is taken over by another,
edits and runs the project's checks. Files and commands are real.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.play(cmd.Context(), plainly || d.Width(d.Out) == 0, keep, g.debugHTTP)
		},
	}
	c.Flags().BoolVar(&plainly, "plain", false, "without a screen")
	c.Flags().BoolVar(&keep, "keep", false, "keep the temporary project")
	return c
}

func (d Deps) play(ctx context.Context, plainly, keep bool, debugHTTP string) (err error) {
	dir, err := os.MkdirTemp("", "belay-demo-")
	if err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	defer func() {
		if keep {
			fmt.Fprintf(d.Err, "the project is in %s\n", filepath.Join(dir, "till"))
		} else {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	project, script := filepath.Join(dir, "till"), filepath.Join(dir, "demo.toml")
	files, err := fs.Sub(demoFiles, "demo/project")
	if err != nil {
		return fmt.Errorf("read the demo: %w", err)
	}
	if err := errors.Join(os.CopyFS(project, files), os.WriteFile(script, embedded("demo/demo.toml"), 0o600)); err != nil {
		return fmt.Errorf("write the demo: %w", err)
	}
	if project, err = filepath.EvalSymlinks(project); err != nil {
		return fmt.Errorf("write the demo: %w", err)
	}
	c := Choice{Project: project, Rehearsal: script, Approve: "all", Trust: true, What: "demo", Data: filepath.Join(dir, "data"), DebugHTTP: debugHTTP}
	if !plainly {
		return d.Screen(ctx, d, c, Screen{Prompt: demoPrompt, Banner: "demo: replies are scripted; files and commands are real"})
	}
	c.Alone = true
	fmt.Fprintf(d.Err, "› %s\n", demoPrompt)
	return d.carryIn(ctx, runFlags{global: &global{}}, c, "", session.Prompt{Text: demoPrompt})
}
