package openai

import (
	"cmp"
	"strconv"
	"strings"

	"belay/models"
)

// tokenCount is a number of tokens. What cannot be one is 0.
type tokenCount int64

// maxTokenCount is more than any reply takes.
const maxTokenCount = 1 << 30

func (n *tokenCount) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*n = 0
	if err == nil && f > 0 && f <= maxTokenCount {
		*n = tokenCount(f)
	}
	return nil
}

// tokenUsage is the usage as both APIs state it, with what some endpoints add.
type tokenUsage struct {
	Prompt            tokenCount    `json:"prompt_tokens"`
	PromptDetails     promptDetails `json:"prompt_tokens_details"`
	Completion        tokenCount    `json:"completion_tokens"`
	CompletionDetails outputDetails `json:"completion_tokens_details"`
	Input             tokenCount    `json:"input_tokens"`
	InputDetails      promptDetails `json:"input_tokens_details"`
	Output            tokenCount    `json:"output_tokens"`
	OutputDetails     outputDetails `json:"output_tokens_details"`
	Total             tokenCount    `json:"total_tokens"`
	Cached            tokenCount    `json:"cached_tokens"`           // Moonshot
	CacheHit          tokenCount    `json:"prompt_cache_hit_tokens"` // DeepSeek
	Reasoning         tokenCount    `json:"reasoning_tokens"`
	Thoughts          tokenCount    `json:"thoughtsTokenCount"` // Google
}

type promptDetails struct {
	Cached tokenCount `json:"cached_tokens"`
}

type outputDetails struct {
	Reasoning tokenCount `json:"reasoning_tokens"`
}

// usage gives what was stated, as far as it makes sense.
func (u *tokenUsage) usage() models.Usage {
	if u == nil {
		return models.Usage{}
	}
	input, output := cmp.Or(u.Prompt, u.Input), cmp.Or(u.Completion, u.Output)
	cached := cmp.Or(u.PromptDetails.Cached, u.InputDetails.Cached, u.Cached, u.CacheHit)
	reasoning := cmp.Or(u.CompletionDetails.Reasoning, u.OutputDetails.Reasoning, u.Reasoning, u.Thoughts)
	beside := u.Total - input - output
	switch {
	case reasoning > 0 && (beside == reasoning || reasoning > output || u.Thoughts > 0 && u.Total == 0):
		output += reasoning // counted beside the completion
	case reasoning == 0 && beside > 0 && input > 0 && output > 0 && beside != cached:
		output += beside // thoughts that only the total tells of
		reasoning = beside
	}
	return models.Usage{
		Input: int64(input), Cached: int64(min(cached, input)), Output: int64(output), Reasoning: int64(reasoning),
	}
}
