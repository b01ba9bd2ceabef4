package openai

import (
	"cmp"
	"encoding/json"

	"belay/models"
)

// chunk is what is read of a piece of a Chat Completions reply, or of a whole one.
type chunk struct {
	ID      looseString     `json:"id"`
	Type    looseString     `json:"type"`
	Model   looseString     `json:"model"`
	Error   json.RawMessage `json:"error"`
	Detail  json.RawMessage `json:"detail"`
	Choices []struct {
		Index   int         `json:"index"`
		Delta   chatDelta   `json:"delta"`
		Message chatDelta   `json:"message"`
		Finish  looseString `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
	Groq  struct {
		Usage *chatUsage `json:"usage"`
	} `json:"x_groq"`
}

// chatDelta is the content of a chunk.
type chatDelta struct {
	Content          looseContent    `json:"content"`
	Refusal          looseString     `json:"refusal"`
	ReasoningContent looseString     `json:"reasoning_content"`
	Reasoning        looseString     `json:"reasoning"`
	Details          json.RawMessage `json:"reasoning_details"`
	Calls            []chatCallDelta `json:"tool_calls"`
}

// looseContent is a string, or a list of parts of which some are thoughts (Mistral).
type looseContent struct{ text, reasoning string }

func (c *looseContent) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, &c.text)
	}
	var parts []struct {
		Text     looseString `json:"text"`
		Thinking []struct {
			Text looseString `json:"text"`
		} `json:"thinking"`
	}
	if err := decode(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		c.text += string(p.Text)
		for _, t := range p.Thinking {
			c.reasoning += string(t.Text)
		}
	}
	return nil
}

type chatCallDelta struct {
	Index    *int        `json:"index"`
	ID       looseString `json:"id"`
	Function struct {
		Name      looseString `json:"name"`
		Arguments looseString `json:"arguments"`
	} `json:"function"`
}

type chatUsage struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	Total         int64 `json:"total_tokens"`
	PromptDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit int64 `json:"prompt_cache_hit_tokens"` // DeepSeek
}

func (u *chatUsage) usage() models.Usage {
	if u == nil {
		return models.Usage{}
	}
	out := models.Usage{
		Input:     u.Prompt,
		Cached:    cmp.Or(u.PromptDetails.Cached, u.CacheHit),
		Output:    u.Completion,
		Reasoning: u.CompletionDetails.Reasoning,
	}
	if out.Reasoning > 0 && u.Total == u.Prompt+u.Completion+out.Reasoning {
		out.Output += out.Reasoning // xAI counts reasoning beside the completion
	}
	return out
}
