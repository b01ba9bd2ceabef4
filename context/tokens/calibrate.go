package tokens

import (
	"sync"

	"belay/models"
)

const (
	minCalibration = 1000 // tokens; below, what an endpoint adds of its own outweighs the text
	minScale       = 0.5
	maxScale       = 2.0
	steadyReports  = 4 // reports until each counts for no more than a quarter
)

// scales is what the servers count for each token of ours.
type scales struct {
	mu sync.RWMutex
	of map[models.Target]scale
}

type scale struct {
	factor  float64
	reports int
}

// Calibrate learns from a reply how a target counts: ours is what this counter
// said of the whole request, not scaled; reported is the input of the reply's
// usage, cached tokens included. The first report is taken as it is, later ones
// are smoothed; none moves the factor out of 0.5 to 2. Small requests and
// empty reports are ignored.
func (c *Counter) Calibrate(target models.Target, ours, reported int64) {
	if ours < minCalibration || reported <= 0 {
		return
	}
	ratio := min(max(float64(reported)/float64(ours), minScale), maxScale)
	c.family.scales.mu.Lock()
	defer c.family.scales.mu.Unlock()
	s := c.family.scales.of[target]
	s.reports = min(s.reports+1, steadyReports)
	s.factor += (ratio - s.factor) / float64(s.reports)
	if c.family.scales.of == nil {
		c.family.scales.of = map[models.Target]scale{}
	}
	c.family.scales.of[target] = s
}

// Factor is how many tokens the target counts for one of ours: 1 until it was
// measured, between 0.5 and 2 after.
func (c *Counter) Factor(target models.Target) float64 {
	c.family.scales.mu.RLock()
	defer c.family.scales.mu.RUnlock()
	if s, ok := c.family.scales.of[target]; ok {
		return s.factor
	}
	return 1
}

// Measured reports whether the target's usage has scaled its counts.
func (c *Counter) Measured(target models.Target) bool {
	c.family.scales.mu.RLock()
	defer c.family.scales.mu.RUnlock()
	return c.family.scales.of[target].reports > 0
}
