package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"belay/session"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
)

// lastStepCheckpoint is the place before the last step.
func lastStepCheckpoint(list []session.Checkpoint) (at session.Checkpoint, number int, ok bool) {
	for i, c := range slices.Backward(list) {
		if c.Step > 0 {
			return c, i + 1, true
		}
	}
	return at, 0, false
}

// rewindAndUndo takes the last step back, and then that, without a screen.
func (d *demo) rewindAndUndo(ctx context.Context, id session.ID) error {
	opened, err := app.Open(ctx, d.Env, d.options())
	if err != nil {
		return err
	}
	if _, err = opened.Engine.Open(ctx, id, false); err == nil {
		err = d.rewindOnCommandLine(ctx, opened, id)
	}
	if err = errors.Join(err, opened.Close()); ctx.Err() != nil {
		return &exit.Error{Code: exit.Interrupted}
	}
	return err
}

func (d *demo) rewindOnCommandLine(ctx context.Context, opened *app.App, id session.ID) error {
	list, err := opened.Engine.Checkpoints(ctx, id)
	if err != nil {
		return err
	}
	at, number, ok := lastStepCheckpoint(list)
	if !ok {
		return nil
	}
	back := session.Rewind{To: at.Seq, Conversation: true, Files: at.Tree != ""}
	for _, yes := range []bool{false, true} {
		command := fmt.Sprintf("belay sessions rewind %s %d", id, number)
		if yes {
			command += " --yes"
		}
		d.say("")
		d.caption("%s", command)
		if err := d.Rewind(ctx, opened, id, at, back, yes); err != nil {
			return err
		}
		d.pause(ctx, time.Second)
	}
	d.reportProgress(opened, id)
	d.say("")
	d.caption("belay sessions rewind %s --undo", id)
	if err := opened.Engine.Do(ctx, id, session.UndoRewind{}); err != nil {
		return err
	}
	d.reportProgress(opened, id)
	d.say("")
	d.say("That was belay. `belay` opens it for your own project; `belay demo` is the same with a screen.")
	return nil
}

// reportProgress says how far the plan is, and what the last step has left.
func (d *demo) reportProgress(a *app.App, id session.ID) {
	if now, ok := a.Engine.Session(id); ok && now.Plan != nil {
		d.say("  now: %d of %d steps done; README.md %s", now.Plan.Done(), len(now.Plan.Steps), d.readme())
	}
}

func (d *demo) readme() string {
	b, err := os.ReadFile(filepath.Join(d.project(), "README.md"))
	if err == nil && strings.Contains(string(b), "quantity") {
		return locale.T("says what a line of a basket holds")
	}
	return locale.T("does not say what a line of a basket holds")
}

// alongside takes the last step back on the screen, and then that.
func (d *demo) alongside(ctx context.Context, a *app.App) {
	if err := d.rewindOnScreen(ctx, a); err != nil && ctx.Err() == nil {
		a.Engine.Alert(session.Alerted{Text: "demo: " + err.Error(), Screen: true})
	}
}

func (d *demo) rewindOnScreen(ctx context.Context, opened *app.App) error {
	head, ok := d.finished(ctx, opened)
	if !ok || !d.pause(ctx, 4*time.Second) {
		return nil
	}
	list, err := opened.Engine.Checkpoints(ctx, head.ID)
	if err != nil {
		return err
	}
	at, _, ok := lastStepCheckpoint(list)
	if now, open := opened.Engine.Session(head.ID); !ok || !open || now.LastSeq != head.LastSeq {
		return nil // somebody has gone on by themselves
	}
	p, err := opened.Engine.Preview(ctx, head.ID, at.Seq)
	if err != nil {
		return err
	}
	rewind := session.Rewind{To: at.Seq, Conversation: true, Files: at.Tree != "", ExpectTree: p.Now}
	if err := opened.Engine.Do(ctx, head.ID, rewind); err != nil {
		return err
	}
	say := func(format string, args ...any) {
		opened.Engine.Alert(session.Alerted{Text: fmt.Sprintf("demo: "+format, args...), Screen: true})
	}
	say("step %d is taken back", at.Step)
	now, _ := opened.Engine.Session(head.ID)
	if !d.pause(ctx, 5*time.Second) {
		return nil
	}
	if then, open := opened.Engine.Session(head.ID); !open || then.LastSeq != now.LastSeq {
		return nil
	}
	if err := opened.Engine.Do(ctx, head.ID, session.UndoRewind{}); err != nil {
		return err
	}
	d.pause(ctx, time.Second) // the screen reads the log again
	say("brought back · ctrl+c twice leaves")
	return nil
}

// finished waits until the plan has been carried out.
func (d *demo) finished(ctx context.Context, a *app.App) (session.Session, bool) {
	for d.pause(ctx, 4*pollInterval) {
		list, err := a.Store.List(ctx, session.Filter{})
		if err != nil {
			continue // the screen says what is wrong with the store
		}
		for _, x := range list {
			if x.Plan != nil && len(x.Plan.Steps) > 0 && x.Plan.Done() == len(x.Plan.Steps) &&
				x.Status == session.Idle {
				return x, true
			}
		}
	}
	return session.Session{}, false
}
