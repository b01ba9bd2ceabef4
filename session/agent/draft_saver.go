package agent

import (
	"context"
	"sync"
	"time"

	"belay/session"
)

// draftInterval is how often what is unfinished is saved: within the quarter of
// a second that a crash may cost.
const draftInterval = 200 * time.Millisecond

// draftSaver stores drafts of what is unfinished every now and then. A draft
// that cannot be saved costs only what a crash would lose; the turn goes on.
type draftSaver struct {
	log  Log
	turn int

	mu     sync.Mutex
	latest func() session.Draft
	timer  *time.Timer // of a save that is planned; nil: none is
	saving sync.WaitGroup
}

// save plans to store a draft; one that comes until then takes its place. The
// draft is made when it is stored, on another goroutine.
func (s *draftSaver) save(draft func() session.Draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = draft
	if s.timer != nil {
		return
	}
	s.saving.Add(1)
	s.timer = time.AfterFunc(draftInterval, s.store)
}

// store saves the latest draft. Another save is planned only when this one is done:
// a store that keeps it waiting would be asked by more and more of them.
func (s *draftSaver) store() {
	defer s.saving.Done()
	s.mu.Lock()
	latest, timer := s.latest, s.timer
	s.latest = nil
	s.mu.Unlock()
	if latest == nil { // stopped meanwhile
		return
	}
	draft := latest()
	draft.Turn = s.turn
	_ = s.log.SaveDraft(context.Background(), draft)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != timer {
		return // stopped, and perhaps begun anew
	}
	if s.timer = nil; s.latest != nil {
		s.saving.Add(1)
		s.timer = time.AfterFunc(draftInterval, s.store)
	}
}

// stop forgets what was planned and waits for what is being stored, so that
// nothing is stored after what takes its place.
func (s *draftSaver) stop() {
	s.mu.Lock()
	if s.timer != nil && s.timer.Stop() {
		s.saving.Done()
	}
	s.timer, s.latest = nil, nil
	s.mu.Unlock()
	s.saving.Wait()
}
