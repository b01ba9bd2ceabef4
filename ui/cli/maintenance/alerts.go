package maintenance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"belay/models/ledger"
	"belay/session"
)

const (
	checkInterval  = time.Minute      // between two looks through the record
	checkTimeout   = 10 * time.Second // for one of them
	commandTimeout = 10 * time.Second // for the user's command
	alertInterval  = time.Hour        // between two alerts about the same
	alertDays      = 8                // that alerts look at
)

// watch looks through the record after attempts, at most once a minute.
func (w *Worker) watch(ctx context.Context) {
	for {
		select {
		case <-w.recorded:
		case <-ctx.Done():
			select {
			case <-w.recorded: // the last attempt counts as well
			default:
				return
			}
		}
		w.check(context.WithoutCancel(ctx))
		timer := time.NewTimer(checkInterval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (w *Worker) check(ctx context.Context) {
	if len(w.o.Settings.Alerts.Notify) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	now := w.o.Now()
	findings, err := w.findings(ctx, now)
	if err != nil {
		return // whoever shows the record says why it cannot be read
	}
	for _, f := range findings {
		if w.claimAlert(ctx, f.key, now) {
			w.alert(f.text)
		}
	}
}

// finding is something to tell, and what it is about.
type finding struct{ key, text string }

// findings are what the record holds against the user's limits.
func (w *Worker) findings(ctx context.Context, now time.Time) ([]finding, error) {
	recent := now.AddDate(0, 0, -alertDays)
	since := recent
	if _, month := periods(now); w.o.Settings.Budget.Month > 0 && month.Before(since) {
		since = month
	}
	list, err := ledger.Read(ctx, w.o.Store, since, time.Time{})
	if err != nil {
		return nil, err
	}
	var findings []finding
	for _, b := range w.budgets(list, now) {
		if level := b.Level(); level != ledger.WithinBudget {
			findings = append(findings, finding{"budget " + b.period + " " + string(level), b.String()})
		}
	}
	limits := ledger.Limits{Share: w.o.Settings.Alerts.Share}
	for _, a := range ledger.Alerts(attemptsSince(list, recent), now, time.Local, limits) {
		findings = append(findings, finding{a.Key(), a.String()})
	}
	return findings, nil
}

// attemptsSince is the part of a record that begins at a time.
func attemptsSince(list []ledger.Attempt, t time.Time) []ledger.Attempt {
	i, _ := slices.BinarySearchFunc(list, t, func(a ledger.Attempt, t time.Time) int { return a.CreatedAt.Compare(t) })
	return list[i:]
}

// claimAlert reports whether nobody has been told lately, by whichever belay.
func (w *Worker) claimAlert(ctx context.Context, key string, now time.Time) bool {
	if at, ok := w.alerted[key]; ok && now.Sub(at) < alertInterval {
		return false
	}
	w.alerted[key] = now
	first := true
	err := w.o.Store.UpdateShared(ctx, "alert "+key, func(old []byte) ([]byte, error) {
		var at time.Time
		if at.UnmarshalText(old) == nil && now.Sub(at).Abs() < alertInterval {
			first = false
			return nil, nil
		}
		return now.MarshalText()
	})
	return first || err != nil
}

// alert tells a person in the ways they have chosen.
func (w *Worker) alert(text string) {
	ways := w.o.Settings.Alerts.Notify
	a := session.Alerted{Text: text, Screen: slices.Contains(ways, "screen"), Desktop: slices.Contains(ways, "desktop")}
	if a.Screen || a.Desktop {
		w.alertTo(a)
	}
	command := w.o.Settings.Alerts.Command
	if command == "" || !slices.Contains(ways, "command") {
		return
	}
	if err := RunAlertCommand(command, text); err != nil {
		w.alertTo(
			session.Alerted{Text: fmt.Sprintf("%s (the command of [alerts] failed: %v)", text, err), Screen: true},
		)
	}
}

// RunAlertCommand runs the user's command with the text in its environment.
func RunAlertCommand(command, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	c := exec.CommandContext(ctx, shell[0], append(shell[1:], command)...)
	c.Env = append(os.Environ(), "BELAY_ALERT="+text)
	c.WaitDelay = time.Second // for children that keep its output open
	return c.Run()
}
