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
	a.wait()
	body, err := io.ReadAll(io.LimitReader(in, maxWhole+1))
	a.rest()
	if err != nil {
		return err
	}
	if len(body) > maxWhole {
		return fmt.Errorf("%w: a reply of more than %d bytes", diagnose.ErrMalformed, maxWhole)
	}
	if !json.Valid(body) {
		return fmt.Errorf("%w: a torn document", diagnose.ErrUnended)
	}
	a.events++
	var reply struct {
		Error   json.RawMessage `json:"error"`
		Type    words           `json:"type"`
		Output  json.RawMessage `json:"output"`
		Choices json.RawMessage `json:"choices"`
	}
	err = decode(body, &reply)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", diagnose.ErrMalformed, err)
	case a.origin.API == models.Chat && given(reply.Choices) && !given(reply.Error):
		var c chunk
		if err := decode(body, &c); err != nil {
			return fmt.Errorf("%w: %w", diagnose.ErrMalformed, err)
		}
		return a.wholeChat(&c)
	case a.origin.API == models.Responses && given(reply.Output):
		return a.wholeResponse(body)
	case given(reply.Error) || reply.Type == "error":
		return &told{event: body}
	}
	return &told{body: body}
}
