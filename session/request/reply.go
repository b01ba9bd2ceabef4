package request

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

// The policies, from nothing to the most.
const (
	PruneOff      PrunePolicy = "off"
	PruneOutputs  PrunePolicy = "trim"  // older outputs
	PruneAndLower PrunePolicy = "lower" // also one level of effort, and half the reply
)

// reply is what is asked of a model's replies. What the session asks for goes
// before the settings; what the model does not know is left to it.
func (f *Factory) reply(model models.Model, effort string) Reply {
	var reply Reply
	if f.o.Reply != nil {
		reply = f.o.Reply(model.Target)
	}
	if effort != "" {
		reply.Effort = effort
	}
	if !model.Reasoning || !KnowsEffort(model, reply.Effort) {
		reply.Effort = ""
	}
	if model.MaxOutput > 0 {
		reply.MaxOutput = min(reply.MaxOutput, model.MaxOutput)
	}
	return reply
}

// KnowsEffort reports whether a model takes an effort, as far as we know.
func KnowsEffort(m models.Model, effort string) bool {
	return len(m.Efforts) == 0 || slices.Contains(m.Efforts, effort)
}

// What a lowered reply may take, in tokens: half of what it might, within these.
const (
	minLowered = 4_000
	maxLowered = 16_000
)

// efforts from the lowest, as far as their order is known.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// lower asks for a reply that takes less: one level of effort less, and half the
// output. It says in what way; empty: there is nothing to lower.
func lower(m models.Model, req *models.Request) string {
	var lowered []string
	if to := lowerEffort(m, req.Effort); to != "" && to != req.Effort {
		from := req.Effort
		if from == "" {
			from = "its own"
		}
		lowered = append(lowered, fmt.Sprintf("effort %s instead of %s", to, from))
		req.Effort = to
	}
	now := req.MaxOutput
	if now == 0 {
		now = m.MaxOutput
	}
	limit := int64(maxLowered)
	if now > 0 {
		limit = min(max(now/2, minLowered), maxLowered)
	}
	if now == 0 || limit < now {
		lowered = append(lowered, fmt.Sprintf("a reply of %d tokens at most", limit))
		req.MaxOutput = limit
	}
	return strings.Join(lowered, " and ")
}

// lowerEffort is the effort below another one; below a model's own it is low.
func lowerEffort(m models.Model, effort string) string {
	if !m.Reasoning {
		return ""
	}
	known := m.Efforts
	if len(known) == 0 {
		known = []string{"low", "medium", "high"}
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
