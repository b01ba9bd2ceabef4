// Package capacity decides who may be asked now: it keeps each target's state
// (circuit, streak, health, fail-back) and each provider's allowances (automatic
// retries, pace, requests at once), the same for all running belays of a user.
//
// The state lives in memory, where reading it costs next to nothing, and in a
// store that all belays share. What must outlast this program is saved as wall
// time; what is waited for here runs on the monotonic clock as well, so that a
// clock that is set back makes nobody wait.
package capacity

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"belay/models"
)

// The numbers of the circuit.
const (
	openAfter      = 3                // capacity failures in a row
	minCooldown    = 30 * time.Second // doubled each time the circuit opens again
	maxCooldown    = 10 * time.Minute // where doubling ends
	maxStated      = 24 * time.Hour   // a server's own word is believed up to here
	leaseTime      = 2 * time.Minute  // for the one request that tries a rested target
	absentCooldown = 60 * time.Second // of a local endpoint where nothing runs
	refusalTime    = 10 * time.Minute // before a refused key or name may be tried again
	halfLife       = time.Hour        // half-life of successes and failures; after it a streak is over
)

const (
	storeTimeout     = 90 * time.Second // longer than the store waits for other writers, of which it tells more
	storeBackoffTime = 5 * time.Second  // a store that failed is left alone so long
)

// Shared is where all running belays of a user keep what they know.
type Shared interface {
	// UpdateShared changes the value of a key while nobody else can. Change gets the
	// old value, nil when there is none, and may be called more than once; when
	// it returns nil the value stays as it is.
	UpdateShared(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error
	// SharedStates returns every key with its value.
	SharedStates(ctx context.Context) (map[string][]byte, error)
}

// Options are what Breakers work with. The zero value keeps everything in
// memory.
type Options struct {
	Shared Shared // nil: nothing is shared and nothing survives this program
	Tiers  map[models.Tier][]models.Target

	Owner         string                    // names this program to those that share the store, without a slash
	Alive         func(owner string) bool   // reports whether such a program still runs; nil: all do
	Concurrency   func(provider string) int // the user's limit on queued requests at once; nil or 0: none
	FailbackDelay time.Duration             // the first fail-back delay; 0: 5 minutes
	// Fresh is how old what others know may be when a request asks whether it may go:
	// then the store is read. 0: it is not read for that, as somebody calls Refresh.
	Fresh time.Duration

	Now    func() time.Time // nil: time.Now
	Random func() float64   // uniform in [0, 1); nil: always a half
	// Elapsed is time that stands still while the computer is suspended. Nil
	// takes the monotonic reading of Now.
	Elapsed func() time.Duration

	// Report hears of the first time that the store fails. The work goes on in
	// memory. Nil: nobody is told.
	Report func(error)
}

// Breakers is what is known of all targets. Its methods may be called by several
// goroutines; Condition, Status, Order, Hold and Budget touch memory alone.
type Breakers struct {
	o     Options
	tiers atomic.Pointer[map[models.Tier][]models.Target]
	clock clock
	view  atomic.Pointer[view]

	loadMu       sync.Mutex // held while the store is read for the first time
	loaded       atomic.Bool
	reported     sync.Once
	storeBackoff atomic.Int64 // until when on the monotonic clock the store is left alone
	staleAt      atomic.Int64 // on the monotonic clock, with Fresh

	// refusals is what speaks against targets, and against all of a provider's,
	// in this program only. The map is replaced, never changed.
	refusals atomic.Pointer[map[id]refusal]
	lastSlot atomic.Int64

	mu             sync.Mutex // guards the rest, and replacing view and refused
	pendingChanges map[id][]change
	notifyChanged  chan struct{} // closed and renewed whenever the view is
}

// New returns breakers that know nothing. They do nothing until they are used.
func New(options Options) *Breakers {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Random == nil {
		options.Random = func() float64 { return 0.5 }
	}
	if options.FailbackDelay <= 0 {
		options.FailbackDelay = 5 * time.Minute
	}
	b := &Breakers{o: options, pendingChanges: map[id][]change{}, notifyChanged: make(chan struct{})}
	b.clock.now, b.clock.elapsed = options.Now, options.Elapsed
	b.SetTiers(options.Tiers)
	b.view.Store(&view{})
	b.refusals.Store(&map[id]refusal{})
	return b
}

// SetTiers replaces the targets of the tiers, among which each one's speed is judged.
func (b *Breakers) SetTiers(tiers map[models.Tier][]models.Target) { b.tiers.Store(&tiers) }

// id names what is kept: the state of a target, or of a provider when the
// target has no model.
type id struct{ models.Target }

func providerID(name string) id { return id{models.Target{Provider: name}} }

func (i id) key() string {
	if i.Model == "" {
		return "provider/" + i.Provider
	}
	return "target/" + i.String()
}

func parseKey(key string) (id, bool) {
	kind, rest, _ := strings.Cut(key, "/")
	switch kind {
	case "provider":
		return providerID(rest), rest != ""
	case "target":
		t, err := models.ParseTarget(rest)
		return id{t}, err == nil
	}
	return id{}, false
}

// saved is what is saved under one key; only one of its two halves is used.
type saved struct {
	Rev      int64         `json:"rev"` // grows with each change, so that an older state never replaces a newer one
	Target   circuit       `json:"target,omitzero"`
	Provider providerState `json:"provider,omitzero"`
}

// decode reads what was saved. It trusts no number: they come from a file.
func decode(data []byte) (saved, bool) {
	var state saved
	if len(data) == 0 || json.Unmarshal(data, &state) != nil {
		return saved{}, false
	}
	c, a := &state.Target, &state.Provider
	state.Rev = max(state.Rev, 0)
	c.Trips, c.Streak, c.FailbackStep = max(c.Trips, 0), max(c.Streak, 0), max(c.FailbackStep, 0)
	c.Window = max(c.Window, 0)
	c.Successes, c.Attempts = max(c.Successes, 0), max(c.Attempts, c.Successes, 0)
	a.Spent, a.Limit, a.Clean = min(max(a.Spent, 0), retryBudget), min(max(a.Limit, 0), maxLimit), max(a.Clean, 0)
	return state, true
}

// change changes what is kept and reports whether it did. It may run several
// times, on several states, so it depends on nothing but its argument and
// fixed values, and never writes into a slice that it finds.
type change func(*saved) bool

// view is everything that is known at one moment. It is replaced, never changed.
type view struct {
	entries map[id]*entry
}

// entry is what is kept of one id, with what memory adds.
type entry struct {
	saved
	cooldown, failback, outOfUse deadline
	firstToken                   time.Duration // median time to the first token; 0: unknown
}

// refusal is a failure that says something about this program's key or settings,
// which another belay need not share.
type refusal struct {
	fault *models.Fault
	until deadline
}

var noEntry = &entry{}

func (b *Breakers) entry(i id) *entry {
	if e := b.view.Load().entries[i]; e != nil {
		return e
	}
	return noEntry
}

// Refresh takes over what other belays have written. Call it at the start, and
// whenever the store says that somebody wrote.
func (b *Breakers) Refresh(ctx context.Context) {
	now := b.clock.observe()
	if b.o.Shared == nil || b.storeBackingOff(now) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	rows, err := b.o.Shared.SharedStates(ctx)
	if err != nil {
		b.storeFailed(now, err)
		return
	}
	fresh := make(map[id]saved, len(rows))
	for key, data := range rows {
		i, ok := parseKey(key)
		if k, readable := decode(data); ok && readable && k.Rev != b.entry(i).Rev {
			fresh[i] = k
		}
	}
	b.loaded.Store(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range fresh {
		if len(b.pendingChanges[i]) > 0 {
			delete(fresh, i) // memory knows more; the next change brings both together
		}
	}
	if len(fresh) > 0 {
		b.publishLocked(now, fresh)
	}
}

// ensureLoaded reads the store before the first decision that depends on it.
func (b *Breakers) ensureLoaded(ctx context.Context) {
	if b.o.Shared == nil || b.loaded.Load() {
		return
	}
	b.loadMu.Lock()
	defer b.loadMu.Unlock()
	if !b.loaded.Swap(true) {
		b.Refresh(ctx)
	}
}

// refreshStale reads the store where nobody tells when others write.
func (b *Breakers) refreshStale(ctx context.Context) {
	if b.o.Fresh <= 0 {
		return
	}
	now := b.clock.observe().mono
	stale := b.staleAt.Load()
	if now >= time.Duration(stale) && b.staleAt.CompareAndSwap(stale, int64(now+b.o.Fresh)) {
		b.Refresh(ctx)
	}
}

// storeBackingOff reports whether the store failed only just: work that waits for a
// broken disk again and again would stand still.
func (b *Breakers) storeBackingOff(now instant) bool {
	return now.mono < time.Duration(b.storeBackoff.Load())
}

func (b *Breakers) storeFailed(now instant, err error) {
	b.storeBackoff.Store(int64(now.mono + storeBackoffTime))
	if b.o.Report != nil {
		b.reported.Do(func() { b.o.Report(err) })
	}
}

// update makes a change in the store and in memory, in memory alone when the
// store fails. It returns the state that follows and what change said.
func (b *Breakers) update(ctx context.Context, now instant, entryID id, apply change) (*entry, bool) {
	b.ensureLoaded(ctx)
	if b.o.Shared == nil {
		return b.updateMemory(now, entryID, apply)
	}
	if b.storeBackingOff(now) {
		b.postpone(entryID, nil, apply)
		return b.updateMemory(now, entryID, apply)
	}
	b.mu.Lock()
	late := b.pendingChanges[entryID]
	delete(b.pendingChanges, entryID)
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	var after saved
	var did bool
	err := b.o.Shared.UpdateShared(ctx, entryID.key(), func(old []byte) ([]byte, error) {
		var ok bool
		if after, ok = decode(old); !ok {
			after = b.entry(entryID).saved // the store lost it, or never had it
		}
		write := false
		for _, l := range late {
			write = l(&after) || write
		}
		did = apply(&after)
		if !did && !write {
			return nil, nil
		}
		after.Rev++
		return json.Marshal(after)
	})
	if err != nil {
		b.storeFailed(now, err)
		b.postpone(entryID, late, apply)
		return b.updateMemory(now, entryID, apply)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if after.Rev != b.entry(entryID).Rev {
		b.publishLocked(now, map[id]saved{entryID: after})
	}
	return b.entry(entryID), did
}

// postpone keeps changes for the time when the store works again; early ones
// go before those that wait already.
func (b *Breakers) postpone(i id, early []change, c change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := append(append(early[:len(early):len(early)], b.pendingChanges[i]...), c)
	b.pendingChanges[i] = list[max(0, len(list)-100):] // a store that fails for hours must not fill the memory
}

// updateMemory makes a change in memory alone.
func (b *Breakers) updateMemory(now instant, entryID id, c change) (*entry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.entry(entryID).saved
	did := c(&k)
	if did {
		b.publishLocked(now, map[id]saved{entryID: k})
	}
	return b.entry(entryID), did
}

// publishLocked replaces the view.
func (b *Breakers) publishLocked(now instant, fresh map[id]saved) {
	old := b.view.Load()
	next := &view{entries: maps.Clone(old.entries)}
	if next.entries == nil {
		next.entries = map[id]*entry{}
	}
	for entryID, state := range fresh {
		was := b.entry(entryID)
		if state.Rev < was.Rev {
			continue
		}
		e := &entry{saved: state, firstToken: median(state.Target.FirstTokens)}
		e.cooldown = was.cooldown.movedTo(now, state.Target.CooldownSet, state.Target.CooldownUntil)
		e.failback = was.failback.movedTo(now, state.Target.FailbackSet, state.Target.FailbackUntil)
		e.outOfUse = was.outOfUse.movedTo(now, state.unusable().Set, state.unusable().Until)
		next.entries[entryID] = e
	}
	b.view.Store(next)
	close(b.notifyChanged)
	b.notifyChanged = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of any target's
// or provider's state. Time alone changes states too: see Condition's Until.
func (b *Breakers) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notifyChanged
}
