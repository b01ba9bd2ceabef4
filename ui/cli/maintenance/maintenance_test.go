package maintenance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"belay/config"
	"belay/models"
	"belay/models/ledger"
	"belay/session"
	"belay/session/store"
)

func newWorker(t *testing.T, now *time.Time, change func(*config.Settings)) (*Worker, *[]string) {
	t.Helper()
	clock := func() time.Time { return *now }
	st, err := store.Open(t.Context(), t.TempDir(), store.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	settings := config.Defaults()
	if change != nil {
		change(&settings)
	}
	var heard []string
	w := New(Options{Store: st, Settings: settings, Program: "test", Now: clock})
	w.alertTo = func(a session.Alerted) { heard = append(heard, a.Text) }
	return w, &heard
}

func record(t *testing.T, w *Worker, at time.Time, kind models.Kind, cost float64) {
	t.Helper()
	err := w.o.Store.AppendAttempts(t.Context(),
		ledger.Attempt{Provider: "p", Model: "m", Kind: kind, Cost: cost, CreatedAt: at})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPurgeForgetsWhatIsTooOld(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	w, _ := newWorker(t, &now, nil)
	record(t, w, now.AddDate(0, 0, -91), "", 0)
	record(t, w, now.AddDate(0, 0, -89), "", 0)
	var ids []session.ID
	for _, days := range []int{31, 29} {
		s, err := w.o.Store.Create(t.Context(), session.Created{Project: "/p", Tier: models.Heavy, Mode: session.Ask})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.o.Store.Append(t.Context(), s.ID, 0,
			session.ArchiveChanged{Deleted: now.AddDate(0, 0, -days)}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
	}
	w.purge(context.Background())
	if list, err := ledger.Read(t.Context(), w.o.Store, time.Time{}, time.Time{}); err != nil || len(list) != 1 {
		t.Errorf("%d attempts are left, %v; want 1", len(list), err)
	}
	if _, err := w.o.Store.Load(t.Context(), ids[0]); err == nil {
		t.Error("a session deleted 31 days ago is still there")
	}
	if _, err := w.o.Store.Load(t.Context(), ids[1]); err != nil {
		t.Errorf("a session deleted 29 days ago: %v", err)
	}
	w.o.Settings.Record.Retention = 0
	now = now.AddDate(10, 0, 0)
	w.purge(context.Background())
	if list, _ := ledger.Read(t.Context(), w.o.Store, time.Time{}, time.Time{}); len(list) != 1 {
		t.Error("without a retention something was forgotten")
	}
}

func TestEachAlertIsSentOnceAnHour(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.Local)
	w, heard := newWorker(t, &now, func(s *config.Settings) { s.Budget = config.CostBudget{Day: 10, Month: 100} })
	for i := range 20 {
		kind := models.Kind("")
		if i < 5 {
			kind = models.KindCapacity
		}
		record(t, w, now.Add(-time.Minute), kind, 0.41)
	}
	record(t, w, now.AddDate(0, 0, -27), "", 70)
	w.check(t.Context())
	slices.Sort(*heard)
	want := []string{
		"82 % of this day's budget is spent: $8.20 of $10.00",
		"p/m had no room for 25 % of the requests of the last hour",
	}
	if got := *heard; !slices.Equal(got, want) {
		t.Fatalf("heard %q, want %q", got, want)
	}
	w.check(t.Context())
	clear(w.alerted) // another belay
	w.check(t.Context())
	if len(*heard) != 2 {
		t.Errorf("heard again: %q", *heard)
	}
	record(t, w, now, "", 2)
	w.check(t.Context())
	if got := strings.Join((*heard)[2:], "; "); !strings.Contains(got, "102 % of this day's budget") ||
		!strings.Contains(got, "80 % of this month's budget") {
		t.Errorf("heard %q, want the next levels", got)
	}
	now = now.Add(61 * time.Minute)
	before := len(*heard)
	w.check(t.Context())
	if len(*heard) == before {
		t.Error("after an hour nothing is told again")
	}
}

func TestNothingIsSentWhenNobodyWantsToHear(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.Local)
	w, heard := newWorker(t, &now, func(s *config.Settings) { s.Budget.Day, s.Alerts.Notify = 1, nil })
	record(t, w, now, "", 5)
	w.check(t.Context())
	if len(*heard) != 0 {
		t.Errorf("heard %q", *heard)
	}
}

func TestWhatThisBelaySpendsCountsAtOnce(t *testing.T) {
	now := time.Now()
	w, _ := newWorker(t, &now, func(s *config.Settings) { s.Budget.Day = 1 })
	if share, _ := w.BudgetShare(t.Context()); share != 0 {
		t.Errorf("share = %v of nothing", share)
	}
	w.Record(t.Context(), models.Attempt{Provider: "p", Model: "m", Cost: 0.97, CreatedAt: w.o.Now()})
	if share, words := w.BudgetShare(t.Context()); share < 0.96 || share > 0.98 ||
		!strings.Contains(words, "97 % of this day's budget") {
		t.Errorf("budget = %v, %q", share, words)
	}
}
