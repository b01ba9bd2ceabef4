package tokens

import (
	"math"
	"strings"
	"sync"

	"belay/models"
)

const (
	leastCalibrating = 1000 // tokens; below, what an endpoint adds of its own outweighs the text
	leastScale       = 0.5
	mostScale        = 2.0
	steady           = 4 // reports until each counts for no more than a quarter
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
	if ours < leastCalibrating || reported <= 0 {
		return
	}
	ratio := min(max(float64(reported)/float64(ours), leastScale), mostScale)
	c.scales.mu.Lock()
	defer c.scales.mu.Unlock()
	s := c.scales.of[target]
	s.reports = min(s.reports+1, steady)
	s.factor += (ratio - s.factor) / float64(s.reports)
	if c.scales.of == nil {
		c.scales.of = map[models.Target]scale{}
	}
	c.scales.of[target] = s
}

// Factor is how many tokens the target counts for one of ours: 1 until it was
// measured, between 0.5 and 2 after.
func (c *Counter) Factor(target models.Target) float64 {
	c.scales.mu.RLock()
	defer c.scales.mu.RUnlock()
	if s, ok := c.scales.of[target]; ok {
		return s.factor
	}
	return 1
}

// Measured reports whether the target's usage has scaled its counts.
func (c *Counter) Measured(target models.Target) bool {
	c.scales.mu.RLock()
	defer c.scales.mu.RUnlock()
	return c.scales.of[target].reports > 0
}

// Scale turns a count of ours into what the target will most likely report.
func (c *Counter) Scale(target models.Target, ours int64) int64 {
	return int64(math.Round(float64(ours) * c.Factor(target)))
}

// families are OpenAI's models on o200k_base, or on o200k_harmony, which
// differs in special tokens only: those that tiktoken's model.py lists.
var families = []string{"gpt-5", "gpt-oss", "gpt-4.5", "gpt-4.1", "gpt-4o", "chatgpt-4o", "o1", "o3", "o4-mini"}

// Exact reports whether a model is of a family that counts text as this package
// does. The counts of all others are marked with ≈. A path before the name is
// passed over (openai/gpt-5), as is the mark of a tuned model (ft:gpt-4o).
func Exact(model string) bool {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	name = strings.TrimPrefix(name, "ft:")
	for _, family := range families {
		if rest, ok := strings.CutPrefix(name, family); ok && (rest == "" || strings.ContainsAny(rest[:1], "-.:@")) {
			return true
		}
	}
	return false
}
