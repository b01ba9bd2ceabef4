package window

import (
	"slices"

	"belay/models"
)

// unknown is told to the model for a call whose outcome nobody recorded.
const unknown = "interrupted: whether this call was carried out is not known. Verify before you repeat it."

// Repair makes a conversation valid for a target, whatever interrupted it: each
// call has exactly one output, right after the reply that made it; an output
// without a call and a call with an id that was used before are dropped;
// reasoning goes only to its maker and only with the item it led to; no id of
// the provider's stands twice. The items given are not changed; where they are valid,
// they are the result.
func Repair(items []models.Item, target models.Target) []models.Item {
	outputs := firstOutputs(items)
	out := repaired{given: items}
	called, ids := map[string]bool{}, map[string]bool{}
	var pending []string // calls of the reply being copied, whose outputs are to follow
	flush := func() {
		for _, callID := range pending {
			if i, ok := outputs[callID]; ok {
				out.keep(i)
			} else {
				out.add(models.Item{Kind: models.Output, CallID: callID, Text: unknown})
			}
		}
		pending = pending[:0]
	}
	for i, it := range items {
		again := it.ID != "" && ids[it.ID]
		switch it.Kind {
		case models.Output:
			flush()
			continue // placed with its call
		case models.Call:
			if it.CallID == "" || called[it.CallID] {
				continue
			}
			called[it.CallID] = true
			pending = append(pending, it.CallID)
		case models.Reasoning:
			if it.Origin.Provider != target.Provider || it.Origin.Model != target.Model || again {
				continue
			}
		case models.Message:
			if it.Role != models.Assistant {
				flush()
			}
			if isEmpty(it) {
				continue
			}
		default:
			continue
		}
		if again {
			it.ID, it.Raw = "", nil // the same words, as if they were ours
			out.add(it)
			continue
		}
		ids[it.ID] = true
		out.keep(i)
	}
	flush()
	return dropOrphanedReasoning(out.list())
}

// repaired is a list that begins like the given one. A long conversation is mostly
// valid, and then it is not copied.
type repaired struct {
	given []models.Item
	same  int           // so many of the given items are in the list as they were
	own   []models.Item // the list from the first difference on; nil: there was none
}

// keep appends a given item.
func (r *repaired) keep(i int) {
	if r.own == nil && i == r.same {
		r.same++
	} else {
		r.add(r.given[i])
	}
}

// add appends another one.
func (r *repaired) add(it models.Item) {
	if r.own == nil {
		r.own = append(make([]models.Item, 0, len(r.given)+1), r.given[:r.same]...)
	}
	r.own = append(r.own, it)
}

func (r *repaired) list() []models.Item {
	if r.own == nil {
		return slices.Clip(r.given[:r.same])
	}
	return r.own
}

// firstOutputs are the places of outputs by the id of their call; of two the first
// counts.
func firstOutputs(items []models.Item) map[string]int {
	outputs := map[string]int{}
	for i, it := range items {
		if _, twice := outputs[it.CallID]; it.Kind == models.Output && !twice {
			outputs[it.CallID] = i
		}
	}
	return outputs
}

func isEmpty(it models.Item) bool {
	return it.Text == "" && len(it.Images)+len(it.Attachments) == 0
}

// dropOrphanedReasoning drops reasoning that no longer stands before what it led to.
func dropOrphanedReasoning(items []models.Item) []models.Item {
	leads, own := false, false
	for i := len(items) - 1; i >= 0; i-- {
		switch it := items[i]; {
		case it.Kind == models.Reasoning && !leads:
			if !own {
				items, own = slices.Clone(items), true
			}
			items = slices.Delete(items, i, i+1)
		case it.Kind != models.Reasoning:
			leads = it.Kind == models.Call || it.Kind == models.Message && it.Role == models.Assistant
		}
	}
	return items
}
