package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"belay/config"
	"belay/models"
	"belay/models/ledger"
	"belay/session"
	"belay/session/snapshot"
	"belay/session/store"
	"belay/ui/theme"
)

const (
	checkGap     = time.Minute      // between two looks through the record
	checkLimit   = 10 * time.Second // for one of them
	commandLimit = 10 * time.Second // for the user's command
	tellGap      = time.Hour        // between two alerts about the same
	alertDays    = 8                // that alerts look at
)

// keeper looks after the record in the background: it forgets what is too old,
// the working trees of old checkpoints with it, and tells a person of what stands out.
type keeper struct {
	st   *store.Store
	s    config.Settings
	what string // the kind of program

	project string          // whose snapshots are looked after
	shots   *snapshot.Store // nil: there are none
	now     func() time.Time
	tell    func(session.Alerted)

	due  chan struct{} // something was recorded
	end  context.CancelFunc
	work sync.WaitGroup
	told map[string]time.Time // by the loop alone

	mu    sync.Mutex
	read  time.Time // when the sums were read
	spent [2]float64
}

// begin starts to keep; stop ends it.
func (k *keeper) begin() {
	k.due, k.told = make(chan struct{}, 1), map[string]time.Time{}
	var ctx context.Context
	ctx, k.end = context.WithCancel(context.Background())
	k.work.Go(func() { k.forget(ctx) })
	k.work.Go(func() { k.watch(ctx) })
}

// stop waits for what is under way: an alert is told to its end.
func (k *keeper) stop() {
	k.end()
	k.work.Wait()
}

// record writes an attempt down. A record that cannot be written is no reason
// to stop the work; a disk that is full shows where it matters.
func (k *keeper) record(ctx context.Context, a models.Attempt) {
	a.Environment, a.TeamID = cmp.Or(k.s.Record.Environment, k.what), k.s.Record.Team
	_ = k.st.AppendAttempts(ctx, ledger.Attempt(a))
	k.mu.Lock()
	for i := range k.spent {
		k.spent[i] += a.Cost
	}
	k.mu.Unlock()
	select {
	case k.due <- struct{}{}:
	default:
	}
}

// forget removes what is older than the user wants. What fails, for the
// database may be in use, is done at another start.
func (k *keeper) forget(ctx context.Context) {
	if keep := k.s.Record.Retention; keep > 0 {
		_, _ = k.st.ForgetAttempts(ctx, k.now().Add(-keep))
	}
	_, _ = k.st.Purge(ctx, k.now().Add(-KeepDeleted))
	if k.shots == nil {
		return
	}
	since := time.Time{}
	if keep := k.s.Record.Retention; keep > 0 {
		since = k.now().Add(-keep)
	}
	if trees, err := k.st.SnapshotTrees(ctx, k.project, since); err == nil {
		_ = k.shots.Prune(ctx, trees)
	}
}

// watch looks through the record after attempts, at most once a minute.
func (k *keeper) watch(ctx context.Context) {
	for {
		select {
		case <-k.due:
		case <-ctx.Done():
			select {
			case <-k.due: // the last attempt counts as well
			default:
				return
			}
		}
		k.check(context.WithoutCancel(ctx))
		timer := time.NewTimer(checkGap)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (k *keeper) check(ctx context.Context) {
	if len(k.s.Alerts.Notify) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	now := k.now()
	found, err := k.found(ctx, now)
	if err != nil {
		return // whoever shows the record says why it cannot be read
	}
	for _, n := range found {
		if k.first(ctx, n.key, now) {
			k.alert(n.text)
		}
	}
}

// budgets are the user's limits of money with what is spent of each.
func (k *keeper) budgets(list []ledger.Attempt, now time.Time) []budget {
	y, m, d := now.Local().Date()
	day, month := time.Date(y, m, d, 0, 0, 0, 0, time.Local), time.Date(y, m, 1, 0, 0, 0, 0, time.Local)
	return []budget{
		{"day", ledger.Budget{Limit: k.s.Budget.Day, Spent: ledger.Total(from(list, day)).Cost}, day},
		{"month", ledger.Budget{Limit: k.s.Budget.Month, Spent: ledger.Total(from(list, month)).Cost}, month},
	}
}

type budget struct {
	name string
	ledger.Budget
	since time.Time
}

func (b budget) String() string {
	return fmt.Sprintf("%.0f %% of this %s's budget is spent: %s of %s", b.Share()*100, b.name, theme.Money(b.Spent), theme.Money(b.Limit))
}

// budget is the fuller of the user's budgets. What other belays spent is read
// at most once a minute; what this one spends counts at once.
func (k *keeper) budget(ctx context.Context) (share float64, words string) {
	if k.s.Budget.Day <= 0 && k.s.Budget.Month <= 0 {
		return 0, ""
	}
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.read.IsZero() || now.Sub(k.read) > checkGap {
		list, err := ledger.Read(ctx, k.st, k.budgets(nil, now)[1].since, time.Time{})
		if err != nil {
			return 0, "" // whoever shows the record says why it cannot be read
		}
		for i, b := range k.budgets(list, now) {
			k.spent[i] = b.Spent
		}
		k.read = now
	}
	for i, b := range k.budgets(nil, now) {
		b.Spent = k.spent[i]
		if s := b.Share(); s > share {
			share, words = s, b.String()
		}
	}
	return share, words
}

// news is something to tell, and what it is about.
type news struct{ key, text string }

// found is what the record holds against the user's limits.
func (k *keeper) found(ctx context.Context, now time.Time) ([]news, error) {
	since, lately := now.AddDate(0, 0, -alertDays), now.AddDate(0, 0, -alertDays)
	if month := k.budgets(nil, now)[1].since; k.s.Budget.Month > 0 && month.Before(since) {
		since = month
	}
	list, err := ledger.Read(ctx, k.st, since, time.Time{})
	if err != nil {
		return nil, err
	}
	var found []news
	for _, b := range k.budgets(list, now) {
		if level := b.Level(); level != ledger.SpentSince {
			found = append(found, news{"budget " + b.name + " " + string(level), b.String()})
		}
	}
	for _, a := range ledger.Alerts(from(list, lately), now, time.Local, ledger.Limits{Share: k.s.Alerts.Share}) {
		found = append(found, news{a.Key(), a.String()})
	}
	return found, nil
}

// from is the part of a record that begins at a time.
func from(list []ledger.Attempt, t time.Time) []ledger.Attempt {
	i, _ := slices.BinarySearchFunc(list, t, func(a ledger.Attempt, t time.Time) int { return a.CreatedAt.Compare(t) })
	return list[i:]
}

// first reports whether nobody has been told lately, by whichever belay.
func (k *keeper) first(ctx context.Context, key string, now time.Time) bool {
	if at, ok := k.told[key]; ok && now.Sub(at) < tellGap {
		return false
	}
	k.told[key] = now
	first := true
	err := k.st.UpdateShared(ctx, "alert "+key, func(old []byte) ([]byte, error) {
		var at time.Time
		if at.UnmarshalText(old) == nil && now.Sub(at).Abs() < tellGap {
			first = false
			return nil, nil
		}
		return now.MarshalText()
	})
	return first || err != nil
}

// alert tells a person in the ways they have chosen.
func (k *keeper) alert(text string) {
	ways := k.s.Alerts.Notify
	a := session.Alerted{Text: text, Screen: slices.Contains(ways, "screen"), Desktop: slices.Contains(ways, "desktop")}
	if a.Screen || a.Desktop {
		k.tell(a)
	}
	if command := k.s.Alerts.Command; command != "" && slices.Contains(ways, "command") {
		if err := shout(command, text); err != nil {
			k.tell(session.Alerted{Text: fmt.Sprintf("%s (the command of [alerts] failed: %v)", text, err), Screen: true})
		}
	}
}

// shout runs the user's command.
func shout(command, text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
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
