package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"belay/session"
	"belay/session/agent"
	"belay/session/permit"
)

// approvals are the rules that the project remembers, and the questions that
// wait for an answer.
type approvals struct {
	mu      sync.Mutex
	grants  []string
	waiting map[string]chan session.Answer // by call id
}

func newApprovals(grants []string) *approvals {
	return &approvals{grants: grants, waiting: map[string]chan session.Answer{}}
}

// expect makes the place where an answer is put, so that one may come as soon
// as the question is shown.
func (p *approvals) expect(approval session.Approval) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[approval.CallID] == nil {
		p.waiting[approval.CallID] = make(chan session.Answer, 1)
	}
}

func (p *approvals) wait(ctx context.Context, callID string) (session.Answer, error) {
	p.mu.Lock()
	answer := p.waiting[callID]
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, callID)
	}()
	select {
	case got := <-answer:
		return got, nil
	case <-ctx.Done():
		return session.Answer{}, context.Cause(ctx)
	}
}

func (p *approvals) answer(answer session.Answer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.waiting[answer.CallID]
	if waiting == nil {
		return errors.New("this call no longer waits for an answer")
	}
	select {
	case waiting <- answer:
	default: // answered already
	}
	return nil
}

// forget drops the questions of a turn that has ended.
func (p *approvals) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.waiting)
}

func (p *approvals) allowed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.grants
}

// remember takes the rules of the project in place of those that were known.
func (p *approvals) remember(rules []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants = rules
}

// modeOf is the mode that holds in a workspace where one was chosen.
func (e *Engine) modeOf(root string, chosen session.Mode) session.Mode {
	if chosen != session.Ask && e.tooWide(root) != "" {
		return session.Ask
	}
	return chosen
}

func (e *Engine) tooWide(root string) string {
	if e.o.TooWide == nil {
		return ""
	}
	return e.o.TooWide(root)
}

// WideError refuses a mode in a workspace that is more than a project.
type WideError struct{ Reason string }

func (e *WideError) Error() string { return e.Reason + ": every change asks there" }

// Hint says how else to go on.
func (e *WideError) Hint() string {
	return "start belay in a project's folder, or write anywhere = true below [permissions] in your settings"
}

// Judge decides about a call by the session's mode and the project's rules. These
// are read each time, because another belay may have been told "always" meanwhile;
// a store that cannot be read leaves what is known.
func (s *openSession) Judge(c permit.Call) permit.Decision {
	state := s.State()
	if grants, err := s.e.o.Store.PermissionGrants(s.life, state.Project); err == nil {
		s.approvals.remember(grants)
	}
	mode := s.e.modeOf(state.Project, state.Mode)
	return permit.Judge(mode, c, slices.Concat(s.e.o.Grants, s.approvals.allowed()))
}

// Grant remembers rules for the project.
func (s *openSession) Grant(ctx context.Context, rules []string) error {
	project := s.State().Project
	for _, rule := range rules {
		if err := s.e.o.Store.GrantPermission(ctx, project, rule); err != nil {
			return fmt.Errorf("remember what is allowed: %w", err)
		}
	}
	return nil
}

// Ask waits for a person's answer.
func (s *openSession) Ask(ctx context.Context, approval session.Approval) (session.Answer, error) {
	if s.e.o.NonInteractive {
		return session.Answer{}, agent.ErrNonInteractive
	}
	return s.approvals.wait(ctx, approval.CallID)
}

// answerLocked passes a person's answer on to the turn that waits for it. A turn
// that ended because nobody was there goes on with it.
func (s *openSession) answerLocked(ctx context.Context, answer session.Answer) error {
	asked := func(p session.Approval) bool { return p.CallID == answer.CallID }
	switch {
	case s.running != nil || !slices.ContainsFunc(s.state.PendingApprovals, asked):
	case s.state.Status == session.Asking:
		s.launchLocked(byPrompt) // after a restart: it asks again, and is answered
	default:
		if err := s.resumeLocked(ctx, byPrompt, "answered by the user"); err != nil {
			return err
		}
	}
	return s.approvals.answer(answer)
}
