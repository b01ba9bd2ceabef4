// Package statistics decides what the record of requests is told as: how the
// models did, what it cost and where belay switched, as text, JSON, CSV or a
// page.
package statistics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"belay/models/ledger"
	"belay/session/store"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
)

// Options is what `belay stats` was asked for.
type Options struct {
	Since      string // a time ago, or a date
	SinceGiven bool   // by the user; otherwise it is the default
	By         string // what a line of the table is for
	ByGiven    bool
	JSON       bool
	CSV        bool
	HTML       string // the file of a page; empty: none
	Project    string // only what was done in this folder; empty: everywhere
}

// statistics are everything that `belay stats` tells.
type statistics struct {
	Version   int               `json:"v"`
	Since     time.Time         `json:"since"`
	Until     time.Time         `json:"until"`
	Total     ledger.Row        `json:"total"`
	By        ledger.By         `json:"by"`
	Rows      []ledger.Row      `json:"rows"`
	Costs     ledger.Costs      `json:"costs"`
	Episodes  []ledger.Episode  `json:"episodes"`
	Weeks     []ledger.Week     `json:"weeks"`
	Sizes     ledger.Sizes      `json:"sizes"`
	Risks     []ledger.Risk     `json:"risks"`
	Alerts    []ledger.Alert    `json:"alerts"`
	Failovers []ledger.Failover `json:"degrades"`
}

// minHistoryDays is how many days of record the hours of the week and the alerts
// are made of, however short the time that was asked for.
const minHistoryDays = 30

// Run reads the record and prints what was asked for.
func Run(ctx context.Context, env app.Env, options Options) error {
	by, err := ledger.ParseBy(options.By)
	if err != nil {
		return usageError(err)
	}
	if options.JSON && options.CSV || options.HTML != "" && (options.JSON || options.CSV) {
		return usageError(errors.New("--json, --csv and --html exclude each other"))
	}
	now := env.Now()
	since, err := parseSince(options.Since, now)
	if err != nil {
		return usageError(err)
	}
	history, err := readHistory(ctx, options.Project, since, now)
	if err != nil {
		return err
	}
	from, _ := slices.BinarySearchFunc(history, since,
		func(a ledger.Attempt, t time.Time) int { return a.CreatedAt.Compare(t) })
	list := history[from:]
	stats := newStatistics(history, list, by, since, now)
	switch {
	case options.JSON:
		return plain.JSONLine(env.Out, stats)
	case options.CSV && options.ByGiven:
		return writeCSV(env.Out, stats.Rows)
	case options.CSV:
		return writeCSV(env.Out, list)
	case options.HTML != "":
		return writePage(env, options.HTML, stats)
	case len(list) == 0:
		fmt.Fprintln(env.Err, locale.T("no requests are recorded since %s", since.Local().Format(locale.T("2 January 2006"))))
		return nil
	}
	return printText(env, stats, options.SinceGiven)
}

func usageError(err error) error {
	return &exit.UsageError{Err: err, See: "belay stats --help"}
}

// readHistory reads the record since a time, or of as many days as comparisons
// need.
func readHistory(ctx context.Context, project string, since, now time.Time) (list []ledger.Attempt, err error) {
	if needed := now.AddDate(0, 0, -minHistoryDays); needed.Before(since) {
		since = needed
	}
	err = app.ReadStore(ctx, func(st *store.Store) (err error) {
		list, err = ledger.Read(ctx, st, since, time.Time{})
		return err
	})
	if project != "" {
		list = slices.DeleteFunc(list, func(a ledger.Attempt) bool { return a.ProjectID != project })
	}
	return list, err
}

// newStatistics makes them of the attempts that were asked for. What compares
// times with each other is made of the whole history.
func newStatistics(history, list []ledger.Attempt, by ledger.By, since, now time.Time) statistics {
	stats := statistics{
		Version:   1,
		Since:     since.UTC(),
		Until:     now.UTC(),
		Total:     ledger.Total(list),
		By:        by,
		Rows:      ledger.Summary(list, by, time.Local),
		Costs:     ledger.CostOfSuccess(list),
		Episodes:  ledger.Episodes(list, now),
		Weeks:     ledger.Weeks(history, time.Local, now),
		Sizes:     ledger.SizesOf(list),
		Alerts:    ledger.Alerts(history, now, time.Local, ledger.Limits{}),
		Failovers: ledger.Failovers(list),
	}
	for _, w := range stats.Weeks[1:] {
		stats.Risks = append(stats.Risks, ledger.RiskOf(history, w.Target, now))
	}
	// Lists that are empty are [] in JSON, not null.
	stats.Rows = orEmpty(stats.Rows)
	stats.Episodes = orEmpty(stats.Episodes)
	stats.Risks = orEmpty(stats.Risks)
	stats.Alerts = orEmpty(stats.Alerts)
	stats.Failovers = orEmpty(stats.Failovers)
	stats.Sizes.Buckets = orEmpty(stats.Sizes.Buckets)
	return stats
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// parseSince reads a time ago, in hours, days or weeks too, or a date.
func parseSince(text string, now time.Time) (time.Time, error) {
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day, nil
	}
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		if n, err := strconv.Atoi(strings.TrimSuffix(text, unit)); err == nil && strings.HasSuffix(text, unit) &&
			n > 0 &&
			n < 100_000 {
			return now.AddDate(0, 0, -n*days), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago > 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, fmt.Errorf("--since %q: write a time such as 36h, 7d or 2w, or a date such as 2026-03-01", text)
}
