package session

import "belay/models"

// RequestUsage is what a request took, as far as its provider said: one that was
// answered, that failed, or that was stopped.
func RequestUsage(e Event) (usage models.Usage, cost float64) {
	switch e := e.(type) {
	case ReplyEnded:
		return e.Usage, e.Cost
	case CutOff:
		return e.Usage, e.Cost
	case AttemptFailed:
		if e.Fault != nil {
			return e.Fault.Usage, e.Cost
		}
	}
	return usage, cost
}
