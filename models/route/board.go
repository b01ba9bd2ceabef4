package route

import (
	"sync"

	"belay/models"
)

// board keeps what the last attempts said about each target.
type board struct {
	mu         sync.Mutex
	conditions map[models.Target]models.Condition
}

func (b *board) set(t models.Target, c models.Condition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conditions[t] = c
}

func (b *board) failed(t models.Target, f *models.Fault, _ models.Next) {
	c := models.Condition{State: models.Ready, Fault: f}
	switch f.Kind {
	case models.KindAuth, models.KindModel, models.KindBilling, models.KindUsage, models.KindAbsent:
		c.State = models.Out
	case models.KindCapacity, models.KindRate, models.KindServer:
		c.State = models.HalfOpen
	}
	b.set(t, c)
}

// Conditions gives the state of each tier's current target, heavy first.
// A tier without targets is left out.
func (r *Router) Conditions() []models.Condition {
	var list []models.Condition
	for _, tier := range models.Tiers() {
		targets := r.o.Tiers[tier]
		if len(targets) == 0 {
			continue
		}
		r.board.mu.Lock()
		c := r.board.conditions[targets[0]]
		r.board.mu.Unlock()
		if c.State == "" || (c.State == models.Trying && c.Until.Before(r.o.Now())) {
			c.State = models.Ready
		}
		c.Tier, c.Target, c.Short = tier, targets[0], r.o.Model(targets[0]).Short
		list = append(list, c)
	}
	return list
}
