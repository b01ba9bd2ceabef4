package openai

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/openai/openai-go/v3/responses"

	"belay/models"
	"belay/models/diagnose"
)

// readWhole reads a reply, or an error, that comes as one JSON document. It is
// taken even where a stream was asked for.
func (a *attempt) readWhole(in io.Reader) error {
	a.startClock()
	body, err := io.ReadAll(io.LimitReader(in, maxReply+1))
	a.stopClock()
	if err != nil {
		return err
	}
	if len(body) > maxReply {
		return fmt.Errorf("%w: a reply of more than %d bytes", diagnose.ErrMalformed, maxReply)
	}
	if !json.Valid(body) {
		return fmt.Errorf("%w: a torn document", diagnose.ErrUnended)
	}
	a.events++
	var reply struct {
		Error   json.RawMessage `json:"error"`
		Type    looseString     `json:"type"`
		Output  json.RawMessage `json:"output"`
		Choices json.RawMessage `json:"choices"`
	}
	err = decode(body, &reply)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", diagnose.ErrMalformed, err)
	case a.origin.API == models.Chat && isGiven(reply.Choices) && !isGiven(reply.Error):
		var c chunk
		if err := decode(body, &c); err != nil {
			return fmt.Errorf("%w: %w", diagnose.ErrMalformed, err)
		}
		return a.takeChatReply(&c)
	case a.origin.API == models.Responses && isGiven(reply.Output):
		return a.takeResponse(body)
	case isGiven(reply.Error) || reply.Type == "error":
		return &apiError{event: body}
	}
	return &apiError{body: body}
}

// takeResponse takes a reply in one piece.
func (a *attempt) takeResponse(body []byte) error {
	res, err := readResponse(body)
	if err != nil {
		return err
	}
	a.served = res.Model
	a.responseID = res.ID
	reader := &reply{attempt: a, openItems: map[string]*itemBuilder{}}
	switch res.Status {
	case responses.ResponseStatusFailed, responses.ResponseStatusCancelled:
		event, err := json.Marshal(map[string]json.RawMessage{"response": body})
		if err != nil {
			return fmt.Errorf("%w: %w", diagnose.ErrMalformed, err)
		}
		return &apiError{event: event}
	case responses.ResponseStatusIncomplete:
		if err := reader.outputs(res); err != nil {
			return err
		}
		if reader.items > 0 && len(reader.incompleteItems) == 0 {
			a.phase = models.AfterLastItem
		}
		return &apiError{incomplete: incompleteReason(res)}
	}
	return reader.responseCompleted(res)
}
