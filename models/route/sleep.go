package route

import (
	"context"
	"time"
)

// ParkPoll is how often the wait for the next try of a parked turn looks at the
// wall clock.
const ParkPoll = 30 * time.Second

// SleepUntil waits until a time, or until the context ends: then the error is
// its cause. It looks at the wall clock at least every poll, for in a suspended
// computer timers stand still, and what was waited for may have come.
func SleepUntil(ctx context.Context, now func() time.Time, until time.Time, poll time.Duration) error {
	_, err := sleepUntil(ctx, now, until, poll, nil)
	return err
}

// sleepUntil ends early when somebody wakes it.
func sleepUntil(
	ctx context.Context,
	now func() time.Time,
	until time.Time,
	poll time.Duration,
	wake <-chan struct{},
) (early bool, err error) {
	timer := time.NewTimer(min(until.Sub(now()), poll))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-wake:
			return true, nil
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
		left := Left(now(), until)
		if left <= 0 {
			return false, nil
		}
		timer.Reset(min(left, poll))
	}
}

// Left is how long it is until a time, by whichever of the wall clock and the
// monotonic one is further on: the one may be set back, the other stands still
// in a suspended computer.
func Left(now, until time.Time) time.Duration {
	return min(until.Sub(now), until.Round(0).Sub(now.Round(0)))
}
