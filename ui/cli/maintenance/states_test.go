package maintenance

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"belay/config"
	"belay/models"
	"belay/models/alert"
)

// hook is a webhook that takes everything.
type hook struct{ texts []string }

func (h *hook) RoundTrip(q *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(q.Body)
	var sent struct{ Data struct{ Text string } }
	if err == nil {
		err = json.Unmarshal(b, &sent)
	}
	h.texts = append(h.texts, sent.Data.Text)
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, err
}

func TestTheStateOfTheTargetsIsToldToTheWebhookOnce(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.Local)
	w, heard := newWorker(t, &now, func(s *config.Settings) { s.Alerts.Notify = config.Channels{"screen", "webhook"} })
	at := func(tier models.Tier, model string, state models.State, kind models.Kind) State {
		c := models.Condition{Tier: tier, Target: models.Target{Provider: "p", Model: model}, State: state}
		if kind != "" {
			c.Fault, c.Until = &models.Fault{Kind: kind, Status: 401}, now.Add(time.Minute)
		}
		return State{Condition: c}
	}
	states := []State{
		at(models.Heavy, "a", models.Resting, models.KindCapacity), at(models.Heavy, "b", models.Disabled, ""),
		at(models.Medium, "c", models.Resting, models.KindCapacity), at(models.Medium, "d", models.Ready, ""),
	}
	receiver := &hook{}
	w.o.States = func() []State { return states }
	w.o.NewID = func() string { return "id" }
	w.o.Webhook = &alert.Webhook{URL: "http://hook", HTTP: receiver, Now: time.Now}
	w.check(t.Context())
	w.check(t.Context())
	states = []State{at(models.Light, "e", models.Unusable, models.KindAuth), at(models.Light, "f", models.Ready, "")}
	states[1].Outage = now
	w.check(t.Context())
	for range 2 {
		w.Report("batch 7", "the batch failed")
	}
	w.last(t.Context())
	close(w.posts)
	w.post(t.Context())
	want := []string{
		"no model of the heavy tier can be asked before 12:01:00", "p cannot be asked: key refused",
		"p/f is down: all tries of parked work since 12:00 were in vain", "the batch failed",
	}
	if !slices.Equal(receiver.texts, want) {
		t.Errorf("the webhook heard\n%s", strings.Join(receiver.texts, "\n"))
	}
	if got := *heard; !slices.Equal(got, want[3:]) {
		t.Errorf("the screen heard %q; what it shows anyway is for others", got)
	}
}

func TestAnAlertNeverWaits(t *testing.T) {
	now := time.Now()
	w, _ := newWorker(t, &now, func(s *config.Settings) { s.Alerts.Notify = config.Channels{"webhook"} })
	w.o.Webhook, w.o.NewID = &alert.Webhook{}, func() string { return "id" }
	for i := range 3 * maxWaiting { // nobody takes them
		w.Report(string(rune('a'+i)), "again")
		w.alert(finding{text: "again"})
	}
	if len(w.reports) != maxWaiting || len(w.posts) != maxWaiting {
		t.Errorf("%d reports, %d posts wait", len(w.reports), len(w.posts))
	}
}
