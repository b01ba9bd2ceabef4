package metrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"belay/models"
)

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func filled() *Metrics {
	target := models.Target{Provider: "p", Model: "sol"}
	m := New(func() []models.Condition {
		return []models.Condition{
			{Tier: models.Heavy, Target: target, State: models.Resting},
			{Tier: models.Light, Target: target, State: models.Ready},
			{Tier: models.Light, Target: target, State: models.Ready},
		}
	})
	m.Attempt(models.Attempt{
		Provider: "p", Model: "sol", Tier: models.Heavy, LatencyMS: 2000, FirstTokenMS: 300,
		InputTokens: 100, CachedTokens: 40, OutputTokens: 10, ReasoningTokens: 4, Cost: 0.5,
	})
	m.Attempt(models.Attempt{
		Provider: "p", Model: "sol", Tier: models.Heavy, Kind: models.KindCapacity, InputTokens: 100, FallbackModel: "p/terra",
	})
	m.Request(models.Chat, 200, "answered", "", time.Second)
	m.Request(models.Responses, 503, "refused", "a code that a provider made up", time.Minute)
	m.Gateway(func() (streams, waiting int64) { return 7, 3 })
	m.Tasks(func() map[string]int { return map[string]int{"waiting": 3, "failed": 0} })
	return m
}

func TestPrometheusIsToldWhatHappened(t *testing.T) {
	got := scrape(t, filled())
	for _, want := range []string{
		`belay_attempts_total{model="sol",outcome="ok",provider="p",tier="heavy"} 1`,
		`belay_attempts_total{model="sol",outcome="capacity",provider="p",tier="heavy"} 1`,
		`belay_attempt_duration_seconds_sum{model="sol",provider="p"} 2`,
		`belay_tokens_total{kind="input",model="sol",provider="p"} 60`,
		`belay_tokens_total{kind="reasoning",model="sol",provider="p"} 4`,
		`belay_cost_dollars_total{model="sol",provider="p"} 0.5`,
		`belay_switches_total{model="sol",provider="p",to="p/terra"} 1`,
		`belay_gateway_requests_total{api="responses",code="other",outcome="refused",status="503"} 1`,
		`belay_tasks{state="waiting"} 3`, `belay_tasks{state="failed"} 0`,
		`belay_gateway_held_seconds_count 2`, `belay_gateway_streams 7`, `belay_gateway_waiting 3`,
		`belay_target_open{model="sol",provider="p",state="resting",tier="heavy"} 0`,
		`belay_target_open{model="sol",provider="p",state="has room",tier="light"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestNamesOfClientsDoNotFillTheMemory(t *testing.T) {
	m := New(nil)
	for i := range 2 * maxTargets {
		m.Attempt(models.Attempt{Provider: "p", Model: fmt.Sprint(i)})
	}
	got := scrape(t, m)
	if n := strings.Count(got, "\nbelay_attempts_total{"); n != maxTargets+1 {
		t.Errorf("%d rows, want %d", n, maxTargets+1)
	}
}

// TestTheBoardShowsWhatThereIs holds every metric that the board asks for against those
// that are told.
func TestTheBoardShowsWhatThereIs(t *testing.T) {
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(Board(), &board); err != nil || len(board.Panels) < 5 {
		t.Fatalf("%d panels, %v", len(board.Panels), err)
	}
	told := scrape(t, filled())
	name := regexp.MustCompile(`belay_[a-z_]+`)
	shown := map[string]bool{}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			for _, n := range name.FindAllString(target.Expr, -1) {
				shown[strings.TrimSuffix(n, "_bucket")] = true
				if !strings.Contains(told, "\n"+n) {
					t.Errorf("%s: nobody tells %s", p.Title, n)
				}
			}
		}
	}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (belay_[a-z_]+)`).FindAllStringSubmatch(told, -1) {
		if !shown[found[1]] {
			t.Errorf("the board does not show %s", found[1])
		}
	}
}
