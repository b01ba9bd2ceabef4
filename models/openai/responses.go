package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"belay/models"
	"belay/models/diagnose"
)

// event is what is read of any event of the Responses API. The SDK's union of all
// events takes five times as long and fourteen times the memory for a delta, so
// it is used for the last event only; see readResponse.
type event struct {
	Type         looseString     `json:"type"`
	Number       int64           `json:"sequence_number"` // below 0: not stated
	Delta        looseString     `json:"delta"`
	ItemID       looseString     `json:"item_id"`
	OutputIndex  *int            `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Arguments    looseString     `json:"arguments"`
	Item         json.RawMessage `json:"item"`
	Response     json.RawMessage `json:"response"`
	Error        json.RawMessage `json:"error"`
}

// readResponse reads the reply that a terminal event states.
func readResponse(raw []byte) (*responses.Response, error) {
	if !isGiven(raw) {
		return nil, fmt.Errorf("%w: the last event has no response", diagnose.ErrMalformed)
	}
	var res responses.Response
	if err := json.Unmarshal(raw, &res); err != nil {
		return nil, fmt.Errorf("%w: response: %w", diagnose.ErrMalformed, err)
	}
	return &res, nil
}

func usageOf(res *responses.Response) models.Usage {
	return models.Usage{
		Input:     res.Usage.InputTokens,
		Cached:    res.Usage.InputTokensDetails.CachedTokens,
		Output:    res.Usage.OutputTokens,
		Reasoning: res.Usage.OutputTokensDetails.ReasoningTokens,
	}
}

// outputItem is what is read of an item in a reply.
type outputItem struct {
	Type      looseString `json:"type"`
	ID        looseString `json:"id"`
	Status    looseString `json:"status"`
	CallID    looseString `json:"call_id"`
	Name      looseString `json:"name"`
	Arguments looseString `json:"arguments"`
	Content   []struct {
		Text    looseString `json:"text"`
		Refusal looseString `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text looseString `json:"text"`
	} `json:"summary"`
}

// itemBuilder is an item that is still being written.
type itemBuilder struct {
	kind      looseString
	callID    string
	name      string
	arguments string // as stated by the event that ends them
	shown     bool   // some of it has been handed over as deltas
}

// reply is a reply being read. Events of one item are joined by its place,
// because some endpoints change an item's id from event to event.
type reply struct {
	*attempt
	openItems       map[string]*itemBuilder
	incompleteItems []models.Item // marked incomplete, in a reply that may yet complete
	finishedItems   int           // items finished by an event of their own
}

func (a *attempt) readResponses(in io.Reader) error {
	reader := &reply{attempt: a, openItems: map[string]*itemBuilder{}}
	events := a.stream(in)
	for {
		data, err := events.next()
		if errors.Is(err, io.EOF) {
			err = diagnose.ErrUnended
		}
		ev := event{Number: -1}
		if err == nil {
			if err = decode(data, &ev); err != nil {
				if strings.HasPrefix(string(data), "[DONE]") {
					continue
				}
				if err = events.malformed(err); !events.tail.atEnd {
					return err
				}
			}
		}
		if err != nil {
			if events, err = reader.resume(err); err != nil {
				return err
			}
			continue
		}
		over, err := reader.handleNumbered(&ev, data, events.name)
		if over || err != nil {
			return err
		}
	}
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
	if ev.Type == "error" || isGiven(ev.Error) {
		r.ended = true
		return true, &apiError{event: data}
	}
	switch ev.Type {
	case "response.completed", "response.incomplete", "response.failed":
		r.ended = true
	}
	return r.handleEvent(ev, data)
}

// handleEvent takes one event and says whether the reply is over.
func (r *reply) handleEvent(ev *event, data []byte) (bool, error) {
	if isGiven(ev.Response) {
		var head struct {
			ID    looseString `json:"id"`
			Model looseString `json:"model"`
		}
		if err := decode(ev.Response, &head); err != nil {
			return false, fmt.Errorf("%w: response: %w", diagnose.ErrMalformed, err)
		}
		r.served = cmp.Or(string(head.Model), r.served)
		r.responseID = cmp.Or(string(head.ID), r.responseID)
	}
	switch ev.Type {
	case "response.created", "response.in_progress", "response.queued":
		return false, r.attempt.emitOpened()
	case "response.output_item.added":
		return false, r.itemAdded(ev)
	case "response.output_item.done":
		return false, r.itemFinished(ev)
	case "response.output_text.delta", "response.refusal.delta":
		return false, r.emitDelta(ev, models.InText)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return false, r.emitDelta(ev, models.InReasoning)
	case "response.function_call_arguments.delta":
		return false, r.emitDelta(ev, models.InArguments)
	case "response.reasoning_summary_part.added":
		if ev.SummaryIndex > 0 {
			ev.Delta = "\n\n"
			return false, r.emitDelta(ev, models.InReasoning)
		}
	case "response.function_call_arguments.done":
		r.openItem(ev).arguments = string(ev.Arguments)
	case "response.completed":
		res, err := readResponse(ev.Response)
		if err != nil {
			return true, err
		}
		return true, r.responseCompleted(res)
	case "response.incomplete", "response.failed":
		if len(r.openItems) == 0 && len(r.incompleteItems) == 0 && r.items > 0 {
			r.phase = models.AfterLastItem
		}
		if ev.Type == "response.failed" {
			return true, &apiError{event: data}
		}
		res, err := readResponse(ev.Response)
		if err != nil {
			return true, &apiError{incomplete: "unknown"}
		}
		return true, &apiError{incomplete: incompleteReason(res)}
	}
	return false, nil // unknown events are for others
}

func incompleteReason(res *responses.Response) string {
	return cmp.Or(res.IncompleteDetails.Reason, "unknown")
}

func itemKey(e *event) string {
	if e.OutputIndex != nil {
		return fmt.Sprint(*e.OutputIndex)
	}
	return string(e.ItemID)
}

func (r *reply) openItem(e *event) *itemBuilder {
	w := r.openItems[itemKey(e)]
	if w == nil {
		w = &itemBuilder{}
		r.openItems[itemKey(e)] = w
	}
	return w
}

func (r *reply) itemAdded(ev *event) error {
	if err := r.attempt.emitOpened(); err != nil {
		return err
	}
	var it outputItem
	if err := decode(ev.Item, &it); err != nil {
		return fmt.Errorf("%w: output item: %w", diagnose.ErrMalformed, err)
	}
	ev.ItemID = cmp.Or(ev.ItemID, it.ID)
	item := r.openItem(ev)
	item.kind, item.callID, item.name = it.Type, string(it.CallID), string(it.Name)
	switch it.Type {
	case "reasoning":
		r.phase = models.InReasoning
	case "message":
		r.phase = models.InText
	case "function_call":
		r.phase = models.InArguments
		if !r.isWrapper(item.name) {
			return r.emit(models.CallDelta{CallID: item.callID, Name: item.name})
		}
	}
	return nil
}

func (r *reply) emitDelta(ev *event, phase models.Phase) error {
	if err := r.attempt.emitOpened(); err != nil {
		return err
	}
	r.phase = phase
	item := r.openItem(ev)
	if ev.Delta == "" {
		return nil
	}
	item.shown = true
	switch phase {
	case models.InReasoning:
		return r.emit(models.ReasoningDelta{Text: string(ev.Delta)})
	case models.InArguments:
		if r.isWrapper(item.name) {
			return nil
		}
		return r.emit(models.CallDelta{CallID: item.callID, Name: item.name, Arguments: string(ev.Delta)})
	}
	return r.emit(models.TextDelta{Text: string(ev.Delta)})
}

// itemFinished takes an item that the endpoint has finished.
func (r *reply) itemFinished(ev *event) error {
	var it outputItem
	if err := decode(ev.Item, &it); err != nil {
		return fmt.Errorf("%w: output item: %w", diagnose.ErrMalformed, err)
	}
	ev.ItemID = cmp.Or(ev.ItemID, it.ID)
	w := r.openItem(ev)
	delete(r.openItems, itemKey(ev))
	if it.Arguments == "" {
		it.Arguments = looseString(w.arguments)
	}
	r.finishedItems++
	return r.handleItem(&it, ev.Item, w.shown)
}

// handleItem hands a finished item over. Its words come as a delta as well if none
// has come before.
func (r *reply) handleItem(it *outputItem, raw json.RawMessage, shown bool) error {
	if err := r.attempt.emitOpened(); err != nil {
		return err
	}
	got := models.Item{ID: string(it.ID), Raw: append(json.RawMessage(nil), raw...)}
	var text []string
	switch it.Type {
	case "message":
		got.Kind, got.Role = models.Message, models.Assistant
		for _, c := range it.Content {
			text = append(text, string(c.Text)+string(c.Refusal))
		}
		got.Text = strings.Join(text, "")
		if got.Text != "" && !shown {
			if err := r.emit(models.TextDelta{Text: got.Text}); err != nil {
				return err
			}
		}
	case "reasoning":
		got.Kind = models.Reasoning
		for _, s := range it.Summary {
			text = append(text, string(s.Text))
		}
		for _, c := range it.Content {
			if len(it.Summary) == 0 {
				text = append(text, string(c.Text))
			}
		}
		got.Text = strings.Join(text, "\n\n")
		if got.Text != "" && !shown {
			if err := r.emit(models.ReasoningDelta{Text: got.Text}); err != nil {
				return err
			}
		}
	case "function_call":
		got.Kind = models.Call
		got.CallID = string(it.CallID)
		got.Name = string(it.Name)
		got.Arguments = string(it.Arguments)
	default:
		return nil // tools that run at the provider; none was asked for
	}
	if it.Status == "incomplete" {
		r.incompleteItems = append(r.incompleteItems, got)
		return nil
	}
	r.phase = models.BetweenItems
	return r.emitDone(got)
}

func (r *reply) emitDone(it models.Item) error {
	if it.Kind == models.Call {
		return r.emitCall(it)
	}
	return r.emitItem(it)
}

func (r *reply) responseCompleted(res *responses.Response) error {
	for _, it := range r.incompleteItems {
		if it.Kind == models.Call { // the endpoint says itself that it is not whole
			continue
		}
		if err := r.emitDone(it); err != nil {
			return err
		}
	}
	if r.finishedItems == 0 { // some endpoints state the items only here
		if err := r.outputs(res); err != nil {
			return err
		}
	}
	r.phase = models.AfterLastItem
	return r.emitFinished(usageOf(res))
}

// outputs takes the items that a whole reply states. They are read from the JSON:
// one item that the SDK cannot read would leave its list empty.
func (r *reply) outputs(res *responses.Response) error {
	var list []json.RawMessage
	if raw := res.JSON.Output.Raw(); raw != "" {
		if err := decode([]byte(raw), &list); err != nil {
			return fmt.Errorf("%w: output: %w", diagnose.ErrMalformed, err)
		}
	}
	shown := map[looseString]bool{}
	for _, w := range r.openItems {
		shown[w.kind] = shown[w.kind] || w.shown
	}
	for _, raw := range list {
		var it outputItem
		if err := decode(raw, &it); err != nil {
			return fmt.Errorf("%w: output item: %w", diagnose.ErrMalformed, err)
		}
		if err := r.handleItem(&it, raw, shown[it.Type] || shown[""]); err != nil {
			return err
		}
	}
	return nil
}
