package doctor

import (
	"context"
	"errors"
	"time"

	"belay/models"
	"belay/models/ledger"
	"belay/session/store"
	"belay/ui/cli/app"
)

// historyDays is how far back the doctor looks.
const historyDays = 7

// history is what the record of past attempts says.
type history struct {
	attempts         int      // in the last seven days
	failedAlone      float64  // share of failures for want of room while one request ran
	failedConcurrent float64  // and while several of ours ran at the same provider
	concurrent       int      // attempts of the second sort
	hours            []string // in which failures cluster, such as "Mo 14:00"
	sizeFrom         int64    // input tokens from which failures rise; 0: they do not
	sizeBelow        float64  // failure share below it
	sizeAbove        float64  // and above
}

// readHistory looks in the record for what cannot be seen now.
func readHistory(ctx context.Context, now time.Time) (history, error) {
	var h history
	err := app.WithStore(ctx, true, func(st *store.Store) error {
		list, err := ledger.Read(ctx, st, now.AddDate(0, 0, -historyDays), time.Time{})
		if err == nil {
			h = newHistory(list, now)
		}
		return err
	})
	if errors.Is(err, store.ErrOlder) {
		err = nil // nothing is recorded in a database from before there was a record
	}
	return h, err
}

func newHistory(list []ledger.Attempt, now time.Time) history {
	h := history{attempts: len(list)}
	var alone, aloneFull, concurrentFull int
	for i := range list {
		a := &list[i]
		if !a.Counts() {
			continue
		}
		full := 0
		if a.Kind == models.KindCapacity || a.Kind == models.KindRate {
			full = 1
		}
		if a.Concurrency > 1 {
			h.concurrent++
			concurrentFull += full
		} else {
			alone++
			aloneFull += full
		}
	}
	h.failedAlone = float64(aloneFull) / float64(max(alone, 1))
	h.failedConcurrent = float64(concurrentFull) / float64(max(h.concurrent, 1))
	if sizes := ledger.SizesOf(list); sizes.Threshold > 0 {
		h.sizeFrom = sizes.Threshold
		h.sizeAbove = sizes.Above
		h.sizeBelow = sizes.Below
	}
	for _, a := range ledger.Alerts(list, now, time.Local, ledger.Limits{}) {
		if a.Kind == ledger.AlertHours {
			h.hours = append(h.hours, a.String())
		}
	}
	return h
}
