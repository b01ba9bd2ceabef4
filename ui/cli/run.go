package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"belay/models"
	"belay/session"
	"belay/session/engine"
	"belay/ui/plain"
	"belay/ui/theme"
)

// runFlags are the flags of run and resume.
type runFlags struct {
	*global
	json    bool
	last    bool
	id      string
	noWait  bool
	maxWait time.Duration
}

// mostPrompt bounds what is read from standard input: more than any model's
// window.
const mostPrompt = 8 << 20

// usageWait is how far away a usage limit's reset may be for run to wait for
// it when --max-wait says nothing.
const usageWait = 45 * time.Minute

func (d Deps) run(g *global) *cobra.Command {
	f := runFlags{global: g}
	c := &cobra.Command{
		Use:   "run [flags] PROMPT | -",
		Short: "Carry out one prompt without a screen",
		Long: `Carries out one prompt. The answer goes to standard output, one line for each
event to standard error. File changes in the folder are made without asking;
a call that would have to ask ends the run with exit code 3 (see --approve).

When every model is at capacity the run is parked and tried again after 30 s,
2 min, 10 min and 30 min; --max-wait and --no-wait end it earlier.

Exit codes: 0 done · 1 the turn failed · 2 usage · 3 a person is needed ·
4 a limit was reached · 69 endpoint unreachable · 75 no capacity, rate or usage
limit: parked, can be resumed · 77 account · 78 settings · 130 interrupted`,
		Example: `  belay run "add a test for ParseDate"
  git diff | belay run "review this change: -"
  belay run --json --approve all - < task.txt`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return d.runPrompt(cmd.Context(), f, args) },
	}
	d.runFlags(c, &f)
	c.Flags().BoolVarP(&f.last, "continue", "c", false, "in the last session of this folder")
	c.Flags().StringVarP(&f.id, "resume", "r", "", "in the session with this `ID`")
	d.modelFlags(c, g)
	return c
}

func (d Deps) runFlags(c *cobra.Command, f *runFlags) {
	c.Flags().BoolVar(&f.json, "json", false, "write JSON lines to standard output")
	c.Flags().StringVar(&f.budget, "budget", "", "`TOKENS` a request may take (default: the settings')")
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "end at once when the turn is parked")
	c.Flags().DurationVar(&f.maxWait, "max-wait", 0, "end when the turn has been parked for this `TIME` in all, such as 10m (default: the whole ladder)")
	c.Flags().StringVar(&f.rehearsal, "rehearsal", "", "a `SCRIPT` that answers in place of the models; built-in for belay's own")
}

func (d Deps) resume(g *global) *cobra.Command {
	f := runFlags{global: g}
	c := &cobra.Command{
		Use:   "resume ID",
		Short: "Go on with a parked, failed, stopped or interrupted turn without a screen",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.id = args[0]
			return d.carry(cmd.Context(), f, "")
		},
	}
	d.runFlags(c, &f)
	d.modelFlags(c, g)
	return c
}

func (d Deps) runPrompt(ctx context.Context, f runFlags, args []string) error {
	if f.last && f.id != "" {
		return &usageError{err: errors.New("-c and -r exclude each other")}
	}
	prompt, err := d.prompt(args)
	if err != nil {
		return err
	}
	return d.carry(ctx, f, prompt)
}

// prompt is made of the arguments; a single - stands for standard input, also
// at the end of other words.
func (d Deps) prompt(args []string) (string, error) {
	words := strings.Join(args, " ")
	piped := len(args) == 0 && d.Width(d.In) == 0
	if piped || words == "-" || strings.HasSuffix(words, " -") {
		b, err := io.ReadAll(io.LimitReader(d.In, mostPrompt+1))
		if err != nil {
			return "", fmt.Errorf("read the prompt: %w", err)
		}
		if len(b) > mostPrompt {
			return "", &usageError{err: fmt.Errorf("the prompt on standard input is longer than %d MB", mostPrompt>>20)}
		}
		if bytes.IndexByte(b, 0) >= 0 {
			return "", &usageError{err: errors.New("standard input is not text"), help: "belay run --help; a file is better named in the prompt than sent along"}
		}
		words = strings.TrimSpace(strings.TrimSuffix(words, "-") + "\n" + string(b))
	}
	words = strings.ToValidUTF8(words, "�")
	if strings.TrimSpace(words) == "" {
		return "", &usageError{err: errors.New("there is no prompt"), help: "belay run --help"}
	}
	return words, nil
}

// carry runs a prompt, or goes on with a turn if there is none, to an end.
func (d Deps) carry(ctx context.Context, f runFlags, prompt string) error {
	c, err := d.choice(*f.global, "run")
	if err != nil {
		return err
	}
	if f.maxWait < 0 {
		return &usageError{err: fmt.Errorf("--max-wait %s: a time cannot be less than nothing", f.maxWait)}
	}
	c.Alone, c.NoWait, c.MaxWait = true, f.noWait, f.maxWait
	var id session.ID
	switch {
	case f.last:
		if id, err = d.last(ctx, c.Project); err != nil {
			return err
		}
	case f.id != "":
		s, err := d.find(ctx, f.id)
		if err != nil {
			return err
		}
		if err := there(s); err != nil {
			return err
		}
		id, c.Project = s.ID, s.Project
	}
	return d.carryIn(ctx, f, c, id, prompt)
}

// there refuses a session whose folder was moved or deleted, with a way on.
func there(s session.Session) error {
	if _, err := os.Stat(s.Project); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &usageError{err: fmt.Errorf("the folder of session %s is not there any more: %s", s.ID, s.Project),
		help: fmt.Sprintf("belay sessions show %s, to read it; if the folder was moved, a link to it lets belay go on: ln -s NEW %s", s.ID, s.Project)}
}

func (d Deps) carryIn(ctx context.Context, f runFlags, c Choice, id session.ID, prompt string) error {
	h, err := d.Connect(ctx, c)
	if err != nil {
		return err
	}
	r := &runner{d: d, f: f, h: h, out: d.writer(f.json)}
	code, err := r.run(ctx, c, id, prompt)
	closeErr := h.Close()
	r.alerts()
	if lost := r.out.Err(); err == nil && lost != nil {
		err = &lostError{err: lost, id: r.id}
	}
	if err == nil && closeErr != nil {
		err = fmt.Errorf("close: %w", closeErr)
	}
	if err == nil && code != exitDone {
		err = &toldError{code}
	}
	return err
}

func (d Deps) writer(json bool) plain.Writer {
	if json {
		return plain.NewJSON(d.Out)
	}
	return plain.NewText(d.Out, d.Err, d.Width(d.Err), d.Now)
}

// lostError is an answer that could not be written. It is kept all the same.
type lostError struct {
	err error
	id  session.ID
}

func (e *lostError) Error() string { return "write the answer: " + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }
func (e *lostError) Hint() string {
	return fmt.Sprintf("it is kept: belay sessions show %s", e.id)
}

// runner follows one session until there is nothing more to wait for.
type runner struct {
	d      Deps
	f      runFlags
	h      *House
	out    plain.Writer
	turn   plain.Turn
	id     session.ID
	parked time.Duration    // how long it has been parked
	before int64            // the last event of what came before this run
	late   []session.Record // that came when the end was told already
}

func (r *runner) run(ctx context.Context, c Choice, id session.ID, prompt string) (int, error) {
	var err error
	var s session.Session
	if id == "" {
		s, err = r.h.Engine.Start(ctx, c.Project)
	} else {
		s, err = r.h.Engine.Open(ctx, id, false)
	}
	if err != nil {
		return 0, err
	}
	r.id = s.ID
	if err := r.prepare(ctx, c, s); err != nil {
		return 0, err
	}
	var command session.Command = session.Resume{}
	if prompt != "" {
		command = session.Send{Prompt: session.Prompt{ID: r.d.NewID(), Text: prompt}}
		if s.Status == session.Parked {
			// The new prompt is what the person wants now.
			if err := r.h.Engine.Do(ctx, r.id, session.Stop{}); err != nil {
				return 0, err
			}
		}
	}
	if s, err = r.h.Engine.Wait(ctx, r.id); err != nil {
		return 0, err
	}
	r.before = s.Events
	if err := r.h.Engine.Do(ctx, r.id, command); errors.Is(err, engine.ErrNothing) {
		return 0, &usageError{err: err, help: fmt.Sprintf("belay sessions show %s, to read it; to say more: belay run -r %s \"…\"", r.id, r.id)}
	} else if err != nil {
		return 0, err
	}
	return r.follow(ctx)
}

// prepare sets tier and mode of a session as the command line says. A session
// that exists keeps its own when it says nothing.
func (r *runner) prepare(ctx context.Context, c Choice, s session.Session) error {
	if tier, err := models.ParseTier(c.Tier); err == nil && tier != s.Tier {
		if err := r.h.Engine.Do(ctx, r.id, session.ChooseTier{Tier: tier}); err != nil {
			return err
		}
	}
	if mode := session.Mode(c.Approve); mode != "" && mode != s.Mode {
		return r.h.Engine.Do(ctx, r.id, session.ChooseMode{Mode: mode})
	}
	return nil
}

// follow tells what happens until the turn has ended for good.
func (r *runner) follow(ctx context.Context) (int, error) {
	feed := make(chan []session.Record)
	failed := make(chan error, 1)
	listen, quit := context.WithCancel(context.WithoutCancel(ctx))
	var listener sync.WaitGroup
	defer func() {
		quit()
		listener.Wait()
	}()
	listener.Go(func() {
		for {
			records, err := r.h.Engine.Next(listen)
			if err != nil {
				failed <- err
				return
			}
			select {
			case feed <- records:
			case <-listen.Done():
				r.late = records
				return
			}
		}
	})
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	interrupted := ctx.Done()
	for {
		select {
		case records := <-feed:
			if end := r.tell(records); end != nil {
				code, again, err := r.ended(ctx, *end)
				if !again {
					return code, err
				}
			}
		case err := <-failed:
			return 0, err
		case <-ticker.C:
			r.out.Tick()
		case <-interrupted:
			interrupted = nil
			if err := r.h.Engine.Do(context.WithoutCancel(ctx), r.id, session.Stop{}); err != nil {
				return 0, err
			}
		}
	}
}

// alerts tells what came to light at the very end.
func (r *runner) alerts() {
	rest, _ := r.h.Engine.Next(context.Background()) // closed: it only gives what is left
	for _, rec := range append(r.late, rest...) {
		if a, ok := rec.Event.(session.Alerted); ok {
			r.say("! %s", theme.Line(a.Text))
		}
	}
}

func (r *runner) tell(records []session.Record) *session.TurnEnded {
	var end *session.TurnEnded
	for _, rec := range records {
		if a, ok := rec.Event.(session.Alerted); ok {
			r.say("! %s", theme.Line(a.Text))
		}
		if rec.Session != r.id {
			continue
		}
		if _, end := rec.Event.(session.TurnEnded); end && rec.Seq > 0 && rec.Seq <= r.before {
			continue // of an earlier turn, settled when the session was opened
		}
		r.turn.Add(rec)
		r.out.Record(rec, &r.turn)
		if e, ok := rec.Event.(session.TurnEnded); ok {
			end = &e
		}
	}
	return end
}

// ended decides what follows the end of a turn: the run's end, or a wait and
// another try.
func (r *runner) ended(ctx context.Context, end session.TurnEnded) (code int, again bool, err error) {
	s, err := r.h.Engine.Wait(context.WithoutCancel(ctx), r.id)
	if err != nil {
		return 0, false, err
	}
	if ctx.Err() != nil {
		r.say("to go on: belay resume %s", r.id)
		return exitInterrupted, false, nil
	}
	if end.Outcome != session.OutcomeParked {
		if code := exitSession(s, end.Limit); code != exitDone {
			r.hint(s, code)
			return code, false, nil
		}
		return exitDone, false, nil
	}
	rest := s.Retry.Sub(r.d.Now())
	if r.f.noWait || r.tooLong(s, rest) {
		r.say("parked; there may be room from %s on · to go on: belay resume %s", s.Retry.Local().Format("15:04:05"), r.id)
		return exitFault(s.Fault), false, nil
	}
	try := fmt.Sprintf("next try (%d of %d)", s.Rung, len(r.h.Settings.Park.Ladder))
	if s.Rung == 0 { // not one of the ladder
		try = "the allowance returns, and the next try is,"
	}
	r.say("  %s at %s, in %s", try, s.Retry.Local().Format("15:04:05"), rest.Round(time.Second))
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		r.parked += rest
		return 0, true, r.h.Engine.Do(ctx, r.id, session.Resume{})
	case <-ctx.Done():
		r.say("to go on: belay resume %s", r.id)
		return exitInterrupted, false, nil
	}
}

// tooLong reports whether waiting for the next try would break the limit.
func (r *runner) tooLong(s session.Session, rest time.Duration) bool {
	if r.f.maxWait > 0 {
		return r.parked+rest > r.f.maxWait
	}
	return s.Fault != nil && s.Fault.Kind == models.KindUsage && rest > usageWait
}

func (r *runner) hint(s session.Session, code int) {
	if s.Fault != nil && s.Fault.Hint != "" {
		r.say("  %s", s.Fault.Hint)
	}
	switch code {
	case exitPerson:
		r.say("  to answer: belay -r %s · to allow commands: --approve all", r.id)
	case exitFailed, exitLimit, exitUnreachable, exitCapacity, exitAccount, exitSettings:
		r.say("  to go on: belay resume %s", r.id)
	}
}

func (r *runner) say(format string, args ...any) {
	if t, ok := r.out.(*plain.Text); ok {
		t.Say(format, args...)
		return
	}
	fmt.Fprintln(r.d.Err, theme.Sanitize(fmt.Sprintf(format, args...)))
}

// project is the absolute folder to work in.
func (d Deps) project(g global) (string, error) {
	dir := g.dir
	if dir == "" && d.Dir == "" {
		return "", &usageError{err: errors.New("the folder that you are in no longer exists"), help: "belay --dir FOLDER, or change to another folder"}
	}
	if dir == "" {
		return d.Dir, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(d.Dir, dir)
	}
	found, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var is os.FileInfo
		if is, err = os.Stat(found); err == nil && !is.IsDir() {
			err = errors.New("it is no folder")
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no such folder")
	}
	if err != nil {
		return "", &usageError{err: fmt.Errorf("work in %s: %w", g.dir, err)}
	}
	return found, nil
}
