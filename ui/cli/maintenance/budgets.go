package maintenance

import (
	"context"
	"fmt"
	"time"

	"belay/models/ledger"
	"belay/ui/theme"
)

// budget is a limit of money that the user set for a period, and what is spent
// of it.
type budget struct {
	ledger.Budget
	period string
}

func (b budget) String() string {
	return fmt.Sprintf("%.0f %% of this %s's budget is spent: %s of %s", b.Share()*100, b.period, theme.Money(b.Spent),
		theme.Money(b.Limit))
}

// periods are the beginnings of the day and of the month.
func periods(now time.Time) (day, month time.Time) {
	y, m, d := now.Local().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.Local), time.Date(y, m, 1, 0, 0, 0, 0, time.Local)
}

// budgets are the user's limits with what a record says is spent of each.
func (w *Worker) budgets(list []ledger.Attempt, now time.Time) []budget {
	limits := w.o.Settings.Budget
	day, month := periods(now)
	return []budget{
		{ledger.Budget{Limit: limits.Day, Spent: ledger.Total(attemptsSince(list, day)).Cost}, "day"},
		{ledger.Budget{Limit: limits.Month, Spent: ledger.Total(attemptsSince(list, month)).Cost}, "month"},
	}
}

// BudgetShare is the share spent of the fuller one of the user's budgets, with
// words for people; 0: there is none. What other belays spent is read at most
// once a minute; what this one spends counts at once.
func (w *Worker) BudgetShare(ctx context.Context) (share float64, text string) {
	if w.o.Settings.Budget.Day <= 0 && w.o.Settings.Budget.Month <= 0 {
		return 0, ""
	}
	now := w.o.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spentReadAt.IsZero() || now.Sub(w.spentReadAt) > checkInterval {
		_, month := periods(now)
		list, err := ledger.Read(ctx, w.o.Store, month, time.Time{})
		if err != nil {
			return 0, "" // whoever shows the record says why it cannot be read
		}
		for i, b := range w.budgets(list, now) {
			w.spent[i] = b.Spent
		}
		w.spentReadAt = now
	}
	for i, b := range w.budgets(nil, now) {
		b.Spent = w.spent[i]
		if s := b.Share(); s > share {
			share = s
			text = b.String()
		}
	}
	return share, text
}
