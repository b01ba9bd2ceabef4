package openai

import (
	"encoding/json"
	"fmt"
	"io"

	"belay/models"
	"belay/models/diagnose"
)

// readWhole reads a reply, or an error, that comes as one JSON document. It is
// taken even where a stream was asked for.
func (a *attempt) readWhole(in io.Reader) error {
	a.startClock()
	body, err := readDocument(in)
	a.stopClock()
	if err != nil {
		return err
	}
	if !json.Valid(body) {
		return fmt.Errorf("%w: a torn document", diagnose.ErrUnended)
	}
	a.tally[events]++
	var top struct {
		Error   json.RawMessage `json:"error"`
		Type    looseString     `json:"type"`
		Output  json.RawMessage `json:"output"`
		Choices json.RawMessage `json:"choices"`
	}
	err = decode(body, &top)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", diagnose.ErrMalformed, err)
	case a.origin.API == models.Chat && isGiven(top.Choices) && !reportsError(top.Error):
		var c chunk
		if err := decode(body, &c); err != nil {
			return fmt.Errorf("%w: %w", diagnose.ErrMalformed, err)
		}
		return a.takeChatReply(&c)
	case a.origin.API == models.Responses && isGiven(top.Output):
		return (&reply{attempt: a}).takeWhole(body)
	case reportsError(top.Error) || top.Type == "error":
		return &apiError{event: body}
	}
	return &apiError{body: body}
}

// takeWhole takes a reply in one piece.
func (r *reply) takeWhole(body []byte) error {
	var res response
	if err := decode(body, &res); err != nil {
		return fmt.Errorf("%w: response: %w", diagnose.ErrMalformed, err)
	}
	switch res.Status {
	case "queued", "in_progress":
		return fmt.Errorf("%w: it is %s", diagnose.ErrUnended, res.Status)
	}
	if err := r.takeHead(&res); err != nil {
		return err
	}
	return r.responseEnded(&res, body)
}
