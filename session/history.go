package session

import "belay/models"

// History is the conversation that the records hold, as the model is to see
// it: prompts, finished items and the outputs of calls, oldest first. It says
// what happened; making it valid for one target is the work of the one who
// builds a request.
func History(records []Record) []models.Item {
	var items []models.Item
	for _, r := range records {
		switch e := r.Event.(type) {
		case TurnStarted:
			if e.Note != "" {
				items = append(items, models.Say(models.Developer, e.Note))
			}
			item := models.Say(models.User, e.Prompt.Text)
			item.Images = e.Prompt.Images
			items = append(items, item)
		case ItemAdded:
			items = append(items, e.Item)
		case ToolEnded:
			items = append(items, models.Item{Kind: models.Output, CallID: e.CallID, Text: e.Output, Images: e.Images})
		}
	}
	return items
}
