package request

import (
	"context"
	"strings"
	"sync"

	"belay/context/systemprompt"
	"belay/models"
	"belay/session"
	"belay/session/tools"
)

// Log is the session that a Builder makes requests for.
type Log interface {
	State() session.Session
	// Conversation is a copy that later events do not change.
	Conversation() session.Conversation
	// Append stores events, all or none, before it publishes them.
	Append(ctx context.Context, events ...session.Event) error
	// Publish shows an event that is not stored.
	Publish(e session.Event)
}

// Builder makes the requests of one open session. It holds no lock while it
// calls its Log.
type Builder struct {
	factory *Factory
	id      session.ID
	project string
	tools   *tools.Set
	log     Log
	system  systemPrompt

	pruning sync.Mutex // one at a time takes old outputs out

	mu sync.Mutex
	// fullAt is the size in tokens at which a summary did not help; 0: it may.
	fullAt int64
	// summaryWanted asks for a summary before the next request, which keeps this.
	summaryWanted *string
	pruneNext     bool   // a person wants the next request to go out pruned
	pruneNote     string // what was told of that
	estimated     bool   // the last request was counted before the vocabulary was loaded
	short         shortening
}

// Builder returns the Builder of an open session.
func (f *Factory) Builder(ctx context.Context, s session.Session, set *tools.Set, log Log) (*Builder, error) {
	builder := &Builder{factory: f, id: s.ID, project: s.Project, tools: set, log: log}
	builder.system.build = sync.OnceValue(func() systemprompt.Prompt {
		return f.o.SystemPrompt(context.WithoutCancel(ctx), s.Project)
	})
	stored, err := storedPrompt(ctx, f.o.Store, s.ID)
	if err != nil {
		return nil, err
	}
	if stored != nil {
		builder.system.set(*stored)
	}
	return builder, nil
}

// Apply follows the log: it takes the next event that was stored.
func (b *Builder) Apply(e session.Event) {
	switch e := e.(type) {
	case session.SystemPrompt:
		b.system.set(e)
	case session.Rewound:
		b.system.rewound()
		b.setFullAt(0)
	case session.Restored:
		b.setFullAt(0)
	case session.ReplyEnded:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.pruneNext = false
		b.pruneNote = ""
		b.short.answered(e.Target)
	case session.TurnEnded:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.short.step = whole
	}
}

// StoreSystemPrompt stores the system prompt before the first request goes out.
func (b *Builder) StoreSystemPrompt(ctx context.Context) error {
	if e := b.system.unstored(); e != nil {
		return b.log.Append(context.WithoutCancel(ctx), *e)
	}
	return nil
}

// Refresh looks around before a new prompt: a week may have passed since the
// last one, or the branch may have changed. It gives a system prompt that is to
// be stored, if there is a new one, and a note that goes with the prompt.
func (b *Builder) Refresh(ctx context.Context) (changed *session.SystemPrompt, note string) {
	if b.system.isStored() {
		return b.system.refresh(b.factory.o.SystemPrompt(context.WithoutCancel(ctx), b.project))
	}
	return nil, "" // it is built before the first request
}

// PruneNext lets the next request, or the one that waits, go out pruned.
func (b *Builder) PruneNext() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pruneNext = true
}

// Build makes the request for one target, and says how many items it left out.
// Under pressure it goes out pruned, if the settings allow that; a person's word
// always does.
func (b *Builder) Build(ctx context.Context, model models.Model, underPressure bool) (models.Request, int, error) {
	if err := b.compactRefused(ctx); err != nil {
		return models.Request{}, 0, err
	}
	factory := b.factory
	state, conversation := b.log.State(), b.log.Conversation()
	b.mu.Lock()
	userAsked := b.pruneNext
	b.estimated = !factory.counter(model.Target).Loaded()
	b.mu.Unlock()
	wanted := b.content(state, &conversation)
	wanted.underPressure = userAsked || underPressure && factory.o.PrunePolicy != PruneOff
	askedPruned := wanted.underPressure
	b.mu.Lock()
	b.short.apply(model.Target, &wanted)
	b.mu.Unlock()
	req, account, err := factory.fit(model, wanted)
	if err != nil {
		return req, 0, err
	}
	refused := b.built(model.Target, account.Total())
	pruned := account.OmittedItems
	note := ""
	if askedPruned {
		if account.OmittedTokens > 0 {
			note = "without " + sizes(account)
		}
		if factory.o.PrunePolicy == PruneAndLower {
			if lowered := lower(model, &req); lowered != "" {
				note = strings.TrimPrefix(note+", with "+lowered, ", ")
			}
		}
		b.notePruned(note, userAsked)
	} else {
		pruned += account.PrunedOutputs + account.TruncatedAttachments
		b.noteShortened(model, account, state.Target, refused)
	}
	b.log.Publish(session.ContextMeasured{Usage: factory.usage(model, wanted, req, account, &conversation)})
	return req, pruned, nil
}

func (b *Builder) content(s session.Session, c *session.Conversation) content {
	return content{
		id: b.id, system: b.system.current(), specs: b.tools.Specs(), conversation: fitted(c), effort: s.Effort,
		answerSchema: s.Answer.JSONSchema(),
	}
}

// Measured learns from what a provider reports, unless our own count was only an
// estimate by length.
func (b *Builder) Measured(t models.Target, ours, reported int64) {
	b.mu.Lock()
	estimated := b.estimated
	b.mu.Unlock()
	if !estimated {
		b.factory.o.Calibration.Calibrate(t, ours, reported)
	}
}

// notePruned says, once, in what way a request goes out pruned.
func (b *Builder) notePruned(note string, userAsked bool) {
	switch {
	case note == "" && !userAsked:
		return
	case note == "":
		note = "there is nothing to leave out of this request"
	case userAsked:
		note = "this one request goes out slim, " + note + ". The conversation stays as it is"
	default:
		note = "no room twice: this one request goes out slim, " + note + ". The conversation stays as it is"
	}
	b.mu.Lock()
	told := b.pruneNote == note
	b.pruneNote = note
	b.mu.Unlock()
	if !told {
		b.log.Publish(session.Noted{Text: note})
	}
}

// Mentioned are the lines that a prompt mentions, as they are now.
func (b *Builder) Mentioned(ctx context.Context, p session.Prompt) string {
	return mentioned(ctx, b.tools, p.Text)
}

// ContextUsage says what the next request would be made of. It asks nobody: all
// sizes are belay's own counts, scaled to how the target has counted so far.
func (b *Builder) ContextUsage(ctx context.Context) (session.ContextUsage, error) {
	if err := ctx.Err(); err != nil {
		return session.ContextUsage{}, context.Cause(ctx)
	}
	state, conversation := b.log.State(), b.log.Conversation()
	return b.factory.measure(ctx, b.content(state, &conversation), state, &conversation), nil
}
