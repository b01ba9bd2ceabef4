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
	attempts         int             // in the last seven days
	failedAlone      float64         // share of failures for want of room while one request ran
	failedConcurrent float64         // and while several of ours ran at the same provider
	concurrent       int             // attempts of the second sort
	altered          []store.Altered // records that are not as they were written
	hours            []string        // in which failures cluster, such as "Mo 14:00"
	sizeFrom         int64           // input tokens from which failures rise; 0: they do not
	sizeBelow        float64         // failure share below it
	sizeAbove        float64         // and above
}

// readHistory looks in the record for what cannot be seen now.
func readHistory(ctx context.Context, now time.Time) (history, error) {
	var record history
	err := app.ReadStore(ctx, func(st *store.Store) error {
		list, err := ledger.Read(ctx, st, now.AddDate(0, 0, -historyDays), time.Time{})
		if err == nil {
			record = newHistory(list, now)
			record.altered, err = store.CheckLatest(ctx, st)
		}
		return err
	})
	if errors.Is(err, store.ErrOlder) {
		err = nil // nothing is recorded in a database from before there was a record
	}
	return record, err
}

func newHistory(list []ledger.Attempt, now time.Time) history {
	record := history{attempts: len(list)}
	var alone, aloneFull, concurrentFull int
	for i := range list {
		attempt := &list[i]
		if !attempt.Counts() {
			continue
		}
		full := 0
		if attempt.Kind == models.KindCapacity || attempt.Kind == models.KindRate {
			full = 1
		}
		if attempt.Concurrency > 1 {
			record.concurrent++
			concurrentFull += full
		} else {
			alone++
			aloneFull += full
		}
	}
	record.failedAlone = float64(aloneFull) / float64(max(alone, 1))
	record.failedConcurrent = float64(concurrentFull) / float64(max(record.concurrent, 1))
	if sizes := ledger.SizesOf(list); sizes.Threshold > 0 {
		record.sizeFrom = sizes.Threshold
		record.sizeAbove = sizes.Above
		record.sizeBelow = sizes.Below
	}
	for _, alert := range ledger.Alerts(list, now, time.Local, ledger.Limits{}) {
		if alert.Kind == ledger.AlertHours {
			record.hours = append(record.hours, alert.String())
		}
	}
	return record
}
