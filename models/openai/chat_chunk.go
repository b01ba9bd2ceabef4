package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// chunk is what is read of a piece of a Chat Completions reply, or of a whole one.
type chunk struct {
	ID      looseString     `json:"id"`
	Type    looseString     `json:"type"`
	Object  looseString     `json:"object"`
	Model   looseString     `json:"model"`
	Error   json.RawMessage `json:"error"`
	Detail  json.RawMessage `json:"detail"`
	Message json.RawMessage `json:"message"`
	Choices []chatChoice    `json:"choices"`
	Usage   *tokenUsage     `json:"usage"`
	Groq    struct {
		Usage *tokenUsage `json:"usage"`
	} `json:"x_groq"`
}

// chatChoice is one of the replies that were asked for; belay asks for one.
type chatChoice struct {
	Index   int             `json:"index"`
	Delta   chatDelta       `json:"delta"`
	Message *chatDelta      `json:"message"` // in a reply in one piece
	Finish  looseString     `json:"finish_reason"`
	Native  looseString     `json:"native_finish_reason"` // OpenRouter: of the provider behind it
	Error   json.RawMessage `json:"error"`
	Usage   *tokenUsage     `json:"usage"` // Moonshot
}

// failure is the error that the chunk reports, if it does.
func (c *chunk) failure(data []byte, event string) *apiError {
	if reportsError(c.Error) || c.Type == "error" || c.Object == "error" || event == "error" ||
		len(c.Choices) == 0 && (isGiven(c.Detail) || isGiven(c.Message)) {
		return &apiError{event: bytes.Clone(data)}
	}
	for i := range c.Choices {
		if choice := &c.Choices[i]; choice.Index == 0 && reportsError(choice.Error) {
			event, _ := json.Marshal(map[string]json.RawMessage{"error": choice.Error}) // it was read from JSON
			return &apiError{event: event}
		}
	}
	return nil
}

// usage is the newest usage that the chunk states; nil, none.
func (c *chunk) usage() *tokenUsage {
	stated := cmp.Or(c.Usage, c.Groq.Usage)
	for i := range c.Choices {
		stated = cmp.Or(stated, c.Choices[i].Usage)
	}
	if stated != nil && *stated == (tokenUsage{}) {
		return nil
	}
	return stated
}

// chatDelta is the content of a chunk.
type chatDelta struct {
	Content          looseContent    `json:"content"`
	Refusal          textPiece       `json:"refusal"`
	ReasoningContent textPiece       `json:"reasoning_content"`
	Reasoning        textPiece       `json:"reasoning"`
	Details          json.RawMessage `json:"reasoning_details"`
	Calls            []chatCallDelta `json:"tool_calls"`
	Function         *chatFunction   `json:"function_call"` // what calls were before there were several
}

// looseContent is a string, a part, or a list of parts, of which some are
// thoughts (Mistral).
type looseContent struct {
	text, thought textPiece
	thinking      map[string]json.RawMessage // what the thoughts hold beside their text
}

func (c *looseContent) UnmarshalJSON(b []byte) error {
	switch {
	case isString(b):
		c.text = textPiece(unquote(b))
	case b[0] == '{':
		c.addPart(b)
	case b[0] == '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		for _, part := range parts {
			c.addPart(part)
		}
	}
	return nil
}

func (c *looseContent) addPart(b json.RawMessage) {
	var part struct {
		Text     textPiece       `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if decode(b, &part) != nil {
		return
	}
	if !isGiven(part.Thinking) {
		c.text += part.Text
		return
	}
	if isString(part.Thinking) {
		c.thought += textPiece(unquote(part.Thinking))
	} else {
		var list []struct {
			Text textPiece `json:"text"`
		}
		_ = decode(part.Thinking, &list) // what cannot be read stays empty
		for _, one := range list {
			c.thought += one.Text
		}
	}
	members(b, func(name string, value json.RawMessage) {
		if name != "type" && name != "thinking" && isGiven(value) {
			if c.thinking == nil {
				c.thinking = map[string]json.RawMessage{}
			}
			c.thinking[name] = bytes.Clone(value)
		}
	})
}

// chatCallDelta is a piece of a call. Members that nobody knows are kept, for
// their maker may want them back.
type chatCallDelta struct {
	index    int // below 0: not stated
	id       string
	function chatFunction
	added    map[string]json.RawMessage
}

type chatFunction struct {
	Name      looseString    `json:"name"`
	Arguments argumentsPiece `json:"arguments"`
}

func (c *chatCallDelta) UnmarshalJSON(b []byte) error {
	c.index = -1
	members(b, func(name string, value json.RawMessage) {
		switch name {
		case "index":
			if i, err := strconv.Atoi(strings.Trim(string(value), `"`)); err == nil && i >= 0 {
				c.index = i
			}
		case "id":
			var id looseString
			_ = id.UnmarshalJSON(value) // never fails
			c.id = string(id)
		case "function":
			_ = decode(value, &c.function) // what cannot be read stays empty
		case "type":
		default:
			if isGiven(value) {
				if c.added == nil {
					c.added = map[string]json.RawMessage{}
				}
				c.added[name] = bytes.Clone(value)
			}
		}
	})
	return nil
}
