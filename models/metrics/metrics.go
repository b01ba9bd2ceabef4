// Package metrics decides what Prometheus is told of belay's requests to models: every
// attempt, how the targets are doing, and what the gateway serves.
package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"belay/models"
)

// maxTargets is how many targets have rows of their own. A client of the gateway may
// name any model of a provider, and names of its choice must not fill the memory.
const maxTargets = 200

// Metrics counts what belay does. It may be used by many goroutines.
type Metrics struct {
	registry *prometheus.Registry
	attempts *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	first    *prometheus.HistogramVec
	tokens   *prometheus.CounterVec
	cost     *prometheus.CounterVec
	switches *prometheus.CounterVec
	requests *prometheus.CounterVec
	held     prometheus.Histogram

	mu      sync.Mutex
	targets map[models.Target]bool
}

// seconds are the buckets of what a reply takes.
var seconds = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// New makes metrics with nothing counted yet. States tells how the targets are doing
// when somebody looks; nil: nobody is told of it.
func New(states func() []models.Condition) *Metrics {
	target := []string{"provider", "model"}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "belay_" + name, Help: help}, labels)
	}
	histogram := func(name, help string) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Name: "belay_" + name, Help: help, Buckets: seconds}
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		targets:  map[models.Target]bool{},
		attempts: counter("attempts_total", "Requests sent to models, by how they ended: ok or a kind of failure.",
			append(target, "tier", "outcome")...),
		latency: prometheus.NewHistogramVec(histogram("attempt_duration_seconds", "From sending to the end."), target),
		first:   prometheus.NewHistogramVec(histogram("first_token_seconds", "From sending to the first piece."), target),
		tokens:  counter("tokens_total", "Tokens as providers counted them.", append(target, "kind")...),
		cost:    counter("cost_dollars_total", "Cost at the known prices.", target...),
		switches: counter("switches_total", "Automatic moves to another target after a failure.",
			append(target, "to")...),
		requests: counter("gateway_requests_total", "Requests to the gateway, by how they ended.",
			"api", "status", "outcome", "code"),
		held: prometheus.NewHistogram(histogram("gateway_held_seconds", "How long clients waited for a reply to begin.")),
	}
	m.registry.MustRegister(
		m.attempts, m.latency, m.first, m.tokens, m.cost, m.switches, m.requests, m.held,
		collectors.NewGoCollector(),
	)
	if states != nil {
		m.registry.MustRegister(&board{states})
	}
	return m
}

// Handler tells everything in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Attempt counts a request that was sent to a model.
func (m *Metrics) Attempt(a models.Attempt) {
	provider, model := m.label(models.Target{Provider: a.Provider, Model: a.Model})
	outcome := "ok"
	if a.Kind != "" {
		outcome = string(a.Kind)
	}
	m.attempts.WithLabelValues(provider, model, string(a.Tier), outcome).Inc()
	m.latency.WithLabelValues(provider, model).Observe(float64(a.LatencyMS) / 1000)
	if a.FirstTokenMS > 0 {
		m.first.WithLabelValues(provider, model).Observe(float64(a.FirstTokenMS) / 1000)
	}
	if a.Kind == "" || a.OutputTokens > 0 || a.Cost > 0 { // others are our own estimate
		for kind, n := range map[string]int64{
			"input": a.InputTokens - a.CachedTokens, "cached": a.CachedTokens,
			"output": a.OutputTokens - a.ReasoningTokens, "reasoning": a.ReasoningTokens,
		} {
			m.tokens.WithLabelValues(provider, model, kind).Add(float64(max(n, 0)))
		}
	}
	m.cost.WithLabelValues(provider, model).Add(max(a.Cost, 0))
	if a.FallbackModel != "" {
		m.switches.WithLabelValues(provider, model, a.FallbackModel).Inc()
	}
}

// Request counts a request to the gateway.
func (m *Metrics) Request(api models.API, status int, outcome, code string, held time.Duration) {
	m.requests.WithLabelValues(string(api), strconv.Itoa(status), outcome, known(code)).Inc()
	m.held.Observe(held.Seconds())
}

// known is an error code as a label: those that providers make up are one.
func known(code string) string {
	switch code {
	case "", "server_is_overloaded", "rate_limit_exceeded", "insufficient_quota", "invalid_api_key", "model_not_found",
		"context_length_exceeded", "unsupported_parameter", "client_left", "gateway_error":
		return code
	}
	return "other"
}

// Gateway shows how busy a gateway is: its requests, and of them those whose reply has
// not begun.
func (m *Metrics) Gateway(load func() (streams, waiting int64)) {
	gauge := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "belay_gateway_" + name, Help: help},
			func() float64 { return float64(value()) })
	}
	m.registry.MustRegister(
		gauge("streams", "Requests to models under way.", func() int64 { n, _ := load(); return n }),
		gauge("waiting", "Of them, those whose reply has not begun.", func() int64 { _, n := load(); return n }),
	)
}

// Tasks shows how many tasks a queue has of each state. Counts returns nil when that is
// not known.
func (m *Metrics) Tasks(counts func() map[string]int) { m.registry.MustRegister(&taskBoard{counts}) }

// label are the labels of a target, as long as there are not too many.
func (m *Metrics) label(t models.Target) (provider, model string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.targets[t] {
		if len(m.targets) >= maxTargets {
			return "other", "other"
		}
		m.targets[t] = true
	}
	return t.Provider, t.Model
}

// board shows how the targets of the tiers are doing.
type board struct{ states func() []models.Condition }

var openDesc = prometheus.NewDesc("belay_target_open", "1 while requests may go to the target, else 0.",
	[]string{"tier", "provider", "model", "state"}, nil)

// Describe names the metric.
func (b *board) Describe(all chan<- *prometheus.Desc) { all <- openDesc }

// Collect looks at the targets.
func (b *board) Collect(all chan<- prometheus.Metric) {
	seen := map[string]bool{}
	for _, c := range b.states() {
		key := string(c.Tier) + " " + c.Target.String()
		if seen[key] {
			continue // a target may stand in a tier twice
		}
		seen[key] = true
		open := 0.0
		if c.State.Open() || c.State == models.Trying {
			open = 1
		}
		all <- prometheus.MustNewConstMetric(openDesc, prometheus.GaugeValue, open,
			string(c.Tier), c.Target.Provider, c.Target.Model, string(c.State))
	}
}
