package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"belay/session"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/theme"
)

const (
	pollInterval    = 80 * time.Millisecond // between two looks at what is on disk
	minDraft        = 80                    // letters of the sentence at which belay is killed
	maxStarts       = 5                     // times that belay is started
	shutdownTimeout = 5 * time.Second       // that belay has to end when it is asked to
)

// run starts belay, kills it once, and starts it again.
func (d *demo) run(ctx context.Context) error {
	if d.Plain {
		d.say("› %s", demoPrompt)
		d.caption("belay run --steps --approve all \"…\"")
	}
	var now progress
	for n := 1; ; n++ {
		end, err := d.start(ctx, now.id, n == 1)
		if err != nil {
			return err
		}
		now, err = d.readProgress(context.WithoutCancel(ctx))
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return &exit.Error{Code: exit.Interrupted}
		case end.killed && n < maxStarts:
			d.reportKill(end, now)
			if !d.pause(ctx, 1800*time.Millisecond) {
				return &exit.Error{Code: exit.Interrupted}
			}
			continue
		case end.code != exit.Done:
			return &exit.Error{Code: end.code}
		case d.Plain:
			return d.rewindAndUndo(ctx, now.id)
		}
		return nil
	}
}

// exitStatus is how a belay that was started has ended.
type exitStatus struct {
	code         int
	killed       bool // it could do nothing about it
	killedByDemo bool // by the demo, in the middle of a sentence
}

// startProcess starts belay and waits for its end. With kill it is killed in the
// middle of a sentence.
func (d *demo) startProcess(ctx context.Context, id session.ID, kill bool) (exitStatus, error) {
	cmd, err := d.command(ctx, id)
	if err != nil {
		return exitStatus{}, err
	}
	restore := func() {}
	if !d.Plain {
		restore = d.SaveTerminal()
	}
	if err := cmd.Start(); err != nil {
		return exitStatus{}, fmt.Errorf("start belay: %w", err)
	}
	var end exitStatus
	watching, stopWatching := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	if kill {
		watcher.Go(func() { end.killedByDemo = d.midSentence(watching) && cmd.Process.Kill() == nil })
	}
	err = cmd.Wait()
	stopWatching()
	watcher.Wait()
	end.code = cmd.ProcessState.ExitCode()
	end.killed = !cmd.ProcessState.Exited() || end.killedByDemo && end.code != exit.Done
	if end.killed {
		restore()
	}
	var failed *exec.ExitError
	if err != nil && ctx.Err() == nil && !errors.As(err, &failed) {
		return end, fmt.Errorf("wait for belay: %w", err)
	}
	return end, nil
}

// command is this program once more, on the same terminal. When the demo is
// asked to end, so is it.
func (d *demo) command(ctx context.Context, id session.ID) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find belay: %w", err)
	}
	args := []string{PlayCommand, "--in", d.dir}
	if id != "" {
		args = append(args, "--resume", string(id))
	}
	if d.Plain {
		args = append(args, "--plain")
	}
	if d.DebugHTTP != "" {
		args = append(args, "--debug-http", d.DebugHTTP)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Args[0] = filepath.Base(os.Args[0]) // by the name that we were started with
	cmd.Env = append(os.Environ(), "BELAY_HOME="+d.data())
	cmd.Stdout, cmd.Stderr = d.Out, d.Err
	if !d.Plain {
		cmd.Stdin = d.In
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = shutdownTimeout
	return cmd, nil
}

// midSentence waits until the third step has changed a file and the model is in
// the middle of a sentence about that.
func (d *demo) midSentence(ctx context.Context) bool {
	for d.pause(ctx, pollInterval) {
		now, err := d.readProgress(ctx) // what cannot be read now can be read later
		if err == nil && now.currentStep == 3 && now.changed != "" && len(now.draft) >= minDraft {
			return true
		}
	}
	return false
}

// reportKill says what happened, and what is on disk.
func (d *demo) reportKill(end exitStatus, now progress) {
	if end.killedByDemo {
		d.say("")
		d.say("✗ belay was killed (kill -9), in the middle of a sentence and without a warning")
	} else {
		d.say("")
		d.say("✗ belay was killed")
	}
	switch {
	case now.id == "":
		d.say("  nothing was on disk yet: starting it again")
		return
	case now.steps == 0:
		d.say("  on disk: the task, and no steps yet")
	default:
		d.say("  on disk: %d of %d steps", now.done, now.steps)
	}
	if now.changed != "" {
		d.say("           what the next one has done: %s", theme.Line(now.changed))
	}
	if now.draft != "" {
		d.say("           half a sentence: “…%s”", lastPart(theme.Line(now.draft)))
	}
	d.say("  starting it again:")
	if d.Plain {
		d.caption("belay resume %s", now.id)
	} else {
		d.caption("belay -r %s", now.id)
	}
}

// lastPart is the end of a text, as much as fits into a line.
func lastPart(s string) string {
	r := []rune(s)
	return string(r[max(0, len(r)-45):])
}

// pause reports whether a while has passed before ctx ended.
func (d *demo) pause(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintln(d.Err, theme.Sanitize(locale.T(format, args...)))
}

// caption says with which command a person would do what comes next.
func (d *demo) caption(format string, args ...any) {
	d.say("$ %s", fmt.Sprintf(format, args...))
}
