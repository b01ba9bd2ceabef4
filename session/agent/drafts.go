package agent

import (
	"context"
	"sync"
	"time"

	"belay/session"
)

// draftEvery is how often a reply that is being written is saved: within the
// quarter of a second that a crash may cost.
const draftEvery = 200 * time.Millisecond

// drafts saves the words of an unfinished reply every now and then. A draft
// that cannot be saved costs only what a crash would lose; the turn goes on.
type drafts struct {
	log  Log
	turn int
	now  func() time.Time

	mu     sync.Mutex
	latest session.Draft
	timer  *time.Timer
	saving sync.WaitGroup
}

func newDrafts(log Log, turn int, now func() time.Time) *drafts {
	return &drafts{log: log, turn: turn, now: now}
}

// save plans to store a draft; what comes until then is stored with it.
func (d *drafts) save(latest session.Draft) {
	d.mu.Lock()
	defer d.mu.Unlock()
	latest.Turn = d.turn
	d.latest = latest
	if d.timer != nil {
		return
	}
	d.saving.Add(1)
	d.timer = time.AfterFunc(draftEvery, func() {
		defer d.saving.Done()
		d.mu.Lock()
		latest := d.latest
		d.timer = nil
		d.mu.Unlock()
		_ = d.log.SaveDraft(context.Background(), latest)
	})
}

// stop forgets what was planned and waits for what is being stored, so that
// nothing is stored after what takes its place.
func (d *drafts) stop() {
	d.mu.Lock()
	if d.timer != nil && d.timer.Stop() {
		d.saving.Done()
	}
	d.timer = nil
	d.mu.Unlock()
	d.saving.Wait()
}
