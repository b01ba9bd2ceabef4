package catalog

import (
	"slices"
	"testing"

	"belay/models"
)

func TestTheEncodingFollowsFromTheName(t *testing.T) {
	for want, names := range map[string][]string{
		models.O200k: {
			"gpt-5", "gpt-5.6-sol", "gpt-5-mini", "gpt-4o", "gpt-4o-mini-2024-07-18", "gpt-4.1-nano", "gpt-4.5-preview", "o1",
			"o3-pro", "o4-mini", "chatgpt-4o-latest", "GPT-5",
			"openai/gpt-5", "openai/gpt-5:nitro", "ft:gpt-4o:org::id", "gpt-oss:20b", "openai/gpt-oss-120b",
		},
		models.CL100k: {
			"gpt-4", "gpt-4-turbo", "gpt-4-0314", "gpt-4-32k", "gpt-4-1106-preview", "GPT-4", "openai/gpt-4-turbo",
			"gpt-3.5-turbo", "gpt-3.5-turbo-0125", "gpt-3.5", "gpt-35-turbo",
			"ft:gpt-4:org::id", "ft:gpt-3.5-turbo-0125:org::id", "davinci-002", "babbage-002", "text-embedding-3-small",
			"text-embedding-3-large", "text-embedding-ada-002",
		},
		"": {
			"", "gpt-50", "gpt-5o", "gpt-4.2", "gpt-40", "gpt-3.50", "gpt-3", "o10", "o4", "claude-opus", "qwen3-coder",
			"llama-gpt-5", "my-gpt-4", "gpt-6", "/", "text-davinci-003", "text-embedding-3",
		},
	} {
		for _, name := range names {
			if got := encoding(name); got != want {
				t.Errorf("encoding(%q) = %q, want %q", name, got, want)
			}
		}
	}
}

func TestTheSettingsMayNameAnotherEncoding(t *testing.T) {
	house := models.Target{Provider: "work", Model: "house-model"}
	c := New(Options{Models: map[string]ModelOverride{
		house.String():                 {Encoding: new(models.CL100k)},
		openai("gpt-4").String():       {Encoding: new(models.O200k)},
		openai("gpt-5.6-sol").String(): {Window: new(int64(1000))},
	}})
	var got []string
	for _, target := range []models.Target{house, openai("gpt-4"), openai("gpt-5.6-sol"), openai("house-model")} {
		got = append(got, c.Model(target).Encoding)
	}
	if want := []string{models.CL100k, models.O200k, models.O200k, ""}; !slices.Equal(got, want) {
		t.Errorf("encodings = %q, want %q", got, want)
	}
}
