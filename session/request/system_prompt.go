package request

import (
	"context"
	"sync"

	"belay/context/systemprompt"
	"belay/session"
	"belay/session/store"
)

// storedPrompt is the system prompt that a session's log holds; nil: none.
func storedPrompt(ctx context.Context, st *store.Store, id session.ID) (*session.SystemPrompt, error) {
	records, err := st.EventsOfType(ctx, id, "briefed")
	if err != nil || len(records) == 0 {
		return nil, err
	}
	if p, ok := records[len(records)-1].Event.(session.SystemPrompt); ok {
		return &p, nil
	}
	return nil, nil // it cannot be read: it is built anew
}

func promptOf(stored *session.SystemPrompt) systemprompt.Prompt {
	if stored == nil {
		return systemprompt.Prompt{}
	}
	p := systemprompt.Prompt{
		Instructions: stored.Instructions, Environment: stored.Environment, ProjectRules: stored.ProjectRules,
	}
	for _, f := range stored.Files {
		p.Sources = append(p.Sources, systemprompt.Source(f))
	}
	return p
}

func eventOf(p systemprompt.Prompt) session.SystemPrompt {
	e := session.SystemPrompt{Instructions: p.Instructions, Environment: p.Environment, ProjectRules: p.ProjectRules}
	for _, f := range p.Sources {
		e.Files = append(e.Files, session.InstructionFile(f))
	}
	return e
}

// systemPrompt is the system prompt of one session: the one that its log holds,
// so that a request which is made again is the same, or else a new one.
type systemPrompt struct {
	build func() systemprompt.Prompt // once: what it would be if it were stored now

	mu          sync.Mutex
	stored      *session.SystemPrompt // nil: the log holds none yet
	environment string                // as the model was told last
}

func (p *systemPrompt) current() systemprompt.Prompt {
	p.mu.Lock()
	stored := p.stored
	p.mu.Unlock()
	if stored != nil {
		return promptOf(stored)
	}
	return p.build()
}

// set follows the log.
func (p *systemPrompt) set(stored session.SystemPrompt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stored = &stored
	p.environment = stored.Environment
}

// rewound forgets what the model was told since: it may have been taken back.
func (p *systemPrompt) rewound() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stored != nil {
		p.environment = p.stored.Environment
	}
}

func (p *systemPrompt) isStored() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stored != nil
}

// unstored is the prompt that the log has to hold before the first request goes
// out; nil: it holds one.
func (p *systemPrompt) unstored() *session.SystemPrompt {
	if p.isStored() {
		return nil
	}
	e := eventOf(p.build()) // reads files: not under the lock
	return &e
}

// refresh compares what is stored with how things are now. Other rules take the
// place of the old ones. Where the model is now goes with the prompt instead,
// because the prompt cache of a long session is worth more than a date.
func (p *systemPrompt) refresh(now systemprompt.Prompt) (changed *session.SystemPrompt, note string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case now.ProjectRules != p.stored.ProjectRules:
		e := eventOf(now)
		return &e, ""
	case now.Environment != p.environment:
		p.environment = now.Environment
		return nil, now.Environment
	}
	return nil, ""
}
