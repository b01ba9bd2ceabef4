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
	Type         words           `json:"type"`
	Number       int64           `json:"sequence_number"` // below 0: not stated
	Delta        words           `json:"delta"`
	ItemID       words           `json:"item_id"`
	OutputIndex  *int            `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Arguments    words           `json:"arguments"`
	Item         json.RawMessage `json:"item"`
	Response     json.RawMessage `json:"response"`
	Error        json.RawMessage `json:"error"`
}

// readResponse reads the reply that a terminal event states.
func readResponse(raw []byte) (*responses.Response, error) {
	if !given(raw) {
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
	Type      words `json:"type"`
	ID        words `json:"id"`
	Status    words `json:"status"`
	CallID    words `json:"call_id"`
	Name      words `json:"name"`
	Arguments words `json:"arguments"`
	Content   []struct {
		Text    words `json:"text"`
		Refusal words `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text words `json:"text"`
	} `json:"summary"`
}

// writing is an item that is still being written.
type writing struct {
	kind      words
	callID    string
	name      string
	arguments string // as stated by the event that ends them
	shown     bool   // some of it has been handed over as deltas
}

// reply is a reply being read. Events of one item are joined by its place,
// because some endpoints change an item's id from event to event.
type reply struct {
	*attempt
	open map[string]*writing
	held []models.Item // marked incomplete, in a reply that may yet complete
	seen int           // items finished by an event of their own
}

func (a *attempt) readResponses(in io.Reader) error {
	r := &reply{attempt: a, open: map[string]*writing{}}
	s := a.stream(in)
	for {
		data, err := s.next()
		if errors.Is(err, io.EOF) {
			err = diagnose.ErrUnended
		}
		e := event{Number: -1}
		if err == nil {
			if err = decode(data, &e); err != nil {
				if strings.HasPrefix(string(data), "[DONE]") {
					continue
				}
				if err = s.broken(err); !s.tail.over {
					return err
				}
			}
		}
		if err != nil {
			if s, err = r.again(err); err != nil {
				return err
			}
			continue
		}
		over, err := r.next(&e, data, s.name)
		if over || err != nil {
			return err
		}
	}
}

// next takes the next event and says whether the reply is over.
func (r *reply) next(e *event, data []byte, name string) (over bool, err error) {
	if e.Number >= 0 {
		if r.resumes > 0 && e.Number <= r.after {
			return false, nil // it came before the break
		}
		r.after = e.Number
	}
	e.Type = cmp.Or(e.Type, words(name))
	if e.Type == "error" || given(e.Error) {
		r.over = true
		return true, &told{event: data}
	}
	switch e.Type {
	case "response.completed", "response.incomplete", "response.failed":
		r.over = true
	}
	return r.event(e, data)
}

// event takes one event and says whether the reply is over.
func (r *reply) event(e *event, data []byte) (bool, error) {
	if given(e.Response) {
		var head struct {
			ID    words `json:"id"`
			Model words `json:"model"`
		}
		if err := decode(e.Response, &head); err != nil {
			return false, fmt.Errorf("%w: response: %w", diagnose.ErrMalformed, err)
		}
		r.served = cmp.Or(string(head.Model), r.served)
		r.responseID = cmp.Or(string(head.ID), r.responseID)
	}
	switch e.Type {
	case "response.created", "response.in_progress", "response.queued":
		return false, r.attempt.open()
	case "response.output_item.added":
		return false, r.begin(e)
	case "response.output_item.done":
		return false, r.end(e)
	case "response.output_text.delta", "response.refusal.delta":
		return false, r.delta(e, models.InText)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return false, r.delta(e, models.InReasoning)
	case "response.function_call_arguments.delta":
		return false, r.delta(e, models.InArguments)
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex > 0 {
			e.Delta = "\n\n"
			return false, r.delta(e, models.InReasoning)
		}
	case "response.function_call_arguments.done":
		r.writing(e).arguments = string(e.Arguments)
	case "response.completed":
		res, err := readResponse(e.Response)
		if err != nil {
			return true, err
		}
		return true, r.complete(res)
	case "response.incomplete", "response.failed":
		if len(r.open) == 0 && len(r.held) == 0 && r.items > 0 {
			r.phase = models.AfterLastItem
		}
		if e.Type == "response.failed" {
			return true, &told{event: data}
		}
		res, err := readResponse(e.Response)
		if err != nil {
			return true, &told{short: "unknown"}
		}
		return true, &told{short: incompleteReason(res)}
	}
	return false, nil // unknown events are for others
}

func incompleteReason(res *responses.Response) string {
	return cmp.Or(res.IncompleteDetails.Reason, "unknown")
}

func place(e *event) string {
	if e.OutputIndex != nil {
		return fmt.Sprint(*e.OutputIndex)
	}
	return string(e.ItemID)
}

func (r *reply) writing(e *event) *writing {
	w := r.open[place(e)]
	if w == nil {
		w = &writing{}
		r.open[place(e)] = w
	}
	return w
}

func (r *reply) begin(e *event) error {
	if err := r.attempt.open(); err != nil {
		return err
	}
	var it outputItem
	if err := decode(e.Item, &it); err != nil {
		return fmt.Errorf("%w: output item: %w", diagnose.ErrMalformed, err)
	}
	e.ItemID = cmp.Or(e.ItemID, it.ID)
	w := r.writing(e)
	w.kind, w.callID, w.name = it.Type, string(it.CallID), string(it.Name)
	switch it.Type {
	case "reasoning":
		r.phase = models.InReasoning
	case "message":
		r.phase = models.InText
	case "function_call":
		r.phase = models.InArguments
		if !r.isWrapper(w.name) {
			return r.emit(models.CallDelta{CallID: w.callID, Name: w.name})
		}
	}
	return nil
}

func (r *reply) delta(e *event, phase models.Phase) error {
	if err := r.attempt.open(); err != nil {
		return err
	}
	r.phase = phase
	w := r.writing(e)
	if e.Delta == "" {
		return nil
	}
	w.shown = true
	switch phase {
	case models.InReasoning:
		return r.emit(models.ReasoningDelta{Text: string(e.Delta)})
	case models.InArguments:
		if r.isWrapper(w.name) {
			return nil
		}
		return r.emit(models.CallDelta{CallID: w.callID, Name: w.name, Arguments: string(e.Delta)})
	}
	return r.emit(models.TextDelta{Text: string(e.Delta)})
}

// end takes an item that the endpoint has finished.
func (r *reply) end(e *event) error {
	var it outputItem
	if err := decode(e.Item, &it); err != nil {
		return fmt.Errorf("%w: output item: %w", diagnose.ErrMalformed, err)
	}
	e.ItemID = cmp.Or(e.ItemID, it.ID)
	w := r.writing(e)
	delete(r.open, place(e))
	if it.Arguments == "" {
		it.Arguments = words(w.arguments)
	}
	r.seen++
	return r.item(&it, e.Item, w.shown)
}

// item hands a finished item over. Its words come as a delta as well if none
// has come before.
func (r *reply) item(it *outputItem, raw json.RawMessage, shown bool) error {
	if err := r.attempt.open(); err != nil {
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
		got.Kind, got.CallID, got.Name, got.Arguments = models.Call, string(it.CallID), string(it.Name), string(it.Arguments)
	default:
		return nil // tools that run at the provider; none was asked for
	}
	if it.Status == "incomplete" {
		r.held = append(r.held, got)
		return nil
	}
	r.phase = models.BetweenItems
	return r.hand(got)
}

func (r *reply) hand(it models.Item) error {
	if it.Kind == models.Call {
		return r.call(it)
	}
	return r.done(it)
}

func (r *reply) complete(res *responses.Response) error {
	for _, it := range r.held {
		if it.Kind == models.Call { // the endpoint says itself that it is not whole
			continue
		}
		if err := r.hand(it); err != nil {
			return err
		}
	}
	if r.seen == 0 { // some endpoints state the items only here
		if err := r.outputs(res); err != nil {
			return err
		}
	}
	r.phase = models.AfterLastItem
	return r.finish(usageOf(res))
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
	shown := map[words]bool{}
	for _, w := range r.open {
		shown[w.kind] = shown[w.kind] || w.shown
	}
	for _, raw := range list {
		var it outputItem
		if err := decode(raw, &it); err != nil {
			return fmt.Errorf("%w: output item: %w", diagnose.ErrMalformed, err)
		}
		if err := r.item(&it, raw, shown[it.Type] || shown[""]); err != nil {
			return err
		}
	}
	return nil
}

// wholeResponse takes a reply in one piece.
func (a *attempt) wholeResponse(body []byte) error {
	res, err := readResponse(body)
	if err != nil {
		return err
	}
	a.served = res.Model
	a.responseID = res.ID
	r := &reply{attempt: a, open: map[string]*writing{}}
	switch res.Status {
	case responses.ResponseStatusFailed, responses.ResponseStatusCancelled:
		event, err := json.Marshal(map[string]json.RawMessage{"response": body})
		if err != nil {
			return fmt.Errorf("%w: %w", diagnose.ErrMalformed, err)
		}
		return &told{event: event}
	case responses.ResponseStatusIncomplete:
		if err := r.outputs(res); err != nil {
			return err
		}
		if r.items > 0 && len(r.held) == 0 {
			a.phase = models.AfterLastItem
		}
		return &told{short: incompleteReason(res)}
	}
	return r.complete(res)
}
