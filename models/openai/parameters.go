package openai

import (
	"encoding/json"
	"fmt"

	"belay/models"
)

// parameters are the further ones of a request, by their name on the wire. One that
// the target's API cannot say is refused here: left out it would change the reply.
func (a *attempt) parameters(req models.Request) (map[string]any, error) {
	fields := map[string]any{}
	for _, p := range req.Parameters {
		field, ok := p.Wire[a.origin.API]
		if !ok {
			return nil, unsendable(p.Name, a.target)
		}
		if field.Name != "" && !a.dialect.omits(field.Name) {
			fields[field.Name] = field.Value
		}
	}
	return fields, nil
}

// unsendable refuses a parameter as an endpoint would.
func unsendable(name string, target models.Target) *apiError {
	event, _ := json.Marshal(map[string]any{ // strings always marshal
		"error": map[string]string{
			"type":    "invalid_request_error",
			"code":    "unsupported_parameter",
			"param":   name,
			"message": fmt.Sprintf("Unsupported parameter: '%s' cannot be passed on to %s.", name, target),
		},
	})
	return &apiError{event: event}
}
