package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"belay/models"
)

// decode reads an event. Fields of the wrong type are left empty: endpoints
// differ in what they think of as a number.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return nil
	}
	return err
}

// isGiven says whether a JSON field is there and not null.
func isGiven(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}

// reportsError says whether the field of an error tells of one: some endpoints
// send it with every event, empty.
func reportsError(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "{}", "[]", "false", "0":
		return false
	}
	return true
}

// isWrapper says whether a call is one that wraps several. Some models write
// it, although no such tool was offered.
func (a *attempt) isWrapper(name string) bool {
	switch name {
	case "parallel", "multi_tool_use.parallel", "multi_tool_use_parallel":
		return !a.tools[name]
	}
	return false
}

// unwrap turns such a call into the calls that it stands for, if all of them
// are for tools that were offered.
func (a *attempt) unwrap(call models.Item) []models.Item {
	if !a.isWrapper(call.Name) {
		return nil
	}
	var args struct {
		Uses []struct {
			Name       string          `json:"recipient_name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"tool_uses"`
	}
	if json.Unmarshal([]byte(call.Arguments), &args) != nil {
		return nil
	}
	var calls []models.Item
	for i, use := range args.Uses {
		name := strings.TrimPrefix(use.Name, "functions.")
		if !a.tools[name] {
			return nil
		}
		var compact bytes.Buffer
		if json.Compact(&compact, use.Parameters) != nil || !isGiven(compact.Bytes()) {
			compact.Reset()
			compact.WriteString("{}")
		}
		calls = append(calls, models.Item{
			Kind: models.Call, CallID: fmt.Sprintf("%s_%d", call.CallID, i+1), Name: name, Arguments: compact.String(),
		})
	}
	return calls
}

// emitCall hands a finished call over, unwrapped if it wraps several.
func (a *attempt) emitCall(it models.Item) error {
	if several := a.unwrap(it); len(several) > 0 {
		for _, one := range several {
			if err := a.emitOneCall(one); err != nil {
				return err
			}
		}
		return nil
	}
	if it.CallID == "" || a.calls[it.CallID] {
		// Some servers give none, some begin to count anew in every reply; the
		// outputs must be told apart all the same.
		it.CallID = "call_" + a.c.id()
		it.Raw = renameCall(it.Raw, it.CallID)
	}
	return a.emitOneCall(it)
}

func (a *attempt) emitOneCall(it models.Item) error {
	if err := a.tally.add(calls, 1); err != nil {
		return err
	}
	a.calls[it.CallID] = true
	return a.emitItem(it)
}
