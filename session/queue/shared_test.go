package queue

import (
	"testing"
	"time"

	"belay/models"
	"belay/models/capacity"
)

func TestOneWorkersNoRoomSparesTheOthersTheAttempt(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		target := models.Target{Provider: "p", Model: "sol"}
		full := &models.Fault{Kind: models.KindCapacity, Code: "server_is_overloaded"}
		board := func(machine string) *capacity.Breakers {
			return capacity.New(capacity.Options{
				Shared: sharedState{open(machine)}, Owner: machine, Fresh: time.Nanosecond,
				Tiers:  map[models.Tier][]models.Target{models.Heavy: {target}},
				Report: func(err error) { t.Error(err) },
			})
		}
		ctx := t.Context()
		first, second := board("machine1"), board("machine2")
		if _, ok := second.Allow(ctx, target, false); !ok {
			t.Fatal("nobody has failed, and it may not be asked")
		}
		for range 3 {
			if _, ok := first.Allow(ctx, target, false); !ok {
				t.Fatal("the circuit opened early")
			}
			first.Failed(ctx, target, full)
		}
		condition, ok := second.Allow(ctx, target, false)
		if ok || condition.State != models.Resting || time.Until(condition.Until) < 20*time.Second {
			t.Errorf("the other worker may ask: %v; %s until %v", ok, condition.State, condition.Until)
		}
		if condition, ok := board("machine3").Allow(ctx, target, false); ok {
			t.Errorf("a worker that begins later may ask: %s", condition.State)
		}
		first.Succeeded(ctx, target, time.Second)
		if condition, ok := second.Allow(ctx, target, false); !ok {
			t.Errorf("it answered, and the other worker may not ask: %s", condition.State)
		}
	})
}
