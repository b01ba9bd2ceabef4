package engine

import (
	"context"

	"belay/context/systemprompt"
	"belay/session"
)

// briefed is the briefing that a session's log holds; nil: none.
func (e *Engine) briefed(ctx context.Context, id session.ID) (*session.SystemPrompt, error) {
	records, err := e.o.Store.EventsOfType(ctx, id, "briefed")
	if err != nil || len(records) == 0 {
		return nil, err
	}
	if b, ok := records[len(records)-1].Event.(session.SystemPrompt); ok {
		return &b, nil
	}
	return nil, nil // it cannot be read: it is gathered anew
}

func briefingOf(b *session.SystemPrompt) systemprompt.Prompt {
	if b == nil {
		return systemprompt.Prompt{}
	}
	out := systemprompt.Prompt{Instructions: b.Instructions, Environment: b.Environment, ProjectRules: b.ProjectRules}
	for _, f := range b.Files {
		out.Sources = append(out.Sources, systemprompt.Source(f))
	}
	return out
}

// brief is the briefing of the requests: the one that is stored, so that what is
// made again is the same, or else what there is to say now.
func (a *openSession) brief() systemprompt.Prompt {
	a.mu.Lock()
	stored := a.briefed
	a.mu.Unlock()
	if stored != nil {
		return briefingOf(stored)
	}
	return a.gather()
}

// settleBriefing stores the briefing before the first request goes out.
func (a *openSession) settleBriefing(ctx context.Context) error {
	a.mu.Lock()
	settled := a.briefed != nil
	a.mu.Unlock()
	if settled {
		return nil
	}
	b := a.gather() // reads files: not under the lock
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.setBriefing(ctx, b)
}

// setBriefing stores a briefing. a.mu is held.
func (a *openSession) setBriefing(ctx context.Context, b systemprompt.Prompt) error {
	e := session.SystemPrompt{Instructions: b.Instructions, Environment: b.Environment, ProjectRules: b.ProjectRules}
	for _, f := range b.Sources {
		e.Files = append(e.Files, session.InstructionFile(f))
	}
	if err := a.append(context.WithoutCancel(ctx), e); err != nil {
		return err
	}
	a.briefed, a.where = &e, e.Environment
	return nil
}

// refresh looks around before a new prompt, as a week may have passed, or the
// branch have changed. Other rules take the place of the old; where the model is
// now goes with the prompt, for the prompt cache of a long session is worth more
// than a date. a.mu is held.
func (a *openSession) refresh(ctx context.Context) (note string, err error) {
	if a.briefed == nil {
		return "", nil // it is gathered before the first request
	}
	now := a.e.o.SystemPrompt(context.WithoutCancel(ctx), a.head.Project)
	switch {
	case now.ProjectRules != a.briefed.ProjectRules:
		return "", a.setBriefing(ctx, now)
	case now.Environment != a.where:
		a.where = now.Environment
		return now.Environment, nil
	}
	return "", nil
}
