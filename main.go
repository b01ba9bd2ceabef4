// Command belay is a terminal coding agent and session manager that keeps the
// work when the model gives way. This file wires the parts; what they decide
// stands in their packages.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"belay/config"
	"belay/context/systemprompt"
	"belay/models"
	"belay/models/openai"
	"belay/session"
	"belay/session/steps"
	"belay/session/tools"
	"belay/ui"
	"belay/ui/capacity"
	"belay/ui/cli"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		dir = "" // it was deleted: commands that need it say so
	}
	d := cli.Deps{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Dir: dir, Version: version(), Now: time.Now, NewID: newID, Width: width, Keep: keep, Screen: screen}
	return cli.Run(ctx, d, os.Args[1:])
}

// version is what the build knows of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

// newID makes 26 random characters.
func newID() string { return strings.ToLower(rand.Text()) }

// width is the number of columns of a terminal, and 0 for anything else.
func width(stream any) int {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return 0
	}
	w, _, err := term.GetSize(f.Fd())
	if err != nil || w <= 0 {
		return 80
	}
	return w
}

// keep notes the modes of the terminal. What it gives sets them again, and ends
// all that a full screen asks of a terminal: a program that was killed could not.
func keep() (mend func()) {
	set := func() {}
	for _, f := range []*os.File{os.Stdin, os.Stdout} {
		if state, err := term.GetState(f.Fd()); err == nil {
			before := set
			set = func() { before(); _ = term.Restore(f.Fd(), state) } // who has lost the terminal has nothing to mend
		}
	}
	return func() {
		fmt.Print(ansi.ResetModeSynchronizedOutput, ansi.ResetModeMouseButtonEvent, ansi.ResetModeMouseAnyEvent, ansi.ResetModeMouseExtSgr,
			ansi.ResetModeFocusEvent, ansi.ResetModeBracketedPaste, ansi.ResetModeUnicodeCore, ansi.ResetModifyOtherKeys, ansi.PopKittyKeyboard(1),
			ansi.ResetStyle, ansi.SetCursorStyle(0), ansi.ResetCursorColor, ansi.ResetModeAltScreenSaveCursor, ansi.SetModeTextCursorEnable, ansi.SetWindowTitle(""))
		set()
	}
}

// screen opens the full screen. Everything slow happens after its first frame.
func screen(ctx context.Context, d cli.Deps, c cli.Choice, s cli.Screen) error {
	b := &backstage{d: d, c: c, beside: s.Beside}
	look := d.Looks()
	err := ui.Run(ctx, ui.Options{
		Project: c.Project, Connect: b.connect, Open: s.Session, GoOn: s.GoOn, Picker: s.Picker, Prompt: s.Prompt, Split: s.Split, Banner: s.Banner, Version: d.Version,
		Theme: look.Screen.Theme, Quiet: look.Screen.Notify == "off", Mode: session.Mode(cmp.Or(c.Approve, look.Permissions.Mode)), Editor: cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")), Now: d.Now, NewID: d.NewID,
		Branch:    func(ctx context.Context) string { return systemprompt.Branch(ctx, c.Project) },
		ListFiles: func(ctx context.Context, focus []string) ([]string, error) { return tools.Files(ctx, c.Project, focus) },
		ReadImage: func(_ context.Context, path string) (models.Image, error) { return tools.Image(c.Project, path) },
		Capacity:  b.capacity, Weight: b.weight, Warn: b.warn, RunTool: b.tool, Curl: b.curl,
		RunShell: b.shell, Prompts: b.prompts, EditText: editText, ReadText: readText,
		PlanText:    func(list []session.Step) string { return steps.Write("", list) },
		ParsePlan:   func(text string) ([]session.Step, error) { _, list, err := steps.Read(text); return list, err },
		Checkpoints: b.checkpoints, Preview: b.preview,
	})
	return errors.Join(err, b.close())
}

// backstage is what the screen works with, once it is open.
type backstage struct {
	d     cli.Deps
	c     cli.Choice
	house *cli.House

	beside func(context.Context, *cli.House)
	work   sync.WaitGroup // that goes on beside the screen

	mu   sync.Mutex // the screen asks from several goroutines
	past *cli.Past
	read time.Time // when past was
}

// connect opens the house, or says what must be asked first. The screen calls
// it again after each answer.
func (b *backstage) connect(ctx context.Context) (ui.Engine, ui.Library, *ui.Setup, error) {
	ask, err := b.d.Ask(ctx, b.c)
	if err != nil {
		return nil, nil, nil, err
	}
	if ask.Trust || ask.Key {
		setup := &ui.Setup{Key: ask.Key, KeyFor: ask.Provider,
			Answer:  func(ctx context.Context, trusted bool) error { return cli.Trust(ctx, b.c.Project, trusted) },
			SaveKey: func(_ context.Context, key string) (string, error) { return cli.SaveKey(ask.Provider, key) },
			Local:   locals, Use: useLocal,
			Rehearse: func(context.Context) (string, error) {
				b.c.Rehearsal = cli.BuiltIn
				return cli.RehearsalBanner, nil
			}}
		if ask.Trust {
			setup.Trust = b.c.Project
		}
		return nil, nil, setup, nil
	}
	if b.house, err = b.d.Connect(ctx, b.c); err != nil {
		return nil, nil, nil, err
	}
	if b.beside != nil {
		b.work.Go(func() { b.beside(ctx, b.house) })
	}
	return b.house.Engine, b.house.Store, nil, nil
}

// close ends everything. The screen's context is over.
func (b *backstage) close() error {
	b.work.Wait()
	if b.house == nil {
		return nil
	}
	return b.house.Close()
}

func (b *backstage) curl(ctx context.Context, id session.ID) (string, error) {
	return b.house.Curl(ctx, id)
}

// shell runs a command that the person typed themselves.
func (b *backstage) shell(ctx context.Context, command string) (string, error) {
	return b.house.Shell(ctx, b.c.Project, command)
}

func (b *backstage) prompts(ctx context.Context) []string {
	list, err := b.house.Store.Prompts(ctx, b.c.Project)
	if err != nil {
		return nil // a history that cannot be read is no reason to stop
	}
	return list
}

// tool runs one of belay's own commands as the command line would.
func (b *backstage) tool(ctx context.Context, name string) (string, error) {
	var out bytes.Buffer
	d := b.d
	d.In, d.Out, d.Err = strings.NewReader(""), &out, &out
	args := []string{name, "--dir", b.c.Project}
	if b.c.Rehearsal != "" && name == "doctor" {
		args = append(args, "--rehearsal", b.c.Rehearsal)
	}
	if b.c.DebugHTTP != "" {
		args = append(args, "--debug-http", b.c.DebugHTTP)
	}
	if code := cli.Run(ctx, d, args); code != 0 {
		return out.String(), fmt.Errorf("exit code %d", code)
	}
	return out.String(), nil
}

// lately is what the record of the last days says, read anew every half minute.
func (b *backstage) lately(ctx context.Context) (*cli.Past, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.d.Now()
	if b.past == nil || now.Sub(b.read) > 30*time.Second {
		past, err := b.house.Past(ctx, now)
		if err != nil {
			return nil, err
		}
		b.past, b.read = past, now
	}
	return b.past, nil
}

// capacity is the state of all models for the panel. All but what the record
// says is in memory.
func (b *backstage) capacity(ctx context.Context) (capacity.View, error) {
	past, err := b.lately(ctx)
	if err != nil {
		return capacity.View{}, err
	}
	v := capacity.View{Says: past.Says()}
	for _, day := range past.Week() {
		v.Week = append(v.Week, capacity.Day(day))
	}
	for _, st := range b.house.Standings() {
		row := capacity.Row{Condition: st.Condition, Tried: st.Tried, Streak: st.Streak, FirstToken: st.FirstToken}
		row.Share, row.Attempts = past.Share(st.Target)
		v.Rows = append(v.Rows, row)
	}
	return v, nil
}

// warn is from how many tokens on a request is worth a hint.
func (b *backstage) warn() int64 {
	if b.house == nil {
		return 0
	}
	return b.house.Settings.Context.Warn
}

// checkpoints are the places that a session can return to.
func (b *backstage) checkpoints(ctx context.Context, id session.ID) ([]session.Checkpoint, error) {
	return b.house.Engine.Checkpoints(ctx, id)
}

// preview is what returning to one of them would do.
func (b *backstage) preview(ctx context.Context, id session.ID, to int64) (session.Preview, error) {
	return b.house.Engine.Preview(ctx, id, to)
}

// weight is what the next request of a session would be made of, for the panel.
func (b *backstage) weight(ctx context.Context, id session.ID) (session.ContextUsage, error) {
	return b.house.Engine.ContextUsage(ctx, id)
}

// locals lists the endpoints found on this computer.
func locals(ctx context.Context) ([]ui.Local, error) {
	var list []ui.Local
	for _, f := range openai.Discover(ctx, nil) {
		list = append(list, ui.Local{Name: f.Name, URL: f.BaseURL, Models: f.Models})
	}
	return list, nil
}

func useLocal(_ context.Context, l ui.Local) error {
	path, _, err := config.File(os.Getenv)
	if err != nil {
		return err
	}
	return config.Create(path, config.Local(l.Name, l.URL, l.Models[0]))
}

// editText writes a draft to a file of its own for the user's editor.
func editText(_ context.Context, text string) (string, error) {
	f, err := os.CreateTemp("", "belay-*.md")
	if err != nil {
		return "", fmt.Errorf("write the draft: %w", err)
	}
	_, err = f.WriteString(text)
	return f.Name(), errors.Join(err, f.Close())
}

func readText(path string) (string, error) {
	b, err := os.ReadFile(path)
	return string(b), errors.Join(err, os.Remove(path))
}
