package ui

import (
	"context"
	"strings"
	"sync"
	"testing"

	"belay/session"
)

// draftLibrary is a library that keeps drafts.
type draftLibrary struct {
	*fakeEngine
	mu    sync.Mutex
	kept  map[session.ID]session.Unsent
	saves chan session.Unsent
}

func (d *draftLibrary) SaveUnsent(_ context.Context, id session.ID, _ string, u session.Unsent) error {
	d.mu.Lock()
	d.kept[id] = u
	d.mu.Unlock()
	d.saves <- u
	return nil
}

func (d *draftLibrary) LoadUnsent(_ context.Context, id session.ID, _ string) (session.Unsent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kept[id], nil
}

func TestWhatIsBeingWrittenOutlivesBelay(t *testing.T) {
	world := newFakeEngine()
	world.add("s1", "", turn("go on"), session.TurnEnded{Outcome: session.OutcomeDone})
	world.add("s2", "", turn("other"), session.TurnEnded{Outcome: session.OutcomeDone})
	world.reply = obeyQuickly
	drafts := &draftLibrary{fakeEngine: world, kept: map[session.ID]session.Unsent{}, saves: make(chan session.Unsent, 16)}
	start := func(id session.ID) *screen {
		o := world.options()
		o.Open, o.Library = id, drafts
		s := startScreen(t, 80, 24, o)
		s.wait("● sol")
		return s
	}
	s := start("s1")
	s.wait("go on")
	s.press("why ")
	s.paste(strings.Repeat("line\n", 30) + "end")
	s.press(" then")
	s.wait("› why [pasted 31 lines] then")
	if u := <-drafts.saves; u.Text != "why [pasted 31 lines] then" || len(u.Pastes) != 1 {
		t.Errorf("stored while it is written: %+v", u)
	}
	s.close()

	s = start("s1")
	s.wait("› why [pasted 31 lines] then")
	s.press("enter")
	if u := <-drafts.saves; !u.Empty() {
		t.Errorf("after it was sent there is %+v", u)
	}
	s.press("ctrl+n")
	s.wait("What was done is kept")
	s.press("for later")
	if u := <-drafts.saves; u.Text != "for later" {
		t.Errorf("before there is a session: %+v", u)
	}
	s.close()

	s = start("s2")
	s.wait("other")
	if text := s.wait("what is to be done?"); strings.Contains(text, "later") {
		t.Errorf("another session has the draft:\n%s", text)
	}
	s.close()
	start("").wait("› for later")
}
