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
func (s *openSession) State() session.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Conversation is what a model is to see of the log.
func (s *openSession) Conversation() session.Conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation.Snapshot()
}

// Items is the conversation as the log holds it.
func (s *openSession) Items() []models.Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation.Items()
}

// lost reports whether another program writes the session now.
func (s *openSession) lost() bool {
	select {
	case <-s.lease.Lost():
		return true
	default:
		return false
	}
}

func (s *openSession) closed() bool { return s.life.Err() != nil }

// changed reports whether the running turn has changed something.
func (s *openSession) changed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changedLocked()
}

func (s *openSession) changedLocked() bool { return s.task.wrote || planStarted(s.state) }

// planStarted reports whether the turn is a plan of which a step has begun: the
// files are no longer what they were before it.
func planStarted(s session.Session) bool {
	return s.RunsPlan && s.Plan != nil && slices.ContainsFunc(s.Plan.Steps, session.Step.Started)
}

// Append stores events of the running turn, and publishes them.
func (s *openSession) Append(ctx context.Context, events ...session.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appendLocked(ctx, events...)
}

func (s *openSession) appendLocked(ctx context.Context, events ...session.Event) error {
	if len(events) == 0 {
		return nil
	}
	if s.unsaved != nil {
		if _, err := s.storeLocked(ctx, *s.unsaved); err != nil { // it was shown when it happened
			return err
		}
		s.unsaved = nil
	}
	for _, e := range events {
		if asked, ok := e.(session.ApprovalAsked); ok {
			s.approvals.expect(asked.Approval)
		}
	}
	records, err := s.storeLocked(ctx, events...)
	if err != nil {
		return err
	}
	s.e.events.put(records...)
	return nil
}

func (s *openSession) storeLocked(ctx context.Context, events ...session.Event) ([]session.Record, error) {
	turn := s.state.Turn
	for _, e := range events {
		if _, begins := e.(session.TurnStarted); begins {
			turn++
		}
		s.task.apply(e)
		s.checkpoints.Keep(e)
	}
	records, state, err := s.e.o.Store.Append(ctx, s.id, turn, events...)
	if err != nil {
		if s.lost() && s.running != nil {
			s.running.cancel(err)
		}
		return nil, err
	}
	s.state = state
	for _, r := range records {
		s.conversation.Apply(r)
		s.requests.Apply(r.Event)
	}
	return records, nil
}

// Publish shows an event that is not stored.
func (s *openSession) Publish(e session.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publishLocked(e)
}

func (s *openSession) publishLocked(e session.Event) {
	s.e.events.put(session.Record{Session: s.id, Turn: s.state.Turn, Time: s.e.o.Now(), Event: e})
}

// SaveDraft stores what the model has said so far.
func (s *openSession) SaveDraft(ctx context.Context, d session.Draft) error {
	return s.e.o.Store.SaveDraft(ctx, s.id, d)
}

// leave closes the session and waits for what ran.
func (s *openSession) leave(ctx context.Context) error {
	s.close()
	return errors.Join(s.idle(ctx), s.tools.Close(), s.lease.Release())
}
