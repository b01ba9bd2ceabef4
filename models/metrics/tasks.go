package metrics

import "github.com/prometheus/client_golang/prometheus"

// taskBoard shows how many tasks a queue has.
type taskBoard struct{ counts func() map[string]int }

var tasksDesc = prometheus.NewDesc("belay_tasks", "Tasks in the queue, by state.", []string{"state"}, nil)

// Describe names the metric.
func (b *taskBoard) Describe(all chan<- *prometheus.Desc) { all <- tasksDesc }

// Collect counts the tasks.
func (b *taskBoard) Collect(all chan<- prometheus.Metric) {
	for state, n := range b.counts() {
		all <- prometheus.MustNewConstMetric(tasksDesc, prometheus.GaugeValue, float64(n), state)
	}
}
