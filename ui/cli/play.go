package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"belay/session"
	"belay/session/store"
	"belay/session/tools"
	"belay/ui/theme"
)

const (
	looking  = 80 * time.Millisecond // between two looks at what is on disk
	midway   = 80                    // letters of the sentence at which belay is killed
	mostActs = 5                     // times that belay is started
	leaving  = 5 * time.Second       // that belay has to end when it is asked to
)

// play starts belay, kills it once, and starts it again.
func (s *stage) play(ctx context.Context) error {
	if s.plainly {
		s.say("› %s", demoPrompt)
		s.caption("belay run --steps --approve all \"…\"")
	}
	var now state
	for n := 1; ; n++ {
		end, err := s.start(ctx, now.id, n == 1)
		if err != nil {
			return err
		}
		now, err = s.look(context.WithoutCancel(ctx))
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return &toldError{exitInterrupted}
		case end.killed && n < mostActs:
			s.mourn(end, now)
			if !s.pause(ctx, 1800*time.Millisecond) {
				return &toldError{exitInterrupted}
			}
			continue
		case end.code != exitDone:
			return &toldError{end.code}
		case s.plainly:
			return s.backAndForth(ctx, now.id)
		}
		return nil
	}
}

// ending is how a belay that was started has ended.
type ending struct {
	code   int
	killed bool // it could do nothing about it
	struck bool // by the demo, in the middle of a sentence
}

// start starts belay and waits for its end. With strike it is killed when its
// time has come.
func (s *stage) start(ctx context.Context, id session.ID, strike bool) (ending, error) {
	cmd, err := s.command(ctx, id)
	if err != nil {
		return ending{}, err
	}
	mend := func() {}
	if !s.plainly {
		mend = s.d.Keep()
	}
	if err := cmd.Start(); err != nil {
		return ending{}, fmt.Errorf("start belay: %w", err)
	}
	var end ending
	watching, over := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	if strike {
		watcher.Go(func() { end.struck = s.midSentence(watching) && cmd.Process.Kill() == nil })
	}
	err = cmd.Wait()
	over()
	watcher.Wait()
	end.code = cmd.ProcessState.ExitCode()
	end.killed = !cmd.ProcessState.Exited() || end.struck && end.code != exitDone
	if end.killed {
		mend()
	}
	var exit *exec.ExitError
	if err != nil && ctx.Err() == nil && !errors.As(err, &exit) {
		return end, fmt.Errorf("wait for belay: %w", err)
	}
	return end, nil
}

// command is this program once more, on the same terminal. When the demo is
// asked to end, so is it.
func (s *stage) command(ctx context.Context, id session.ID) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find belay: %w", err)
	}
	args := []string{PlayCommand, "--in", s.dir}
	if id != "" {
		args = append(args, "--resume", string(id))
	}
	if s.plainly {
		args = append(args, "--plain")
	}
	if s.debugHTTP != "" {
		args = append(args, "--debug-http", s.debugHTTP)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Args[0] = filepath.Base(os.Args[0]) // by the name that we were started with
	cmd.Env = append(os.Environ(), "BELAY_HOME="+s.data())
	cmd.Stdout, cmd.Stderr = s.d.Out, s.d.Err
	if !s.plainly {
		cmd.Stdin = s.d.In
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = leaving
	return cmd, nil
}

// state is what is on disk of the task.
type state struct {
	id          session.ID
	done, steps int
	half        string // the sentence that was being said
	changed     string // by the step under way: "till.sh +1 −1"
	under       int    // the step under way
}

// look reads what is on disk, as any other program could.
func (s *stage) look(ctx context.Context) (state, error) {
	st, err := store.Open(ctx, s.data(), store.Options{ReadOnly: true})
	if err != nil {
		return state{}, err
	}
	now, err := read(ctx, st)
	return now, errors.Join(err, st.Close())
}

func read(ctx context.Context, st *store.Store) (now state, err error) {
	list, err := st.List(ctx, session.Filter{})
	i := slices.IndexFunc(list, func(s session.Session) bool { return s.Plan != nil })
	if err != nil || i < 0 {
		return now, err
	}
	plan := list[i].Plan
	now = state{id: list[i].ID, done: plan.Done(), steps: len(plan.Steps), under: plan.Current()}
	if now.under == 0 || plan.Steps[now.under-1].Session == "" {
		return now, nil
	}
	id := plan.Steps[now.under-1].Session
	ended, err := st.EventsOfType(ctx, id, "tool.ended")
	if err != nil {
		return now, err
	}
	for _, r := range ended {
		if e := r.Event.(session.ToolEnded); e.Diff != "" {
			added, removed := tools.Changed(e.Diff)
			now.changed = fmt.Sprintf("%s +%d −%d", e.Title, added, removed)
		}
	}
	draft, _, err := st.Draft(ctx, id)
	now.half = draft.Text
	return now, err
}

// midSentence waits until the third step has changed a file and the model is in
// the middle of a sentence about that.
func (s *stage) midSentence(ctx context.Context) bool {
	for s.pause(ctx, looking) {
		now, err := s.look(ctx) // what cannot be read now can be read later
		if err == nil && now.under == 3 && now.changed != "" && len(now.half) >= midway {
			return true
		}
	}
	return false
}

// mourn says what happened, and what is left.
func (s *stage) mourn(how ending, now state) {
	if how.struck {
		s.say("\n✗ belay was killed (kill -9), in the middle of a sentence and without a warning")
	} else {
		s.say("\n✗ belay was killed")
	}
	switch {
	case now.id == "":
		s.say("  nothing was on disk yet: starting it again")
		return
	case now.steps == 0:
		s.say("  on disk: the task, and no steps yet")
	default:
		s.say("  on disk: %d of %d steps", now.done, now.steps)
	}
	if now.changed != "" {
		s.say("           what the next one has done: %s", theme.Line(now.changed))
	}
	if now.half != "" {
		s.say("           half a sentence: “…%s”", end(theme.Line(now.half)))
	}
	s.say("  starting it again:")
	if s.plainly {
		s.caption("belay resume %s", now.id)
	} else {
		s.caption("belay -r %s", now.id)
	}
}

// end is the end of a text, as much as fits into a line.
func end(s string) string {
	r := []rune(s)
	return string(r[max(0, len(r)-45):])
}

// pause reports whether a while has passed before ctx ended.
func (s *stage) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *stage) say(format string, args ...any) {
	fmt.Fprintln(s.d.Err, theme.Sanitize(fmt.Sprintf(format, args...)))
}

// caption says with which command a person would do what comes next.
func (s *stage) caption(format string, args ...any) {
	s.say("$ %s", fmt.Sprintf(format, args...))
}

// last is the place before the last step.
func last(list []session.Checkpoint) (at session.Checkpoint, number int, ok bool) {
	for i, c := range slices.Backward(list) {
		if c.Step > 0 {
			return c, i + 1, true
		}
	}
	return at, 0, false
}

// backAndForth takes the last step back, and then that, without a screen.
func (s *stage) backAndForth(ctx context.Context, id session.ID) error {
	h, err := s.d.Connect(ctx, s.choice())
	if err != nil {
		return err
	}
	if _, err = h.Engine.Open(ctx, id, false); err == nil {
		err = s.rewindPlainly(ctx, h, id)
	}
	if err = errors.Join(err, h.Close()); ctx.Err() != nil {
		return &toldError{exitInterrupted}
	}
	return err
}

func (s *stage) rewindPlainly(ctx context.Context, h *House, id session.ID) error {
	list, err := h.Engine.Checkpoints(ctx, id)
	if err != nil {
		return err
	}
	at, number, ok := last(list)
	if !ok {
		return nil
	}
	back := session.Rewind{To: at.Seq, Conversation: true, Files: at.Tree != ""}
	for _, yes := range []bool{false, true} {
		words := fmt.Sprintf("belay sessions rewind %s %d", id, number)
		if yes {
			words += " --yes"
		}
		s.say("")
		s.caption("%s", words)
		if err := s.d.turnBack(ctx, h, id, at, back, yes); err != nil {
			return err
		}
		s.pause(ctx, time.Second)
	}
	s.standing(h, id)
	s.say("")
	s.caption("belay sessions rewind %s --undo", id)
	if err := h.Engine.Do(ctx, id, session.UndoRewind{}); err != nil {
		return err
	}
	s.standing(h, id)
	s.say("\nThat was belay. `belay` opens it for your own project; `belay demo` is the same with a screen.")
	return nil
}

// standing says how far the plan is, and what the last step has left.
func (s *stage) standing(h *House, id session.ID) {
	if now, ok := h.Engine.Session(id); ok && now.Plan != nil {
		s.say("  now: %d of %d steps done; README.md %s", now.Plan.Done(), len(now.Plan.Steps), s.readme())
	}
}

func (s *stage) readme() string {
	b, err := os.ReadFile(filepath.Join(s.project(), "README.md"))
	if err == nil && strings.Contains(string(b), "quantity") {
		return "says what a line of a basket holds"
	}
	return "does not say what a line of a basket holds"
}

// beside takes the last step back on the screen, and then that.
func (s *stage) beside(ctx context.Context, h *House) {
	if err := s.rewindBeside(ctx, h); err != nil && ctx.Err() == nil {
		h.Engine.Alert(session.Alerted{Text: "demo: " + err.Error(), Screen: true})
	}
}

func (s *stage) rewindBeside(ctx context.Context, h *House) error {
	head, ok := s.finished(ctx, h)
	if !ok || !s.pause(ctx, 4*time.Second) {
		return nil
	}
	list, err := h.Engine.Checkpoints(ctx, head.ID)
	if err != nil {
		return err
	}
	at, _, ok := last(list)
	if now, open := h.Engine.Session(head.ID); !ok || !open || now.LastSeq != head.LastSeq {
		return nil // somebody has gone on by themselves
	}
	p, err := h.Engine.Preview(ctx, head.ID, at.Seq)
	if err != nil {
		return err
	}
	if err := h.Engine.Do(ctx, head.ID, session.Rewind{To: at.Seq, Conversation: true, Files: at.Tree != "", ExpectTree: p.Now}); err != nil {
		return err
	}
	say := func(format string, args ...any) {
		h.Engine.Alert(session.Alerted{Text: fmt.Sprintf("demo: "+format, args...), Screen: true})
	}
	say("step %d is taken back", at.Step)
	now, _ := h.Engine.Session(head.ID)
	if !s.pause(ctx, 5*time.Second) {
		return nil
	}
	if then, open := h.Engine.Session(head.ID); !open || then.LastSeq != now.LastSeq {
		return nil
	}
	if err := h.Engine.Do(ctx, head.ID, session.UndoRewind{}); err != nil {
		return err
	}
	s.pause(ctx, time.Second) // the screen reads the log again
	say("brought back · ctrl+c twice leaves")
	return nil
}

// finished waits until the plan has been carried out.
func (s *stage) finished(ctx context.Context, h *House) (session.Session, bool) {
	for s.pause(ctx, 4*looking) {
		list, err := h.Store.List(ctx, session.Filter{})
		if err != nil {
			continue // the screen says what is wrong with the store
		}
		for _, x := range list {
			if x.Plan != nil && len(x.Plan.Steps) > 0 && x.Plan.Done() == len(x.Plan.Steps) && x.Status == session.Idle {
				return x, true
			}
		}
	}
	return session.Session{}, false
}
