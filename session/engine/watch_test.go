package engine

import (
	"testing"
	"time"

	"belay/models"
	"belay/models/capacity"
	"belay/session"
	"belay/session/store"
)

// Another program finds a model full: who listens to this engine hears of it, also
// before there is a session.
func TestWhatAnotherProgramFindsIsHeardOfWithoutASession(t *testing.T) {
	t.Parallel()
	inBubble(t, "[[reply]]\ntext = \"Done.\"", func(r *rig) {
		r.engine = func(o *Options) { o.Watch = time.Second }
	}, func(t *testing.T, r *rig, id session.ID) {
		r.stop()
		r.heard = nil
		r.start()
		time.Sleep(5 * time.Second)
		before := r.tiersChanged()
		other, err := store.Open(t.Context(), r.data, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		board := capacity.New(capacity.Options{Shared: other, Tiers: r.tiers, Owner: "other"})
		board.Failed(t.Context(), sol, &models.Fault{Kind: models.KindCapacity, Target: sol})
		time.Sleep(2 * time.Second)
		if got := r.tiersChanged(); got <= before {
			t.Error("nothing was heard of it")
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
}

func (r *rig) tiersChanged() (n int) {
	for _, record := range r.published() {
		if _, ok := record.Event.(session.TiersChanged); ok {
			n++
		}
	}
	return n
}
