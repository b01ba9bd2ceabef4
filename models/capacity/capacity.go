// Package capacity decides who may be asked now: it keeps each target's state
// (circuit, streak, health, holds) and each provider's allowances (automatic
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
	openAfter  = 3                // capacity failures in a row
	firstRest  = 30 * time.Second // doubled each time the circuit opens again
	longRest   = 10 * time.Minute // where doubling ends
	longStated = 24 * time.Hour   // a server's own word is believed up to here
	leaseTime  = 2 * time.Minute  // for the one request that tries a rested target
	absentRest = 60 * time.Second // of a local endpoint where nothing runs
	outFor     = 10 * time.Minute // before a refused key or name may be tried again
	forgetting = time.Hour        // half-life of successes and failures; after it a streak is over
)

const (
	saving  = 2 * time.Second // a slow store may hold a request up so long
	sparing = 5 * time.Second // a store that failed is left alone so long
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

// Options are what a Board works with. The zero value keeps everything in
// memory.
type Options struct {
	Shared Shared // nil: nothing is shared and nothing survives this program
	Tiers  map[models.Tier][]models.Target

	Owner         string                    // names this program among those that share the store; needed with Shared
	Concurrency   func(provider string) int // the user's limit on queued requests at once; nil or 0: none
	FailbackDelay time.Duration             // the first fail-back hold; 0: 5 minutes

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
	clock clock
	view  atomic.Pointer[view]

	load     sync.Mutex // held while the store is read for the first time
	loaded   atomic.Bool
	reported sync.Once
	spare    atomic.Int64 // until when on the monotonic clock the store is left alone

	// refused is what speaks against targets, and against all of a provider's,
	// in this program only. The map is replaced, never changed.
	refused atomic.Pointer[map[id]local]
	slots   atomic.Int64

	mu      sync.Mutex // guards the rest, and replacing view and refused
	unsaved map[id][]change
	changed chan struct{} // closed and renewed whenever the view is
}

// New returns a board that knows nothing. It does nothing until it is used.
func New(o Options) *Breakers {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = func() float64 { return 0.5 }
	}
	if o.FailbackDelay <= 0 {
		o.FailbackDelay = 5 * time.Minute
	}
	b := &Breakers{o: o, unsaved: map[id][]change{}, changed: make(chan struct{})}
	b.clock.now, b.clock.elapsed = o.Now, o.Elapsed
	b.view.Store(&view{})
	b.refused.Store(&map[id]local{})
	return b
}

// id names what is kept: the state of a target, or of a provider when the
// target has no model.
type id struct{ models.Target }

func provider(name string) id { return id{models.Target{Provider: name}} }

func (i id) key() string {
	if i.Model == "" {
		return "provider/" + i.Provider
	}
	return "target/" + i.String()
}

func parse(key string) (id, bool) {
	kind, rest, _ := strings.Cut(key, "/")
	switch kind {
	case "provider":
		return provider(rest), rest != ""
	case "target":
		t, err := models.ParseTarget(rest)
		return id{t}, err == nil
	}
	return id{}, false
}

// kept is what is saved under one key; only one of its two halves is used.
type kept struct {
	Rev      int64     `json:"rev"` // grows with each change, so that an older state never replaces a newer one
	Target   circuit   `json:"target,omitzero"`
	Provider allowance `json:"provider,omitzero"`
}

// decode reads what was saved. It trusts no number: they come from a file.
func decode(data []byte) (kept, bool) {
	var k kept
	if len(data) == 0 || json.Unmarshal(data, &k) != nil {
		return kept{}, false
	}
	c, a := &k.Target, &k.Provider
	k.Rev = max(k.Rev, 0)
	c.Rests, c.Streak, c.HoldStep = max(c.Rests, 0), max(c.Streak, 0), max(c.HoldStep, 0)
	c.Good, c.All = max(c.Good, 0), max(c.All, c.Good, 0)
	a.Spent, a.Limit, a.Clean = min(max(a.Spent, 0), budget), min(max(a.Limit, 0), lastLimit), max(a.Clean, 0)
	return k, true
}

// change changes what is kept and reports whether it did. It may run several
// times, on several states, so it depends on nothing but its argument and
// fixed values, and never writes into a slice that it finds.
type change func(*kept) bool

// view is a state of the whole board. It is replaced, never changed.
type view struct {
	entries map[id]*entry
}

// entry is what is kept of one id, with what memory adds.
type entry struct {
	kept
	rest, hold, out deadline
	first           time.Duration // median time to the first token; 0: unknown
}

// local is a failure that says something about this program's key or settings,
// which another belay need not share.
type local struct {
	fault *models.Fault
	until deadline
}

var none = &entry{}

func (b *Breakers) entry(i id) *entry {
	if e := b.view.Load().entries[i]; e != nil {
		return e
	}
	return none
}

// Refresh takes over what other belays have written. Call it at the start, and
// whenever the store says that somebody wrote.
func (b *Breakers) Refresh(ctx context.Context) {
	now := b.clock.look()
	if b.o.Shared == nil || b.spared(now) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saving)
	defer cancel()
	rows, err := b.o.Shared.SharedStates(ctx)
	if err != nil {
		b.failed(now, err)
		return
	}
	fresh := make(map[id]kept, len(rows))
	for key, data := range rows {
		i, ok := parse(key)
		if k, readable := decode(data); ok && readable && k.Rev != b.entry(i).Rev {
			fresh[i] = k
		}
	}
	b.loaded.Store(true)
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range fresh {
		if len(b.unsaved[i]) > 0 {
			delete(fresh, i) // memory knows more; the next change brings both together
		}
	}
	if len(fresh) > 0 {
		b.publish(now, fresh)
	}
}

// begin reads the store before the first decision that depends on it.
func (b *Breakers) begin(ctx context.Context) {
	if b.o.Shared == nil || b.loaded.Load() {
		return
	}
	b.load.Lock()
	defer b.load.Unlock()
	if !b.loaded.Swap(true) {
		b.Refresh(ctx)
	}
}

// spared reports whether the store failed only just: work that waits for a
// broken disk again and again would stand still.
func (b *Breakers) spared(now instant) bool { return now.mono < time.Duration(b.spare.Load()) }

func (b *Breakers) failed(now instant, err error) {
	b.spare.Store(int64(now.mono + sparing))
	if b.o.Report != nil {
		b.reported.Do(func() { b.o.Report(err) })
	}
}

// update makes a change in the store and in memory, in memory alone when the
// store fails. It returns the state that follows and what change said.
func (b *Breakers) update(ctx context.Context, now instant, i id, c change) (*entry, bool) {
	b.begin(ctx)
	if b.o.Shared == nil {
		return b.remember(now, i, c)
	}
	if b.spared(now) {
		b.postpone(i, nil, c)
		return b.remember(now, i, c)
	}
	b.mu.Lock()
	late := b.unsaved[i]
	delete(b.unsaved, i)
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saving)
	defer cancel()
	var after kept
	var did bool
	err := b.o.Shared.UpdateShared(ctx, i.key(), func(old []byte) ([]byte, error) {
		var ok bool
		if after, ok = decode(old); !ok {
			after = b.entry(i).kept // the store lost it, or never had it
		}
		write := false
		for _, l := range late {
			write = l(&after) || write
		}
		did = c(&after)
		if !did && !write {
			return nil, nil
		}
		after.Rev++
		return json.Marshal(after)
	})
	if err != nil {
		b.failed(now, err)
		b.postpone(i, late, c)
		return b.remember(now, i, c)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if after.Rev != b.entry(i).Rev {
		b.publish(now, map[id]kept{i: after})
	}
	return b.entry(i), did
}

// postpone keeps changes for the time when the store works again; early ones
// go before those that wait already.
func (b *Breakers) postpone(i id, early []change, c change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := append(append(early[:len(early):len(early)], b.unsaved[i]...), c)
	b.unsaved[i] = list[max(0, len(list)-100):] // a store that fails for hours must not fill the memory
}

// remember makes a change in memory alone.
func (b *Breakers) remember(now instant, i id, c change) (*entry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.entry(i).kept
	did := c(&k)
	if did {
		b.publish(now, map[id]kept{i: k})
	}
	return b.entry(i), did
}

// publish replaces the view; the caller holds mu.
func (b *Breakers) publish(now instant, fresh map[id]kept) {
	old := b.view.Load()
	next := &view{entries: maps.Clone(old.entries)}
	if next.entries == nil {
		next.entries = map[id]*entry{}
	}
	for i, k := range fresh {
		was := b.entry(i)
		if k.Rev < was.Rev {
			continue
		}
		e := &entry{kept: k, first: median(k.Target.First)}
		e.rest = was.rest.moved(now, k.Target.Set, k.Target.Until)
		e.hold = was.hold.moved(now, k.Target.HoldSet, k.Target.HoldUntil)
		e.out = was.out.moved(now, k.out().Set, k.out().Until)
		next.entries[i] = e
	}
	b.view.Store(next)
	close(b.changed)
	b.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of any target's
// or provider's state. Time alone changes states too: see Condition's Until.
func (b *Breakers) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}
