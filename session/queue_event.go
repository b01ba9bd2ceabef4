package session

// PromptQueued puts a message behind the running turn.
type PromptQueued struct {
	Prompt Prompt `json:"prompt"`
}

// PromptUnqueued takes a queued message back.
type PromptUnqueued struct {
	ID string `json:"id"`
}

// PromptSteered says that a queued message is not to wait for the end of the turn: it
// goes with the next request.
type PromptSteered struct {
	ID string `json:"id"`
}

// PromptTaken adds a queued message to the running turn, between two requests and
// while no call is open. It leaves the queue. Note is added by belay for the model.
type PromptTaken struct {
	Prompt Prompt `json:"prompt"`
	Note   string `json:"note,omitempty"`
}

func (PromptQueued) event()   {}
func (PromptUnqueued) event() {}
func (PromptSteered) event()  {}
func (PromptTaken) event()    {}
