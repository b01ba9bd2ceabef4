package route

import (
	"fmt"

	"belay/models"
)

// closedLimit is how many connections in a row a server may close without an
// answer before that is its failure: one is lost with any network.
const closedLimit = 2

// contacted reads a failure in the light of what is known of its endpoint. Closed
// counts the connections in a row, this one included, that it has closed without
// an answer. An endpoint that keeps closing them has failed itself; one that has
// never answered and cannot be reached is probably a wrong setting.
func contacted(fault *models.Fault, closed int, answered bool, endpoint string) *models.Fault {
	read := *fault
	switch {
	case fault.Contact == models.ContactClosed && closed >= closedLimit:
		read.Kind, read.Scope = models.KindServer, models.ScopeProvider
		read.Message = fmt.Sprintf("the connection was closed without an answer, %d times in a row", closed)
		read.Hint = "The server accepts connections and answers nothing. Trying again later may help, or another model."
	case fault.Contact == models.ContactFailed && !answered:
		read.Unproven = true
		read.Hint = fmt.Sprintf("%s Nothing has ever answered at %s: `belay config` shows where base_url is set, "+
			"and `belay doctor` finds the cause.", fault.Hint, endpoint)
	default:
		return fault
	}
	return &read
}

// countClosed counts the connections in a row that a target has closed without
// an answer.
func (h *history) countClosed(target models.Target, fault *models.Fault) int {
	if fault.Contact != models.ContactClosed {
		delete(h.closed, target)
		return 0
	}
	h.closed[target]++
	return h.closed[target]
}

// judged is a failure as it is treated and recorded.
func (op *operation) judged(fault *models.Fault) *models.Fault {
	target := op.target.Target
	closed := op.history.countClosed(target, fault)
	answered := op.r.o.RateLimiter.Condition(target).Answered
	return contacted(fault, closed, answered, op.r.o.Endpoint(target.Provider))
}
