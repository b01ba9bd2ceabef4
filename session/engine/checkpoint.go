package engine

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"belay/session"
	"belay/session/snapshot"
	"belay/session/store"
)

// Snapshots keep the working tree of a session's workspace.
type Snapshots interface {
	Take(ctx context.Context) (snapshot.Tree, error)
	Diff(ctx context.Context, from, to string) ([]snapshot.Change, error)
	Patch(ctx context.Context, from, to, path string) (string, error)
	Restore(ctx context.Context, id, expect string) (snapshot.RestoreResult, error)
}

// patience is how long the first change of a turn waits for the snapshot of what
// was there before. The first snapshot of a large folder takes longer.
const patience = 2 * time.Second

// mostTaking ends a snapshot that does not end: a strange file can hold git up.
const mostTaking = 10 * time.Minute

// mostEarly bounds a file that is kept by itself because the snapshot is late.
const mostEarly = snapshot.MaxFile

// marking is a checkpoint that is being made in the background.
type marking struct {
	turn, step int
	after      bool // the turn, which has ended
	words      string
	done       chan struct{}
	early      []session.PreImage
}

// markings are the checkpoints of a session that are being made. The sessions of
// its steps share them: what they write belongs into them.
type markings struct {
	mu   sync.Mutex
	list []*marking
}

func (m *markings) add(x *marking) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, x)
}

// take ends one, and gives the files that were kept for it.
func (m *markings) take(x *marking) []session.PreImage {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(m.list, func(y *marking) bool { return x == y })
	return x.early
}

// mark keeps the working tree as it is before a turn or a step. What it returns
// waits until that is done, as long as its patience lasts. a.mu is held.
func (a *openSession) mark(step int, words string) (ready func(context.Context)) {
	if a.shots == nil {
		return nil
	}
	m := &marking{turn: a.head.Turn, step: step, words: words, done: make(chan struct{})}
	a.taking(mostTaking, m)
	return a.waiting(m)
}

// markEnd keeps the working tree as a turn leaves it: what a person changes by
// hand afterwards is not the turn's. Closing waits for it, as long as its
// patience lasts. a.mu is held.
func (a *openSession) markEnd() {
	if a.shots != nil && (a.wrote || underWay(a.head)) {
		a.taking(patience, &marking{turn: a.head.Turn, after: true, done: make(chan struct{})})
	}
}

// taking takes the snapshot of a checkpoint in the background.
func (a *openSession) taking(limit time.Duration, m *marking) {
	a.marks.add(m)
	a.e.work.Go(func() {
		defer close(m.done)
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		defer context.AfterFunc(a.life, func() { // closing waits for what somebody can miss
			a.mu.Lock()
			rest := time.Duration(0)
			if m.after || a.wrote || underWay(a.head) {
				rest = patience
			}
			a.mu.Unlock()
			time.AfterFunc(rest, cancel)
		})()
		tree, err := a.shots.Take(ctx)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.marked(m, tree, err)
	})
}

func (a *openSession) waiting(m *marking) func(context.Context) {
	return func(ctx context.Context) {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-m.done:
		case <-ctx.Done():
		case <-timer.C:
			a.mu.Lock()
			if !a.lateTold {
				a.lateTold = true
				a.show(session.Noted{Text: "the files of this folder are being kept for the first time, which takes a while; until then a rewind covers the files that belay edits"})
			}
			a.mu.Unlock()
		}
	}
}

// marked records a checkpoint. a.mu is held.
func (a *openSession) marked(m *marking, tree snapshot.Tree, err error) {
	early := a.marks.take(m)
	if a.lost() || err != nil && (m.after || a.life.Err() != nil && len(early) == 0) {
		return
	}
	e := session.Checkpointed{Tree: tree.ID, Turn: m.turn, Step: m.step, After: m.after, Title: m.words, Files: tree.Files, Duration: tree.Took, PreImages: early}
	for _, s := range tree.Skipped {
		e.Skipped = append(e.Skipped, s.Path+" ("+string(s.Reason)+")")
	}
	if err != nil {
		e.Problem = err.Error() + hint(err)
	}
	if err := a.append(context.WithoutCancel(a.life), e); err != nil {
		a.show(session.Noted{Text: "a checkpoint could not be saved: " + err.Error()})
	}
}

// hint is what a person can do about an error, in brackets.
func hint(err error) string {
	if h := session.ErrorHint(err); h != "" {
		return " (" + h + ")"
	}
	return ""
}

// keep keeps what a file holds before belay changes it, for the snapshots that
// should hold it and are still being made.
func (m *markings) keep(root string, e session.Event) {
	started, ok := e.(session.ToolStarted)
	if !ok || started.Effect.Class != session.Write {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	rel, err := filepath.Rel(root, started.Effect.Path)
	if len(m.list) == 0 || err != nil || !filepath.IsLocal(rel) {
		return
	}
	f := session.PreImage{Path: rel}
	info, err := os.Lstat(started.Effect.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Missing = true
	case err != nil || !info.Mode().IsRegular() || info.Size() > mostEarly:
		return
	default:
		if f.Content, err = os.ReadFile(started.Effect.Path); err != nil {
			return
		}
		f.Mode = info.Mode().Perm()
	}
	for _, x := range m.list {
		if !slices.ContainsFunc(x.early, func(old session.PreImage) bool { return old.Path == rel }) {
			x.early = append(x.early, f)
		}
	}
}

// The events that tell where one can return to, and what was done since.
var pointed = []string{"turn.started", "turn.ended", "checkpoint", "step.moved", "tool.started"}

// point is a checkpoint with what only the engine needs of it.
type point struct {
	session.Checkpoint
	to      int64 // the record after which everything is taken back
	filled  bool  // its tree is recorded, or that there is none
	early   []session.PreImage
	skipped []string
}

// points lists the places in a log that can be returned to, oldest first: before
// each turn and each step, and after a turn where the files have changed since.
// The tree of a place may be recorded a little later, because it was kept in the
// background.
func points(head session.Session, records []session.Record) []point {
	p := pointing{head: head, begun: map[session.ID]bool{}, ends: map[int]session.Record{}}
	for _, r := range records {
		p.take(r)
	}
	slices.SortStableFunc(p.list, func(x, y point) int { return cmp.Compare(x.to, y.to) })
	var list []point
	for i, x := range p.list {
		// After a turn is told only where the next place has other files.
		if !x.After || i+1 == len(p.list) || p.list[i+1].Tree != x.Tree {
			list = append(list, x)
		}
	}
	return list
}

type pointing struct {
	head  session.Session
	list  []point
	early *session.Checkpointed  // of a step that is about to begin
	begun map[session.ID]bool    // sessions of steps
	ends  map[int]session.Record // of turns
}

func (p *pointing) take(r session.Record) {
	switch e := r.Event.(type) {
	case session.TurnStarted:
		p.add(r, 0, firstLine(e.Prompt.Text))
	case session.TurnEnded:
		p.ends[r.Turn] = r
	case session.Checkpointed:
		end, ended := p.ends[e.Turn]
		switch {
		case e.After && ended:
			x := p.at(end)
			x.Seq, x.to, x.After, x.Tree, x.early, x.skipped = r.Seq-1, end.Seq, true, e.Tree, e.PreImages, e.Skipped
			for _, y := range p.list {
				if y.Turn == e.Turn && y.Step == 0 && !y.After {
					x.Title = y.Title
				}
			}
			p.list = append(p.list, x)
		case e.After:
		case !p.fill(&e) && e.Step > 0:
			p.early = &e
		}
	case session.StepMoved:
		if e.Step.State != session.StepRunning || p.begun[e.Step.Session] {
			return
		}
		p.begun[e.Step.Session] = true
		p.add(r, e.Number, e.Step.Title)
		if p.early != nil && p.early.Step == e.Number {
			p.fill(p.early)
		}
		p.early = nil
	}
}

// at is the place of a record.
func (p *pointing) at(r session.Record) point {
	gone := slices.ContainsFunc(p.head.RewoundSpans, func(g session.RewoundSpan) bool { return g.Contains(r.Seq) })
	return point{Checkpoint: session.Checkpoint{Seq: r.Seq, Turn: r.Turn, Time: r.Time, Rewound: gone}, to: r.Seq}
}

// add puts a place before a record.
func (p *pointing) add(r session.Record, step int, words string) {
	x := p.at(r)
	x.Seq, x.to, x.Step, x.Title = r.Seq-1, r.Seq-1, step, words
	p.list = append(p.list, x)
}

// fill gives a place the tree that was kept for it.
func (p *pointing) fill(e *session.Checkpointed) bool {
	for i := range slices.Backward(p.list) {
		if x := &p.list[i]; x.Turn == e.Turn && x.Step == e.Step && !x.After && !x.filled {
			x.Tree, x.early, x.skipped, x.filled = e.Tree, e.PreImages, e.Skipped, true
			return true
		}
	}
	return false
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// Checkpoints lists the places that a session can return to, oldest first. The
// session need not be open.
func (e *Engine) Checkpoints(ctx context.Context, id session.ID) ([]session.Checkpoint, error) {
	return Checkpoints(ctx, e.o.Store, id)
}

// Checkpoints lists the places that a stored session can return to, oldest first.
func Checkpoints(ctx context.Context, st *store.Store, id session.ID) ([]session.Checkpoint, error) {
	head, err := st.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	records, err := st.EventsOfType(ctx, id, pointed...)
	if err != nil {
		return nil, err
	}
	var list []session.Checkpoint
	for _, p := range points(head, records) {
		if !p.Rewound {
			list = append(list, p.Checkpoint)
		}
	}
	return list, nil
}
