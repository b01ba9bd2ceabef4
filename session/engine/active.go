package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"belay/context/systemprompt"
	"belay/models"
	"belay/models/route"
	"belay/session"
	"belay/session/agent"
	"belay/session/permit"
	"belay/session/store"
	"belay/session/tools"
)

// openSession is a session that this engine may write to.
type openSession struct {
	e      *Engine
	id     session.ID
	lease  *store.Lease
	root   string // the workspace, links resolved
	tools  *tools.Set
	lever  *route.Control
	gather func() systemprompt.Prompt // what a briefing would be made of now

	briefed *session.SystemPrompt // of this session; nil: it has none yet
	where   string                // of the workspace, as the model was told last

	mu         sync.Mutex // also orders the log: whoever appends holds it
	head       session.Session
	talk       session.Conversation
	full       int64   // tokens of the conversation when a summary did not help; 0: it may
	compactNow *string // a summary is wanted before the next request, keeping this
	slimNext   bool    // a person wants the next request to go out slim
	slimSaid   string  // what was said of it
	guess      bool    // the last request was counted before the vocabulary was there
	grants     []string
	answers    map[string]chan session.Answer
	shots      Snapshots
	marks      *markings       // checkpoints that are being made
	lateTold   bool            // that it takes long
	life       context.Context // until the session is closed here
	end        context.CancelFunc
	unsaved    *session.TurnEnded      // an end that could not be stored; it goes before what is stored next
	cancel     context.CancelCauseFunc // of the running turn
	done       chan struct{}           // closed when it has ended
	timer      *time.Timer             // of a parked turn
	closed     bool                    // nothing is begun any more
	rung       bool                    // the turn that begins is a try of the ladder
	insist     bool                    // it is a person's word
	byHand     bool                    // the turn that runs was begun, or gone on with, by a person
	wrote      bool                    // the last turn has changed something
	limits     agent.Limits            // of its turns
	before     float64                 // what the session had cost when a person last said go
	spent      *agent.Spent            // by the last turn, over its tries
	parked     time.Duration           // how long it has been parked, its next rest included
}

func (a *openSession) session() session.Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.head
}

func (a *openSession) lost() bool {
	select {
	case <-a.lease.Lost():
		return true
	default:
		return false
	}
}

// append stores and publishes events. a.mu is held.
func (a *openSession) append(ctx context.Context, events ...session.Event) error {
	if a.unsaved != nil {
		if _, err := a.store(ctx, *a.unsaved); err != nil { // it was shown when it happened
			return err
		}
		a.unsaved = nil
	}
	for _, e := range events {
		if asked, ok := e.(session.ApprovalAsked); ok {
			a.await(asked.Approval)
		}
	}
	records, err := a.store(ctx, events...)
	if err != nil {
		return err
	}
	a.e.feed.put(records...)
	return nil
}

// await makes the place where an answer is put, so that one may come as soon
// as the question is shown.
func (a *openSession) await(ap session.Approval) {
	if a.answers[ap.CallID] == nil {
		a.answers[ap.CallID] = make(chan session.Answer, 1)
	}
}

func (a *openSession) store(ctx context.Context, events ...session.Event) ([]session.Record, error) {
	turn := a.head.Turn
	for _, e := range events {
		if _, begins := e.(session.TurnStarted); begins {
			turn++
		}
		a.wrote = wrote(a.wrote, e)
		a.marks.keep(a.root, e)
		if _, answered := e.(session.ReplyEnded); answered {
			a.slimNext, a.slimSaid = false, ""
		}
	}
	records, head, err := a.e.o.Store.Append(ctx, a.id, turn, events...)
	if err != nil {
		if a.lost() && a.cancel != nil {
			a.cancel(err)
		}
		return nil, err
	}
	a.head = head
	for _, r := range records {
		a.talk.Apply(r)
	}
	return records, nil
}

// wrote goes on with whether a turn has changed something.
func wrote(was bool, e session.Event) bool {
	switch e := e.(type) {
	case session.TurnStarted:
		return false
	case session.ToolStarted:
		return was || e.Effect.Class != session.Read
	}
	return was
}

// show tells the user what belongs to no event of the log. a.mu is held.
func (a *openSession) show(e session.Event) {
	a.e.feed.put(session.Record{Session: a.id, Turn: a.head.Turn, Time: a.e.o.Now(), Event: e})
}

// Append stores events of the running turn.
func (a *openSession) Append(ctx context.Context, events ...session.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.append(ctx, events...)
}

// Publish shows an event that is not stored.
func (a *openSession) Publish(e session.Event) {
	a.mu.Lock()
	turn := a.head.Turn
	a.mu.Unlock()
	a.e.feed.put(session.Record{Session: a.id, Turn: turn, Time: a.e.o.Now(), Event: e})
}

// SaveDraft stores what the model has said so far.
func (a *openSession) SaveDraft(ctx context.Context, d session.Draft) error {
	return a.e.o.Store.SaveDraft(ctx, a.id, d)
}

// Items is the conversation as the log holds it.
func (a *openSession) Items() []models.Item {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.talk.Items()
}

// Judge decides about a call by the session's mode and the project's rules.
func (a *openSession) Judge(c permit.Call) permit.Decision {
	a.mu.Lock()
	mode, grants := a.head.Mode, a.grants
	a.mu.Unlock()
	return permit.Judge(mode, c, grants)
}

// Grant remembers rules for the project.
func (a *openSession) Grant(ctx context.Context, rules []string) error {
	project := a.session().Project
	for _, rule := range rules {
		if err := a.e.o.Store.GrantPermission(ctx, project, rule); err != nil {
			return fmt.Errorf("remember what is allowed: %w", err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.grants = append(slices.Clone(a.grants), rules...)
	return nil
}

// Ask waits for a person's answer.
func (a *openSession) Ask(ctx context.Context, ap session.Approval) (session.Answer, error) {
	if a.e.o.NonInteractive {
		return session.Answer{}, agent.ErrNonInteractive
	}
	a.mu.Lock()
	answer := a.answers[ap.CallID]
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.answers, ap.CallID)
		a.mu.Unlock()
	}()
	select {
	case got := <-answer:
		return got, nil
	case <-ctx.Done():
		return session.Answer{}, context.Cause(ctx)
	}
}

// begin starts or resumes a turn with an event that says so. a.mu is held.
func (a *openSession) begin(ctx context.Context, event session.Event) error {
	if a.closed {
		return agent.ErrClosing
	}
	if a.cancel != nil {
		return ErrBusy
	}
	err := a.review(ctx)
	if err == nil {
		err = a.append(ctx, event)
	}
	if err != nil {
		a.rung, a.insist = false, false
		return err
	}
	a.launch()
	return nil
}

// launch runs the turn that the log says is under way. What has begun and not
// ended, whatever the reason, has an unknown outcome. a.mu is held.
func (a *openSession) launch() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	for _, ap := range a.head.PendingApprovals {
		a.await(ap)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	a.cancel, a.done = cancel, make(chan struct{})
	unknown := map[string]session.Effect{}
	for _, effect := range a.head.OpenEffects {
		if effect.Class == session.Run {
			unknown[effect.CallID] = effect
		}
	}
	if !a.rung || a.spent == nil { // a person's word gives the task its limits anew
		a.spent, a.parked, a.before = &agent.Spent{}, 0, a.head.Cost
	}
	a.byHand = !a.rung
	o := agent.Options{
		Router: a.e.o.Router, Log: a, Gate: a, Tools: a.tools, Control: a.lever, Build: a.build, Prune: a.slim, Measured: a.measured, Model: a.e.o.Model, Root: a.root,
		Turn: a.head.Turn, Purpose: models.Purpose{Session: string(a.id), Project: a.head.Project, Turn: a.head.Turn, Step: stepName(a.head)},
		ParkRetry: a.rung, Force: a.insist, Limits: a.limits, Spent: a.spent, Wrote: a.wrote, Unknown: unknown, NonInteractive: a.e.o.NonInteractive, NetworkWait: a.e.o.NetworkWait, Now: a.e.o.Now, NewID: a.e.o.NewID,
	}
	a.rung, a.insist = false, false
	if a.head.CheckpointTurn < a.head.Turn && !a.wrote && !underWay(a.head) {
		o.Ready = a.mark(0, "")
	}
	done, stepping := a.done, a.head.RunsPlan
	a.e.work.Go(func() {
		select {
		case <-a.lease.Lost():
			cancel(store.ErrTakenOver)
		case <-ctx.Done():
		}
	})
	a.e.work.Go(func() {
		defer close(done)
		var end session.TurnEnded
		if err := a.settleBriefing(ctx); err != nil {
			end = session.TurnEnded{Outcome: session.OutcomeFailed, Reason: err.Error()}
		} else if stepping {
			end = a.steps(ctx, o.Ready)
		} else {
			end = agent.Run(ctx, o)
		}
		cancel(nil)
		a.lever.Release()
		a.ended(end)
	})
}

// underWay reports whether the turn is a plan of which a step has begun: the
// files are no longer what they were before it.
func underWay(s session.Session) bool {
	return s.RunsPlan && s.Plan != nil && slices.ContainsFunc(s.Plan.Steps, session.Step.Started)
}

// stepName is how the record names what a session's requests are for.
func stepName(s session.Session) string {
	switch {
	case s.PartOf == "":
		return ""
	case s.Step == 0:
		return "plan"
	}
	return fmt.Sprint("step ", s.Step)
}

// ended records how a turn ended and lets the next prompt go.
func (a *openSession) ended(end session.TurnEnded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancel = nil
	clear(a.answers)
	if end.Interrupted && a.head.Status == session.Asking {
		return // left as it is: the question is asked again when the session is opened
	}
	if end.Outcome == session.OutcomeParked && !a.head.RunsPlan { // a plan waits as long as its step
		end = a.climb(end)
	}
	ctx := context.Background()
	if err := a.append(ctx, end); err != nil {
		a.show(session.Noted{Text: "this turn's end could not be saved: " + err.Error()})
		a.head.Apply(session.Record{Session: a.id, Seq: a.head.LastSeq, Turn: a.head.Turn, Time: a.e.o.Now(), Event: end})
		a.show(end)
		a.unsaved = &end
		return
	}
	a.markEnd()
	switch end.Outcome {
	case session.OutcomeDone:
		a.pump(ctx)
	case session.OutcomeParked:
		a.schedule()
	}
}

// pump starts the turn of the first queued prompt. a.mu is held.
func (a *openSession) pump(ctx context.Context) {
	if len(a.head.Queue) == 0 || a.cancel != nil || a.closed {
		return
	}
	if err := a.start(ctx, a.head.Queue[0]); err != nil {
		a.show(session.Noted{Text: "the next message could not be sent: " + err.Error()})
	}
}

// idle waits until no turn runs and none is about to.
func (a *openSession) idle(ctx context.Context) error {
	for {
		a.mu.Lock()
		running, done := a.cancel != nil, a.done
		a.mu.Unlock()
		if !running {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// leave closes the session and waits for what ran.
func (a *openSession) leave(ctx context.Context) error {
	a.close()
	return errors.Join(a.idle(ctx), a.tools.Close(), a.lease.Release())
}

// close ends what runs, in a way that can be gone on from.
func (a *openSession) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.end()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	if a.cancel != nil {
		a.cancel(agent.ErrClosing)
	}
}
