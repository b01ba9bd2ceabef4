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

const (
	demoPrompt = "The till is wrong for more than one of a kind. Find out why and mend it."
	demoBanner = "demo: replies are scripted; files and commands are real"

	// demoFailback is how soon the demo goes back to a model that gave way: sooner
	// than the medium model's answer ends, so that the next turn shows it.
	demoFailback = "1s"
)

func (d Deps) demo(g *global) *cobra.Command {
	var plainly, keep bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch belay carry a task through a capacity failure and a crash, without an account",
		Long: `Plays a whole task by itself in a temporary project. A scripted model cuts it
into five steps, gives way in the middle of a sentence, is taken over by another
and gone back to. In the third step belay itself is killed in the middle of a
sentence, started again, and goes on: nothing is done twice. At the end the last
step is taken back, and that as well. Files and commands are real, as is the kill.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			s, err := d.stage()
			if err != nil {
				return err
			}
			s.plainly, s.debugHTTP = plainly || d.Width(d.Out) == 0, g.debugHTTP
			defer func() { err = errors.Join(err, s.clear(keep)) }()
			return s.play(cmd.Context())
		},
	}
	c.Flags().BoolVar(&plainly, "plain", false, "without a screen")
	c.Flags().BoolVar(&keep, "keep", false, "keep the temporary project")
	return c
}

// stage is where the demo plays: a folder with a project, a script and data of
// its own.
type stage struct {
	d         Deps
	dir       string
	plainly   bool
	debugHTTP string
}

func (s *stage) project() string { return filepath.Join(s.dir, "till") }
func (s *stage) script() string  { return filepath.Join(s.dir, "demo.toml") }
func (s *stage) data() string    { return filepath.Join(s.dir, "data") }

// stage makes the folder.
func (d Deps) stage() (*stage, error) {
	dir, err := os.MkdirTemp("", "belay-demo-")
	if err != nil {
		return nil, fmt.Errorf("make the demo's folder: %w", err)
	}
	s := &stage{d: d, dir: dir}
	if err := s.set(); err != nil {
		return nil, errors.Join(fmt.Errorf("write the demo: %w", err), os.RemoveAll(dir))
	}
	return s, nil
}

func (s *stage) set() error {
	dir, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return err
	}
	s.dir = dir
	files, err := fs.Sub(demoFiles, "demo/project")
	if err != nil {
		return err
	}
	return errors.Join(os.CopyFS(s.project(), files), os.WriteFile(s.script(), embedded("demo/demo.toml"), 0o600))
}

func (s *stage) clear(keep bool) error {
	if keep {
		fmt.Fprintf(s.d.Err, "the project is in %s\n", s.project())
		return nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the demo: %w", err)
	}
	return nil
}

// choice is what the demo's sessions run with.
func (s *stage) choice() Choice {
	return Choice{Project: s.project(), Rehearsal: s.script(), Approve: "all", Trust: true, What: "demo", Data: s.data(), DebugHTTP: s.debugHTTP,
		Failback: demoFailback, Alone: s.plainly}
}

// PlayCommand is the name of the command that the demo starts belay with, so
// that there is a belay that can be killed.
const PlayCommand = "play-demo"

func (d Deps) player(g *global) *cobra.Command {
	s := stage{d: d}
	var id string
	c := &cobra.Command{
		Use: PlayCommand, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.debugHTTP = g.debugHTTP
			return s.act(cmd.Context(), session.ID(id))
		},
	}
	c.Flags().StringVar(&s.dir, "in", "", "the `FOLDER` of the demo")
	c.Flags().StringVar(&id, "resume", "", "go on with this session: its `ID`")
	c.Flags().BoolVar(&s.plainly, "plain", false, "without a screen")
	return c
}

// act carries the task out, or goes on with it.
func (s *stage) act(ctx context.Context, id session.ID) error {
	if s.plainly {
		f := runFlags{global: &global{}, steps: true}
		if id != "" {
			return s.d.carryIn(ctx, f, s.choice(), id, session.Prompt{})
		}
		return s.d.carryIn(ctx, f, s.choice(), "", session.Prompt{Text: demoPrompt})
	}
	screen := Screen{Session: id, GoOn: true, Banner: demoBanner, Beside: s.beside}
	if id == "" {
		screen.Prompt, screen.Split = demoPrompt, true
	}
	return s.d.Screen(ctx, s.d, s.choice(), screen)
}
