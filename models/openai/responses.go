package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"belay/models"
	"belay/models/diagnose"
)

// event is what is read of any event of the Responses API. The SDK's union of all
// events takes five times as long and fourteen times the memory for a delta.
type event struct {
	Type         looseString     `json:"type"`
	Number       int64           `json:"sequence_number"` // below 0: not stated
	Delta        textPiece       `json:"delta"`
	ItemID       looseString     `json:"item_id"`
	OutputIndex  *int            `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Arguments    argumentsPiece  `json:"arguments"`
	Item         json.RawMessage `json:"item"`
	Response     json.RawMessage `json:"response"`
	Error        json.RawMessage `json:"error"`
	Message      json.RawMessage `json:"message"`
	Object       looseString     `json:"object"`
}

// reportsFailure says whether the event is an error, whatever its form.
func (e *event) reportsFailure() bool {
	return e.Type == "error" || reportsError(e.Error) || e.Type == "" && isGiven(e.Message)
}

// response is what is read of a reply as a whole.
type response struct {
	ID         looseString       `json:"id"`
	Model      looseString       `json:"model"`
	Status     looseString       `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Usage      *tokenUsage       `json:"usage"`
	Incomplete struct {
		Reason looseString `json:"reason"`
	} `json:"incomplete_details"`
}

// reply is a reply being read.
type reply struct {
	*attempt
	open          []*itemBuilder // items that are still being written, by their place
	waiting       []outputItem   // finished ones that come after one of them
	incomplete    []outputItem   // marked incomplete, in a reply that may yet complete
	completed     bool           // it did
	finishedItems int            // items finished by an event of their own
}

func (a *attempt) readResponses(in *bufio.Reader) error {
	reader := &reply{attempt: a}
	err := reader.readEvents(a.stream(in))
	if err != nil && !errors.Is(err, errLeft) {
		phase := a.phase
		if failed := reader.release(true); failed != nil { // what was finished is kept
			return failed
		}
		a.phase = phase
	}
	return err
}

func (r *reply) readEvents(events *stream) error {
	for {
		var ev event
		data, err := events.nextEvent(&ev)
		if errors.Is(err, diagnose.ErrMalformed) || errors.Is(err, diagnose.ErrTooLarge) {
			return err // it would come once more
		}
		if err != nil {
			if events, err = r.resume(err); err != nil {
				return err
			}
			continue
		}
		if isDone(data) {
			if r.finishedItems > 0 && len(r.open) == 0 {
				return r.responseCompleted(&response{}) // some endpoints say no more
			}
			continue
		}
		over, err := r.handleNumbered(&ev, data, events.name)
		if over || err != nil {
			return err
		}
	}
}

// nextEvent reads the next event of the Responses API.
func (s *stream) nextEvent(ev *event) ([]byte, error) {
	data, err := s.next()
	if errors.Is(err, io.EOF) {
		return nil, diagnose.ErrUnended
	}
	if err != nil || isDone(data) {
		return data, err
	}
	*ev = event{Number: -1}
	if err := decode(data, ev); err != nil {
		return nil, s.malformed(err)
	}
	return data, nil
}

// handleNumbered takes the next event and says whether the reply is over.
func (r *reply) handleNumbered(ev *event, data []byte, name string) (over bool, err error) {
	if ev.Number >= 0 {
		if r.resumes > 0 && ev.Number <= r.lastEvent {
			return false, nil // it came before the break
		}
		r.lastEvent = ev.Number
	}
	ev.Type = cmp.Or(ev.Type, looseString(name))
	if ev.reportsFailure() {
		r.ended = true
		return true, &apiError{event: bytes.Clone(data)}
	}
	return r.handleEvent(ev, data)
}

// handleEvent takes one event and says whether the reply is over.
func (r *reply) handleEvent(ev *event, data []byte) (over bool, err error) {
	var res response
	if isGiven(ev.Response) {
		if err := decode(ev.Response, &res); err != nil {
			return false, fmt.Errorf("%w: response: %w", diagnose.ErrMalformed, err)
		}
		if err := r.takeHead(&res); err != nil {
			return false, err
		}
	}
	switch ev.Type {
	case "response.created", "response.in_progress", "response.queued":
		return false, r.emitOpened()
	case "response.output_item.added":
		return false, r.itemAdded(ev)
	case "response.output_item.done":
		return false, r.itemFinished(ev)
	case "response.output_text.delta", "response.refusal.delta":
		return false, r.emitDelta(ev, models.InText)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return false, r.emitDelta(ev, models.InReasoning)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		return false, r.emitDelta(ev, models.InArguments)
	case "response.reasoning_summary_part.added":
		if ev.SummaryIndex > 0 {
			ev.Delta = "\n\n"
			return false, r.emitDelta(ev, models.InReasoning)
		}
	case "response.function_call_arguments.done":
		return false, r.argumentsDone(ev)
	case "":
		if ev.Object == "response" { // a reply in one piece, though a stream was asked for
			return true, r.takeWhole(data)
		}
	case "response.completed", "response.done":
		r.ended = true
		if !isGiven(ev.Response) {
			return true, fmt.Errorf("%w: the last event has no response", diagnose.ErrMalformed)
		}
		return true, r.responseEnded(&res, data)
	case "response.incomplete":
		r.ended = true
		res.Status = "incomplete"
		return true, r.responseEnded(&res, data)
	case "response.failed", "response.cancelled":
		r.ended = true
		res.Status = "failed"
		return true, r.responseEnded(&res, data)
	}
	return false, nil // unknown events are for others
}

// takeHead takes what a reply states of itself, at any time.
func (r *reply) takeHead(res *response) error {
	if err := namesWithin(res.Model, res.ID); err != nil {
		return err
	}
	r.takeServed(string(res.Model))
	r.responseID = cmp.Or(string(res.ID), r.responseID)
	if res.Usage != nil && *res.Usage != (tokenUsage{}) {
		r.usage = res.Usage.usage()
	}
	return nil
}

// responseEnded takes the end of a reply, as an event or a whole reply states it.
func (r *reply) responseEnded(res *response, data []byte) error {
	switch end, _ := endingOf(string(res.Status)); end {
	case endsAtLimit, endsFiltered:
		return r.responseIncomplete(res)
	case endsFailed:
		if err := r.release(true); err != nil {
			return err
		}
		r.noteEnd()
		return responseFailure(data)
	}
	return r.responseCompleted(res)
}

// responseFailure is the error of a failed reply: an event, or the reply itself.
func responseFailure(data []byte) error {
	var top struct {
		Response json.RawMessage `json:"response"`
		Type     looseString     `json:"type"`
	}
	if err := decode(data, &top); err != nil || isGiven(top.Response) || top.Type != "" {
		return &apiError{event: bytes.Clone(data)}
	}
	event, err := json.Marshal(map[string]json.RawMessage{"response": data})
	if err != nil {
		return fmt.Errorf("%w: %w", diagnose.ErrMalformed, err)
	}
	return &apiError{event: event}
}

// noteEnd says that the reply broke after its last item, if it did.
func (r *reply) noteEnd() {
	if len(r.open) == 0 && len(r.incomplete) == 0 && r.items > 0 {
		r.phase = models.AfterLastItem
	}
}

func (r *reply) responseCompleted(res *response) error {
	r.completed = true
	if err := r.release(true); err != nil {
		return err
	}
	for i := range r.incomplete {
		if r.incomplete[i].isCall() { // the endpoint says itself that it is not whole
			continue
		}
		if err := r.emitDone(&r.incomplete[i]); err != nil {
			return err
		}
	}
	if r.finishedItems == 0 { // some endpoints state the items only here
		if err := r.outputs(res); err != nil {
			return err
		}
	}
	if err := r.endOpen(); err != nil {
		return err
	}
	r.phase = models.AfterLastItem
	return r.emitFinished()
}

// responseIncomplete hands over what was finished: the words so far and the calls
// that are whole.
func (r *reply) responseIncomplete(res *response) error {
	if err := r.release(true); err != nil {
		return err
	}
	if r.finishedItems == 0 {
		if err := r.outputs(res); err != nil {
			return err
		}
	}
	r.noteEnd()
	phase := r.phase
	for i := range r.incomplete {
		it := &r.incomplete[i]
		if it.isCall() {
			r.torn = append(r.torn, string(it.Name))
		} else if it.Type == "message" {
			if err := r.emitDone(it); err != nil {
				return err
			}
		}
	}
	if err := r.endOpen(); err != nil {
		return err
	}
	r.phase = phase
	reason := cmp.Or(string(res.Incomplete.Reason), endsAtLimit.incomplete())
	if end, _ := endingOf(reason); end == endsAtLimit || end == endsFiltered {
		reason = end.incomplete()
	}
	return &apiError{incomplete: reason}
}

// outputs takes the items that a whole reply states.
func (r *reply) outputs(res *response) error {
	if len(res.Output) == 0 {
		return nil
	}
	shown := map[looseString]bool{}
	for _, item := range r.open {
		shown[item.kind] = shown[item.kind] || item.shown
	}
	stated := false
	for _, raw := range res.Output {
		it := outputItem{Raw: raw}
		if err := decode(raw, &it); err != nil {
			return fmt.Errorf("%w: output item: %w", diagnose.ErrMalformed, err)
		}
		if err := r.checkItem(&it); err != nil {
			return err
		}
		it.shown = shown[it.Type] || shown[""]
		stated = stated || it.isKnown()
		if err := r.handleItem(&it); err != nil {
			return err
		}
	}
	if stated {
		r.open = nil
	}
	return nil
}

// endOpen makes items of what was written and never finished by an event of its own.
func (r *reply) endOpen() error {
	open := r.open
	r.open = nil
	slices.SortStableFunc(open, func(a, b *itemBuilder) int { return a.index - b.index })
	for _, item := range open {
		if err := r.endItem(item); err != nil {
			return err
		}
	}
	return nil
}
