package engine

import (
	"fmt"
	"slices"
	"strings"

	"belay/models"
)

// Reply is what is asked of the replies of a target.
type Reply struct {
	Effort    string // of reasoning; empty: the provider's own
	MaxOutput int64  // tokens; 0: the provider's own
}

// PrunePolicy is what a request may lose when there is no room for it.
type PrunePolicy string

// From nothing to the most.
const (
	PruneOff      PrunePolicy = "off"
	PruneOutputs  PrunePolicy = "trim"  // older outputs
	PruneAndLower PrunePolicy = "lower" // also a step of effort, and half the reply
)

// reply is what is asked of a model's replies. A session's own word goes before
// the settings; what the model does not know is left to it.
func (e *Engine) reply(m models.Model, effort string) Reply {
	var r Reply
	if e.o.Reply != nil {
		r = e.o.Reply(m.Target)
	}
	if effort != "" {
		r.Effort = effort
	}
	if !m.Reasoning || !knows(m, r.Effort) {
		r.Effort = ""
	}
	if m.MaxOutput > 0 {
		r.MaxOutput = min(r.MaxOutput, m.MaxOutput)
	}
	return r
}

// knows reports whether a model takes an effort, as far as we know.
func knows(m models.Model, effort string) bool {
	return len(m.Efforts) == 0 || slices.Contains(m.Efforts, effort)
}

// What a lowered reply may take, in tokens: half of what it might, within these.
const (
	leastLowered = 4_000
	mostLowered  = 16_000
)

// efforts from the least, as far as their order is known.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// lower asks for a reply that takes less: a step of effort, and half the output.
// It says in what way; empty: there is nothing to lower.
func lower(m models.Model, req *models.Request) string {
	var less []string
	if to := below(m, req.Effort); to != "" && to != req.Effort {
		from := req.Effort
		if from == "" {
			from = "its own"
		}
		less = append(less, fmt.Sprintf("effort %s instead of %s", to, from))
		req.Effort = to
	}
	now := req.MaxOutput
	if now == 0 {
		now = m.MaxOutput
	}
	most := int64(mostLowered)
	if now > 0 {
		most = min(max(now/2, leastLowered), mostLowered)
	}
	if now == 0 || most < now {
		less = append(less, fmt.Sprintf("a reply of %d tokens at most", most))
		req.MaxOutput = most
	}
	return strings.Join(less, " and ")
}

// below is the effort under another one; of a model's own, low.
func below(m models.Model, effort string) string {
	known := m.Efforts
	if len(known) == 0 {
		known = []string{"low", "medium", "high"}
	}
	if !m.Reasoning {
		return ""
	}
	at := slices.Index(efforts, effort)
	if effort == "" {
		at = slices.Index(efforts, "medium")
	}
	for i := at - 1; i >= 0; i-- {
		if efforts[i] != "none" && slices.Contains(known, efforts[i]) {
			return efforts[i]
		}
	}
	return effort
}
