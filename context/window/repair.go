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
// the provider's stands twice. The result is a new slice.
func Repair(items []models.Item, target models.Target) []models.Item {
	outputs := firstOutputs(items)
	out := make([]models.Item, 0, len(items))
	called, ids := map[string]bool{}, map[string]bool{}
	var pending []models.Item // outputs of the reply being copied
	flush := func() {
		out = append(out, pending...)
		pending = nil
	}
	for _, it := range items {
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
			pending = append(pending, outputOf(it.CallID, outputs))
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
		}
		if again {
			it.ID, it.Raw = "", nil // the same words, as if they were ours
		}
		ids[it.ID] = true
		out = append(out, it)
	}
	flush()
	return dropOrphanedReasoning(out)
}

// firstOutputs are the outputs by the id of their call; of two the first counts.
func firstOutputs(items []models.Item) map[string]models.Item {
	outputs := map[string]models.Item{}
	for _, it := range items {
		if _, twice := outputs[it.CallID]; it.Kind == models.Output && !twice {
			outputs[it.CallID] = it
		}
	}
	return outputs
}

// outputOf is the output of a call, or one that says that nobody recorded it.
func outputOf(callID string, outputs map[string]models.Item) models.Item {
	if output, ok := outputs[callID]; ok {
		return output
	}
	return models.Item{Kind: models.Output, CallID: callID, Text: unknown}
}

func isEmpty(it models.Item) bool {
	return it.Text == "" && len(it.Images)+len(it.Attachments) == 0
}

// dropOrphanedReasoning drops reasoning that no longer stands before what it led to.
func dropOrphanedReasoning(items []models.Item) []models.Item {
	leads := false
	for i := len(items) - 1; i >= 0; i-- {
		switch it := items[i]; {
		case it.Kind == models.Reasoning && !leads:
			items = slices.Delete(items, i, i+1)
		case it.Kind != models.Reasoning:
			leads = it.Kind == models.Call || it.Kind == models.Message && it.Role == models.Assistant
		}
	}
	return items
}
