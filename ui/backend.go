package ui

import (
	"context"
	"runtime/debug"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/session"
)

const (
	tailRecords = 200       // read when a session opens, and for each older page
	tailBytes   = 256 << 10 // the same in bytes
	longLog     = 5000      // records; to read as many takes megabytes
)

// backend takes what the screen asks of the engine and the store to them. All
// its work is done in commands of Bubble Tea; until the engine is open there is
// none.
type backend struct {
	ctx    context.Context
	engine Engine
	store  Library
	owners func(ctx context.Context) (map[session.ID]session.Owner, error) // may be nil

	jobs []job // in the order they were asked for
	busy bool  // one of them is under way
}

// job is work that must not overtake earlier work. Its message ends with
// backend.finished.
type job func(ctx context.Context) tea.Msg

// connect opens the engine and the store.
func (b *backend) connect(options Options) tea.Cmd {
	ctx := b.ctx
	return func() tea.Msg {
		msg := connectedMsg{engine: options.Engine, library: options.Library, setup: options.Setup}
		if options.Connect != nil {
			msg.engine, msg.library, msg.setup, msg.err = options.Connect(ctx)
		}
		if options.Unheld != nil && msg.err == nil && msg.setup == nil {
			msg.unheld, msg.open = options.Unheld()
		}
		if options.Branch != nil {
			msg.branch = options.Branch(ctx)
		}
		return msg
	}
}

// do carries a command out at once, ahead of the jobs that wait.
func (b *backend) do(id session.ID, c session.Command) tea.Cmd {
	if b.engine == nil {
		return nil
	}
	engine, ctx := b.engine, b.ctx
	return func() tea.Msg { return didMsg{err: engine.Do(ctx, id, c)} }
}

// inOrder carries a command out after the jobs before it.
func (b *backend) inOrder(id session.ID, c session.Command) tea.Cmd {
	engine := b.engine
	return b.enqueue(func(ctx context.Context) tea.Msg {
		return didMsg{err: engine.Do(ctx, id, c), queued: true}
	})
}

func (b *backend) enqueue(j job) tea.Cmd {
	b.jobs = append(b.jobs, j)
	return b.next()
}

// next begins the first job that waits, unless one is under way.
func (b *backend) next() tea.Cmd {
	if b.busy || len(b.jobs) == 0 {
		return nil
	}
	b.busy = true
	next, ctx := b.jobs[0], b.ctx
	b.jobs = b.jobs[1:]
	return func() tea.Msg { return next(ctx) }
}

// finished ends the job under way and begins the next one.
func (b *backend) finished() tea.Cmd {
	b.busy = false
	return b.next()
}

// start makes a new session.
func (b *backend) start(project string) tea.Cmd {
	engine, ctx := b.engine, b.ctx
	return func() tea.Msg {
		s, err := engine.Start(ctx, project)
		return openedMsg{state: s, err: err}
	}
}

// open makes a session ours and reads the end of its log. To make a long one ours
// takes longer than to show it, so that it comes into view ahead of that.
func (b *backend) open(id session.ID, takeover bool) tea.Cmd {
	engine := b.engine
	store := b.store
	ctx := b.ctx
	ahead := func() tea.Msg {
		s, err := store.Load(ctx, id)
		if err != nil || s.Live() { // what a killed belay left: opening brings that in order
			return nil
		}
		records, err := store.Records(ctx, id, s.LastSeq+1, tailRecords, tailBytes)
		if err != nil {
			return nil
		}
		return openedMsg{id: id, state: s, records: records, ahead: true}
	}
	long := false
	opened := func() tea.Msg {
		s, err := engine.Open(ctx, id, takeover)
		if err != nil {
			return openedMsg{id: id, err: err}
		}
		long = s.LastSeq > longLog
		records, err := store.Records(ctx, s.ID, s.LastSeq+1, tailRecords, tailBytes)
		return openedMsg{id: id, state: s, records: records, err: err}
	}
	// What was needed for a long one is given back: the screen will need little for a
	// while. That is first to read it, then to count it.
	release := func() tea.Msg {
		if long {
			debug.FreeOSMemory()
			time.Sleep(time.Second)
			debug.FreeOSMemory()
		}
		return nil
	}
	return tea.Sequence(ahead, opened, release)
}

// read reads a session without opening it: one whose records did not all
// arrive, or that is only looked at.
func (b *backend) read(id session.ID, unasked bool) tea.Cmd {
	store, ctx := b.store, b.ctx
	return func() tea.Msg {
		s, err := store.Load(ctx, id)
		if err != nil {
			return openedMsg{id: id, err: err, unasked: unasked}
		}
		records, err := store.Records(ctx, id, s.LastSeq+1, tailRecords, tailBytes)
		return openedMsg{id: id, state: s, records: records, err: err, unasked: unasked}
	}
}

// fork opens a new session with the beginning of another.
func (b *backend) fork(id session.ID, at int64) tea.Cmd {
	store := b.store
	engine := b.engine
	ctx := b.ctx
	return func() tea.Msg {
		made, err := store.Fork(ctx, id, at)
		if err != nil {
			return didMsg{err: err}
		}
		opened, err := engine.Open(ctx, made.ID, false)
		if err != nil {
			return openedMsg{id: made.ID, err: err}
		}
		records, err := store.Records(ctx, made.ID, opened.LastSeq+1, tailRecords, tailBytes)
		return openedMsg{id: made.ID, state: opened, records: records, err: err}
	}
}

// page reads the records before the first loaded one.
func (b *backend) page(id session.ID, before int64) tea.Cmd {
	store, ctx := b.store, b.ctx
	return func() tea.Msg {
		records, err := store.Records(ctx, id, before, tailRecords, tailBytes)
		return pageMsg{id, records, err}
	}
}

func (b *backend) list(f session.Filter) tea.Cmd {
	store, ctx, others := b.store, b.ctx, b.owners
	return func() tea.Msg {
		msg := listMsg{}
		if msg.list, msg.err = store.List(ctx, f); msg.err == nil && others != nil {
			msg.owners, msg.err = others(ctx)
		}
		return msg
	}
}

func (b *backend) search(query string) tea.Cmd {
	store, ctx := b.store, b.ctx
	return func() tea.Msg {
		hits, err := store.Search(ctx, query, session.Filter{Limit: 20})
		if err != nil {
			return nil // half a query may be no query: the titles still show
		}
		return hitsMsg{query, hits}
	}
}

// maxOffered is how many unfinished sessions the first screen offers.
const maxOffered = 3

// unfinished looks for sessions that stand still and could go on.
func (b *backend) unfinished() tea.Cmd {
	store, ctx := b.store, b.ctx
	return func() tea.Msg {
		list, err := store.List(ctx, session.Filter{Limit: 200})
		if err != nil {
			return offerMsg{} // the list of sessions says why
		}
		list = slices.DeleteFunc(list, func(s session.Session) bool {
			switch s.Status {
			case session.Parked, session.Interrupted, session.Asking, session.NeedsPerson:
				return false
			}
			return true
		})
		return offerMsg{list[:min(len(list), maxOffered)]}
	}
}

// leave tells all of the sessions the same, and ends the program.
func (b *backend) leave(ids []session.ID, tell session.Command) tea.Cmd {
	engine := b.engine
	return func() tea.Msg {
		ctx, done := context.WithTimeout(context.Background(), 5*time.Second)
		defer done()
		for _, id := range ids {
			// A session that cannot be parked is found interrupted by the
			// next belay: nothing is lost by leaving.
			_ = engine.Do(ctx, id, tell)
		}
		return tea.QuitMsg{}
	}
}

// drafts is the store as far as it keeps what is being written; nil: it does not.
func (b *backend) drafts() Drafts {
	store, _ := b.store.(Drafts)
	return store
}

// unsent reads what was being written in a session.
func (b *backend) unsent(id session.ID, project string) tea.Cmd {
	store, ctx := b.drafts(), b.ctx
	if store == nil {
		return nil
	}
	return func() tea.Msg {
		u, err := store.LoadUnsent(ctx, id, project)
		if err != nil || u.Empty() {
			return nil // without it a person begins anew
		}
		return unsentMsg{id, u}
	}
}

func (b *backend) saveUnsent(id session.ID, project string, u session.Unsent) tea.Cmd {
	store := b.drafts()
	if store == nil {
		return nil
	}
	return b.enqueue(func(ctx context.Context) tea.Msg {
		_ = store.SaveUnsent(ctx, id, project, u) // nothing is lost yet: the words stand in the composer
		return didMsg{queued: true}
	})
}
