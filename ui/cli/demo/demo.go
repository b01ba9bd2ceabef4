// Package demo decides what `belay demo` plays: a task that is carried through a
// capacity failure and a real crash, in a temporary project.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"belay/session"
	"belay/ui/cli/app"
	"belay/ui/locale"
)

//go:embed files
var files embed.FS

const (
	demoPrompt = "The till is wrong for more than one of a kind. Find out why and mend it."
	demoBanner = "demo: replies are scripted; files and commands are real"

	// failbackAfter is how soon the demo goes back to a model that gave way: sooner
	// than the medium model's answer ends, so that the next turn shows it.
	failbackAfter = "1s"
)

// PlayCommand is the name of the command that the demo starts belay with.
const PlayCommand = "play-demo"

// Host is the program that the demo shows: it does what the commands do.
type Host struct {
	app.Env
	// SaveTerminal notes the state of the terminal; restore puts it back after a
	// program was killed that had it.
	SaveTerminal func() (restore func())
	// Run carries a task out in steps without a screen, or goes on with a session.
	Run    func(ctx context.Context, o app.Options, id session.ID, prompt string) error
	Screen func(ctx context.Context, o app.Options, s app.Screen) error
	// Rewind shows what a rewind would do and, with yes, does it.
	Rewind func(ctx context.Context, a *app.App, id session.ID, at session.Checkpoint, c session.Rewind, yes bool) error
}

// Options are how the demo is to be played.
type Options struct {
	Plain     bool // without a screen
	Keep      bool // the temporary project
	DebugHTTP string
}

// Run plays the demo in a folder of its own, which is removed afterwards.
func Run(ctx context.Context, host Host, o Options) (err error) {
	if err := checkPrograms(exec.LookPath); err != nil {
		return err
	}
	d, err := newDemo(host, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.cleanUp()) }()
	return d.run(ctx)
}

// missingError is a program that the demo's project runs and that is not here.
type missingError struct{ name string }

// Error names the program.
func (e *missingError) Error() string {
	return fmt.Sprintf("the demo runs commands with %s, which was not found", e.name)
}

// Hint says where it comes from.
func (e *missingError) Hint() string {
	return "on Windows, Git for Windows has it: put its folder usr\\bin into PATH"
}

// checkPrograms reports a program without which the demo's checks can never pass: the
// model would ask for them again and again.
func checkPrograms(find func(name string) (string, error)) error {
	for _, name := range []string{"sh", "grep"} {
		if _, err := find(name); err != nil {
			return &missingError{name}
		}
	}
	return nil
}

// Play is the part of the program that is killed: it carries the task out in the
// demo's folder, or goes on with it.
func Play(ctx context.Context, host Host, o Options, dir string, id session.ID) error {
	d := &demo{Host: host, Options: o, dir: dir}
	return d.play(ctx, id)
}

// demo is a folder with a project, a script and data of its own.
type demo struct {
	Host
	Options
	dir string
	// start starts belay and waits for its end; with kill it is killed in mid-sentence.
	start func(ctx context.Context, id session.ID, kill bool) (exitStatus, error)
}

func (d *demo) project() string { return filepath.Join(d.dir, "till") }
func (d *demo) script() string  { return filepath.Join(d.dir, "demo.toml") }
func (d *demo) data() string    { return filepath.Join(d.dir, "data") }

// newDemo makes the folder.
func newDemo(host Host, o Options) (*demo, error) {
	dir, err := os.MkdirTemp("", "belay-demo-")
	if err != nil {
		return nil, fmt.Errorf("make the demo's folder: %w", err)
	}
	d := &demo{Host: host, Options: o, dir: dir}
	d.start = d.startProcess
	if err := d.writeFiles(); err != nil {
		return nil, errors.Join(fmt.Errorf("write the demo: %w", err), os.RemoveAll(dir))
	}
	return d, nil
}

func (d *demo) writeFiles() error {
	dir, err := filepath.EvalSymlinks(d.dir)
	if err != nil {
		return err
	}
	d.dir = dir
	project, err := fs.Sub(files, "files/project")
	if err != nil {
		return err
	}
	script, err := files.ReadFile("files/demo.toml")
	if err != nil {
		return err
	}
	return errors.Join(os.CopyFS(d.project(), project), os.WriteFile(d.script(), script, 0o600))
}

func (d *demo) cleanUp() error {
	if d.Keep {
		fmt.Fprintln(d.Err, locale.T("the project is in %s", d.project()))
		return nil
	}
	if err := os.RemoveAll(d.dir); err != nil {
		return fmt.Errorf("remove the demo: %w", err)
	}
	return nil
}

// options are what the demo's sessions run with.
func (d *demo) options() app.Options {
	return app.Options{
		Project:        d.project(),
		Rehearsal:      d.script(),
		Mode:           string(session.All),
		Trust:          true,
		Program:        "demo",
		Data:           d.data(),
		DebugHTTP:      d.DebugHTTP,
		FailbackAfter:  failbackAfter,
		NonInteractive: d.Plain,
	}
}

// play carries the task out, or goes on with it.
func (d *demo) play(ctx context.Context, id session.ID) error {
	prompt := demoPrompt
	if id != "" {
		prompt = ""
	}
	if d.Plain {
		return d.Host.Run(ctx, d.options(), id, prompt)
	}
	return d.Screen(ctx, d.options(), app.Screen{
		Session:   id,
		Resume:    true,
		Prompt:    prompt,
		Plan:      prompt != "",
		Banner:    demoBanner,
		Alongside: d.alongside,
	})
}
