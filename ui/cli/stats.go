package cli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"belay/models/ledger"
	"belay/session/store"
	"belay/ui/theme"
)

// statsFlags is what `belay stats` was asked for.
type statsFlags struct {
	since, by    string
	json, csv    bool
	html         string
	here         bool
	chosen, byed bool // --since and --by were given
	project      string
}

func (d Deps) stats(g *global) *cobra.Command {
	f := statsFlags{}
	c := &cobra.Command{
		Use:   "stats",
		Short: "How the models did: when they were full, what it cost, where belay switched",
		Long: `Reads the record that belay keeps of every request: who was asked, how it
ended, what it took. All of it stays on this computer.

--since takes a time (36h, 7d, 2w) or a date (2026-03-01). With it, every
switch that belay made by itself is listed: worth a look once a week.
--csv writes the record itself, one attempt a line; with --by, the table.`,
		Example: `  belay stats --since 7d
  belay stats --by size
  belay stats --since 2026-03-01 --csv > march.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.chosen, f.byed = cmd.Flags().Changed("since"), cmd.Flags().Changed("by")
			if f.here {
				var err error
				if f.project, err = d.project(*g); err != nil {
					return err
				}
			}
			return d.tell(cmd.Context(), f)
		},
	}
	c.Flags().StringVar(&f.since, "since", "30d", "only what happened since this `TIME`")
	c.Flags().StringVar(&f.by, "by", "model", "one line for each `WHAT`: model, project, hour or size (of the input)")
	c.Flags().BoolVar(&f.here, "here", false, "only what was done in this folder")
	c.Flags().BoolVar(&f.json, "json", false, "everything as one JSON object")
	c.Flags().BoolVar(&f.csv, "csv", false, "comma-separated values")
	c.Flags().StringVar(&f.html, "html", "", "write a page that needs nothing else to this new `FILE`")
	return c
}

// statistics are everything that `belay stats` tells.
type statistics struct {
	Version  int               `json:"v"`
	Since    time.Time         `json:"since"`
	Until    time.Time         `json:"until"`
	Total    ledger.Row        `json:"total"`
	By       ledger.By         `json:"by"`
	Rows     []ledger.Row      `json:"rows"`
	Costs    ledger.Costs      `json:"costs"`
	Episodes []ledger.Episode  `json:"episodes"`
	Weeks    []ledger.Week     `json:"weeks"`
	Sizes    ledger.Sizes      `json:"sizes"`
	Risks    []ledger.Risk     `json:"risks"`
	Alerts   []ledger.Alert    `json:"alerts"`
	Degrades []ledger.Failover `json:"degrades"`
}

// atLeast is how many days of record the hours of the week and the alerts are
// made of, however short the time that was asked for.
const atLeast = 30

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// tell reads the record and prints what was asked for.
func (d Deps) tell(ctx context.Context, f statsFlags) error {
	by, err := ledger.ParseBy(f.by)
	if err != nil {
		return &usageError{err: err, help: "belay stats --help"}
	}
	if f.json && f.csv || f.html != "" && (f.json || f.csv) {
		return &usageError{err: errors.New("--json, --csv and --html exclude each other"), help: "belay stats --help"}
	}
	now := d.Now()
	since, err := parseSince(f.since, now)
	if err != nil {
		return &usageError{err: err, help: "belay stats --help"}
	}
	var history []ledger.Attempt
	err = with(ctx, true, func(st *store.Store) (err error) {
		history, err = ledger.Read(ctx, st, earlier(since, now.AddDate(0, 0, -atLeast)), time.Time{})
		return err
	})
	if err != nil {
		return err
	}
	if f.here {
		history = inProject(history, f.project)
	}
	from, _ := slices.BinarySearchFunc(history, since, func(a ledger.Attempt, t time.Time) int { return a.CreatedAt.Compare(t) })
	list := history[from:]
	s := newStatistics(history, list, by, since, now)
	switch {
	case f.json:
		return writeJSON(d.Out, s)
	case f.csv && f.byed:
		return writeCSV(d.Out, s.Rows)
	case f.csv:
		return writeCSV(d.Out, list)
	case f.html != "":
		return d.writePage(f.html, s)
	case len(list) == 0:
		fmt.Fprintf(d.Err, "no requests are recorded since %s\n", since.Local().Format("2 January 2006"))
		return nil
	}
	return d.print(s, f.chosen)
}

// newStatistics makes them of the attempts that were asked for. What compares
// times with each other is made of the whole history.
func newStatistics(history, list []ledger.Attempt, by ledger.By, since, now time.Time) statistics {
	s := statistics{
		Version: 1, Since: since.UTC(), Until: now.UTC(), Total: ledger.Total(list), By: by, Rows: ledger.Summary(list, by, time.Local), Costs: ledger.CostOfSuccess(list),
		Episodes: ledger.Episodes(list, now), Weeks: ledger.Weeks(history, time.Local, now), Sizes: ledger.SizesOf(list),
		Alerts: ledger.Alerts(history, now, time.Local, ledger.Limits{}), Degrades: ledger.Failovers(list),
	}
	for _, w := range s.Weeks[1:] {
		s.Risks = append(s.Risks, ledger.RiskOf(history, w.Target, now))
	}
	// Lists that are empty are [] in JSON, not null.
	s.Rows, s.Episodes, s.Risks, s.Alerts, s.Degrades = listed(s.Rows), listed(s.Episodes), listed(s.Risks), listed(s.Alerts), listed(s.Degrades)
	s.Sizes.Buckets = listed(s.Sizes.Buckets)
	return s
}

func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func inProject(list []ledger.Attempt, project string) []ledger.Attempt {
	var in []ledger.Attempt
	for _, a := range list {
		if a.ProjectID == project {
			in = append(in, a)
		}
	}
	return in
}

// parseSince reads a time ago, in hours, days or weeks too, or a date.
func parseSince(text string, now time.Time) (time.Time, error) {
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day, nil
	}
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		if n, err := strconv.Atoi(strings.TrimSuffix(text, unit)); err == nil && strings.HasSuffix(text, unit) && n > 0 && n < 100_000 {
			return now.AddDate(0, 0, -n*days), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago > 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, fmt.Errorf("--since %q: write a time such as 36h, 7d or 2w, or a date such as 2026-03-01", text)
}

// writeCSV writes records with the names of their JSON fields as a head, by
// RFC 4180.
func writeCSV[T any](w io.Writer, list []T) error {
	out := csv.NewWriter(w)
	kind := reflect.TypeFor[T]()
	var head []string
	for field := range kind.Fields() {
		head = append(head, field.Tag.Get("json"))
	}
	if err := out.Write(head); err != nil {
		return err
	}
	row := make([]string, len(head))
	for i := range list {
		v := reflect.ValueOf(&list[i]).Elem()
		for n := range head {
			row[n] = cell(v.Field(n))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// cell writes a value for a spreadsheet. Texts come from models and servers, so
// none may be taken for a formula.
func cell(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Time:
		return value.UTC().Format(time.RFC3339Nano)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	if v.Kind() != reflect.String {
		return fmt.Sprint(v.Interface())
	}
	text := theme.Line(v.String())
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

func (d Deps) writePage(name string, s statistics) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if err := errors.Join(page(f, s), f.Close()); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	fmt.Fprintf(d.Err, "written to %s\n", name)
	return nil
}
