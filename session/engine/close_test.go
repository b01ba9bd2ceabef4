package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"belay/session"
	"belay/session/agent"
	"belay/session/store"
	"belay/session/tools"
)

func TestClosingEndsWhateverRunsAndBeginsNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		until        func(*rig, session.ID)
		want         session.Status
	}{
		{"while streaming", slow, func(*rig, session.ID) { time.Sleep(3 * time.Second) }, session.Interrupted},
		{"while asking", shell, func(r *rig, id session.ID) { r.asks(id) }, session.Asking},
		{"while parked", fmt.Sprintf(full, "60m"), func(r *rig, id session.ID) { r.wait(id) }, session.Parked},
		{"while waiting", fmt.Sprintf(full, "60m"), func(*rig, session.ID) { time.Sleep(time.Second) }, session.Interrupted},
		{"as a turn is done", "[[reply]]\ntimes = -1\ntext = \"Done.\"", func(*rig, session.ID) {}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.script, nil, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "first")
				r.send(id, "second")
				tt.until(r, id)
				if err := r.Engine.Close(); err != nil {
					t.Error(err)
				}
				if err := r.Do(t.Context(), id, session.Send{Prompt: session.Prompt{ID: "x", Text: "x"}}); !errors.Is(
					err,
					ErrNotOpen,
				) {
					t.Errorf("Do after Close = %v, want ErrNotOpen", err)
				}
				asked := len(r.server.Log())
				time.Sleep(time.Hour)
				if got := len(r.server.Log()); got != asked {
					t.Errorf("%d requests after Close", got-asked)
				}
				s, err := r.store.Load(t.Context(), id)
				if err != nil || tt.want != "" && s.Status != tt.want {
					t.Errorf("left %s, want %s, %v", s.Status, tt.want, err)
				}
			})
		})
	}
}

// A session is shown before it is opened: what it is told then waits for that.
func TestASessionIsToldSomethingWhileItIsOpened(t *testing.T) {
	t.Parallel()
	var gate chan struct{}
	inBubble(t, "[[reply]]\ntimes = -1\ntext = \"Done.\"", func(r *rig) {
		gate = make(chan struct{}, 2)
		gate <- struct{}{}
		r.engine = func(o *Options) {
			open := o.Tools
			o.Tools = func(root string) (*tools.Set, error) { <-gate; return open(root) }
		}
	}, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "first")
		r.wait(id)
		r.stop()
		r.start()
		go func() { _, _ = r.Open(context.Background(), id, false) }()
		synctest.Wait()
		time.AfterFunc(time.Second, func() { gate <- struct{}{} })
		r.send(id, "second")
		if s := r.wait(id); s.Status != session.Idle || s.Turn != 2 {
			t.Errorf("%s in turn %d", s.Status, s.Turn)
		}
	})
}

func TestAClosedSessionBeginsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, "[[reply]]\ntimes = -1\ntext = \"Done.\"", nil, func(t *testing.T, r *rig, id session.ID) {
		open := r.openSession(id)
		r.send(id, "first")
		r.send(id, "second")
		open.close()
		turn := open.State().Turn
		open.mu.Lock()
		err := open.beginLocked(t.Context(), byPrompt, session.TurnResumed{})
		open.mu.Unlock()
		if !errors.Is(err, agent.ErrClosing) {
			t.Errorf("begin = %v, want ErrClosing", err)
		}
		if err := open.idle(t.Context()); err != nil {
			t.Error(err)
		}
		if s := open.State(); s.Turn != turn {
			t.Errorf("turn %d was begun", s.Turn)
		}
	})
}

func TestATakeoverStopsTheTurnAndTheSessionCanBeTakenBack(t *testing.T) {
	t.Parallel()
	inBubble(t, slow, nil, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		time.Sleep(3 * time.Second)
		other, err := store.Open(t.Context(), r.data, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := other.Acquire(t.Context(), id, "other", true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s := r.wait(id); s.Live() {
			t.Errorf("Status = %s after a takeover", s.Status)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := r.Open(t.Context(), id, true)
		if err != nil || s.Status != session.Interrupted {
			t.Fatalf("Open = %s, %v", s.Status, err)
		}
		r.do(id, session.Resume{})
		if s := r.wait(id); s.Status != session.Idle {
			t.Errorf("Status = %s, %v\n%s", s.Status, s.Fault, r.log(id))
		}
	})
}
