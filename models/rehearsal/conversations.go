package rehearsal

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// maxConversations is how many replies are kept; the oldest is forgotten first.
const maxConversations = 1000

// conversations are the replies that the endpoint keeps, each with all that came
// before it, so that a request can go on from one. The server's mutex guards it.
type conversations struct {
	byID  map[string][]json.RawMessage
	order []string
}

// keep stores the conversation that a reply ends.
func (s *Server) keep(req *request, responseID string, output []any) {
	if req.api != "responses" || !req.store {
		return
	}
	items := append([]json.RawMessage(nil), req.input...)
	for _, item := range output {
		b, _ := json.Marshal(item) // made of texts, numbers and checked arguments
		items = append(items, b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := &s.conversations
	if kept.byID == nil {
		kept.byID = map[string][]json.RawMessage{}
	}
	kept.byID[responseID] = items
	if kept.order = append(kept.order, responseID); len(kept.order) > maxConversations {
		delete(kept.byID, kept.order[0])
		kept.order = kept.order[1:]
	}
}

// complete gives a request's input with what it goes on from, and with the items
// that it only names.
func (s *Server) complete(previous string, input json.RawMessage) ([]json.RawMessage, *refusal) {
	var items []json.RawMessage
	var text string
	switch {
	case len(input) == 0:
		return nil, invalid("input", "Missing required parameter: 'input'.")
	case json.Unmarshal(input, &text) == nil:
		b, _ := json.Marshal(object{"role": "user", "content": text}) // strings always marshal
		items = []json.RawMessage{b}
	case json.Unmarshal(input, &items) != nil:
		return nil, invalid("input", "Invalid type for 'input': expected one of an array of input items or a string.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, ok := s.conversations.byID[previous]
	if previous != "" && !ok {
		r := invalid("previous_response_id", "Previous response with id '%s' not found.", previous)
		r.code = "previous_response_not_found"
		return nil, r
	}
	all := append([]json.RawMessage(nil), before...)
	for _, raw := range items {
		var it inputItem
		if json.Unmarshal(raw, &it) == nil && (it.Type == "item_reference" || it.Type == "" && it.Role == "" && it.ID != "") {
			if raw = s.conversations.item(it.ID); raw == nil {
				return nil, &refusal{
					status: http.StatusNotFound, kind: invalidRequest, param: "input",
					message: fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. "+
						"Try again with `store` set to true, or remove this item from your input.", it.ID),
				}
			}
		}
		all = append(all, raw)
	}
	return all, nil
}

// item finds a kept item by its id; nil: there is none.
func (c *conversations) item(id string) json.RawMessage {
	for i := len(c.order) - 1; i >= 0; i-- {
		for _, raw := range c.byID[c.order[i]] {
			var it inputItem
			if json.Unmarshal(raw, &it) == nil && it.ID == id {
				return raw
			}
		}
	}
	return nil
}
