package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"belay/models"
	"belay/models/route"
	"belay/session"
	"belay/session/request"
	"belay/session/rewind"
	"belay/session/store"
	"belay/session/tools"
)

// Snapshots keep the working tree of a session's workspace.
type Snapshots = rewind.Snapshots

// openSession is a session that this engine may write to.
type openSession struct {
	e           *Engine
	id          session.ID
	root        string // the workspace, links resolved
	lease       *store.Lease
	tools       *tools.Set
	control     *route.Control
	requests    *request.Builder
	approvals   *approvals
	snapshots   Snapshots // nil: files are not kept
	checkpoints *rewind.Checkpointer
	life        context.Context // until the session is closed here; then nothing is begun any more
	end         context.CancelFunc

	mu           sync.Mutex // also orders the log: appending holds it
	state        session.Session
	conversation session.Conversation
	unsaved      *session.TurnEnded // an end that could not be stored; it goes before what is stored next
	running      *running           // the turn, or what keeps turns away; nil: neither
	task         task
	timer        parkTimer
}

// State is the state of the session.
func (a *openSession) State() session.Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

// Conversation is what a model is to see of the log.
func (a *openSession) Conversation() session.Conversation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conversation.Snapshot()
}

// Items is the conversation as the log holds it.
func (a *openSession) Items() []models.Item {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conversation.Items()
}

// lost reports whether another program writes the session now.
func (a *openSession) lost() bool {
	select {
	case <-a.lease.Lost():
		return true
	default:
		return false
	}
}

func (a *openSession) closed() bool { return a.life.Err() != nil }

// changed reports whether the running turn has changed something.
func (a *openSession) changed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changedLocked()
}

func (a *openSession) changedLocked() bool { return a.task.wrote || planStarted(a.state) }

// planStarted reports whether the turn is a plan of which a step has begun: the
// files are no longer what they were before it.
func planStarted(s session.Session) bool {
	return s.RunsPlan && s.Plan != nil && slices.ContainsFunc(s.Plan.Steps, session.Step.Started)
}

// Append stores events of the running turn, and publishes them.
func (a *openSession) Append(ctx context.Context, events ...session.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.appendLocked(ctx, events...)
}

func (a *openSession) appendLocked(ctx context.Context, events ...session.Event) error {
	if a.unsaved != nil {
		if _, err := a.storeLocked(ctx, *a.unsaved); err != nil { // it was shown when it happened
			return err
		}
		a.unsaved = nil
	}
	for _, e := range events {
		if asked, ok := e.(session.ApprovalAsked); ok {
			a.approvals.expect(asked.Approval)
		}
	}
	records, err := a.storeLocked(ctx, events...)
	if err != nil {
		return err
	}
	a.e.events.put(records...)
	return nil
}

func (a *openSession) storeLocked(ctx context.Context, events ...session.Event) ([]session.Record, error) {
	turn := a.state.Turn
	for _, e := range events {
		if _, begins := e.(session.TurnStarted); begins {
			turn++
		}
		a.task.apply(e)
		a.checkpoints.Keep(e)
	}
	records, state, err := a.e.o.Store.Append(ctx, a.id, turn, events...)
	if err != nil {
		if a.lost() && a.running != nil {
			a.running.cancel(err)
		}
		return nil, err
	}
	a.state = state
	for _, r := range records {
		a.conversation.Apply(r)
		a.requests.Apply(r.Event)
	}
	return records, nil
}

// Publish shows an event that is not stored.
func (a *openSession) Publish(e session.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.publishLocked(e)
}

func (a *openSession) publishLocked(e session.Event) {
	a.e.events.put(session.Record{Session: a.id, Turn: a.state.Turn, Time: a.e.o.Now(), Event: e})
}

// SaveDraft stores what the model has said so far.
func (a *openSession) SaveDraft(ctx context.Context, d session.Draft) error {
	return a.e.o.Store.SaveDraft(ctx, a.id, d)
}

// leave closes the session and waits for what ran.
func (a *openSession) leave(ctx context.Context) error {
	a.close()
	return errors.Join(a.idle(ctx), a.tools.Close(), a.lease.Release())
}
