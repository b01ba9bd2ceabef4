package maintenance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"belay/models/alert"
	"belay/models/ledger"
	"belay/session"
)

const (
	checkInterval  = time.Minute      // between two looks through the record
	checkTimeout   = 10 * time.Second // for one of them
	commandTimeout = 10 * time.Second // for the user's command
	alertInterval  = time.Hour        // between two alerts about the same
	alertDays      = 8                // that alerts look at
	maxWaiting     = 64               // alerts that wait for their turn; more are dropped rather than waited for
)

// watch looks through the record after attempts, at most once a minute.
func (w *Worker) watch(ctx context.Context) {
	for {
		select {
		case <-w.recorded:
		case f := <-w.reports:
			w.tell(context.WithoutCancel(ctx), f)
			continue
		case <-ctx.Done():
			w.last(context.WithoutCancel(ctx))
			return
		}
		w.check(context.WithoutCancel(ctx))
		if !w.rest(ctx) {
			w.last(context.WithoutCancel(ctx))
			return
		}
	}
}

// rest waits between two looks through the record, and tells meanwhile what others
// report, and what the state of the targets holds, which costs nothing to look at. It
// says false when the worker is to stop.
func (w *Worker) rest(ctx context.Context) bool {
	timer := time.NewTimer(checkInterval)
	defer timer.Stop()
	again := false
	for {
		select {
		case <-timer.C:
			if again {
				w.wake()
			}
			return true
		case <-w.recorded:
			again = true
			for _, f := range w.stateFindings() {
				w.tell(context.WithoutCancel(ctx), f)
			}
		case f := <-w.reports:
			w.tell(context.WithoutCancel(ctx), f)
		case <-ctx.Done():
			if again {
				w.wake()
			}
			return false
		}
	}
}

// wake has the record looked through.
func (w *Worker) wake() {
	select {
	case w.recorded <- struct{}{}:
	default:
	}
}

// last tells what has come just before the end.
func (w *Worker) last(ctx context.Context) {
	for {
		select {
		case f := <-w.reports:
			w.tell(ctx, f)
		case <-w.recorded: // the last attempt counts as well
			w.check(ctx)
		default:
			return
		}
	}
}

// Report lets a person know of something that no record shows, such as a batch that
// failed; those with the same key within an hour are one. It never waits.
func (w *Worker) Report(key, text string) {
	select {
	case w.reports <- finding{key: key, text: text}:
	default: // so many wait that one more says nothing new
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
	for _, f := range append(findings, w.stateFindings()...) {
		w.tell(ctx, f)
	}
}

// tell tells a person of a finding, unless that was done lately.
func (w *Worker) tell(ctx context.Context, f finding) {
	if len(w.o.Settings.Alerts.Notify) > 0 && w.claimAlert(ctx, f.key, w.o.Now()) {
		w.alert(f)
	}
}

// finding is something to tell, and what it is about.
type finding struct {
	key, text string
	seen      bool // whoever looks at a screen of belay sees it anyway
}

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
			findings = append(findings, finding{key: "budget " + b.period + " " + string(level), text: b.String()})
		}
	}
	limits := ledger.Limits{Share: w.o.Settings.Alerts.Share}
	for _, a := range ledger.Alerts(attemptsSince(list, recent), now, time.Local, limits) {
		findings = append(findings, finding{key: a.Key(), text: a.String()})
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
func (w *Worker) alert(f finding) {
	ways, text := w.o.Settings.Alerts.Notify, f.text
	a := session.Alerted{
		Text: text, Screen: slices.Contains(ways, "screen") && !f.seen, Desktop: slices.Contains(ways, "desktop"),
	}
	if a.Screen || a.Desktop {
		w.alertTo(a)
	}
	if w.o.Webhook != nil && slices.Contains(ways, "webhook") {
		select {
		case w.posts <- alert.Message{ID: w.o.NewID(), Key: f.key, Text: text, At: w.o.Now()}:
		default: // the webhook has not answered for long: the work goes on
		}
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

// post sends alerts to the webhook, one after the other. Those that wait at the end are
// sent as long as that takes no longer than the end may.
func (w *Worker) post(ctx context.Context) {
	var ending time.Time
	for m := range w.posts {
		if ctx.Err() != nil && ending.IsZero() {
			ending = w.o.Now()
		}
		if !ending.IsZero() && w.o.Now().Sub(ending) > commandTimeout {
			continue
		}
		if err := w.o.Webhook.Send(ctx, m); err != nil {
			w.alertTo(session.Alerted{Text: fmt.Sprintf("%s (the webhook of [alerts] failed: %v)", m.Text, err), Screen: true})
		}
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
