package agent

import (
	"context"
	"strings"
	"sync"
	"time"

	"belay/session"
)

// mostSaid is how much of a command's output is kept while it runs: its end.
const mostSaid = 4 << 10

// said saves what a running command has said so far, and who it is, so that a
// crash leaves a person something to judge by.
type said struct {
	t *turn
	p prepared

	mu     sync.Mutex
	output string
	timer  *time.Timer
	over   bool
	saving sync.WaitGroup
}

func (s *said) add(text string) {
	if s.p.job.Group == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.output += text
	if n := len(s.output) - mostSaid; n > 0 {
		s.output = strings.ToValidUTF8(s.output[n:], "")
	}
	s.plan()
}

// plan saves a little later; what comes until then is saved with it. s.mu is
// held.
func (s *said) plan() {
	if s.timer != nil || s.over {
		return
	}
	s.saving.Add(1)
	s.timer = time.AfterFunc(draftEvery, func() {
		defer s.saving.Done()
		s.mu.Lock()
		d := session.Draft{Turn: s.t.Turn, CallID: s.p.call.CallID, Output: s.output, PID: s.p.job.Group()}
		s.timer = nil
		s.mu.Unlock()
		_ = s.t.Log.SaveDraft(context.Background(), d)
	})
}

// begin saves who a command is, also when it says nothing.
func (s *said) begin() { s.add("") }

// stop waits for what is being saved.
func (s *said) stop() {
	s.mu.Lock()
	s.over = true
	if s.timer != nil && s.timer.Stop() {
		s.saving.Done()
	}
	s.mu.Unlock()
	s.saving.Wait()
}
