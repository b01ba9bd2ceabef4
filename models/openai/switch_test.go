package openai_test

import (
	"fmt"
	"net/http"
	"testing"

	"belay/models"
	"belay/models/openai"
)

// endpoints are the eight that the scripted server can be like, where the client
// finds them by their address, or by nothing at all.
var endpoints = []struct {
	like string
	url  string
	api  models.API
	name string
	sees bool
}{
	{"openai-responses", "https://api.openai.com/v1", models.Responses, "gpt-5.6-sol", true},
	{"openai-chat", "https://api.openai.com/v1", models.Chat, "gpt-5.6-terra", true},
	{"deepseek", "https://api.deepseek.com/v1", models.Chat, "deepseek-chat", false},
	{"google", "https://generativelanguage.googleapis.com/v1beta/openai", models.Chat, "gemini-3-pro", true},
	{"mistral", "https://api.mistral.ai/v1", models.Chat, "mistral-large", true},
	{"qwen", "http://box:8000/v1", models.Chat, "qwen3-coder", true},
	{"openrouter", "https://openrouter.ai/api/v1", models.Chat, "anthropic/claude", true},
	{"llamacpp", "http://box:8080/v1", models.Chat, "local-model", false},
}

const saysMuch = `
like = %q
[[reply]]
user = "Go on."
times = -1
text = "It goes on."
[[reply]]
reasoning = "I think about it."
text = "I look at both."
calls = [{ name = "ls", arguments = { path = "a" } }, { name = "ls", arguments = { path = "b" } }]
[[reply]]
reasoning = "Once more."
calls = [{ name = "ls", arguments = { path = "c" } }]
`

// TestEveryConversationGoesOnEverywhere makes a conversation at each of the eight
// and goes on with it at each: with text, reasoning, parallel calls, pictures, a
// summary and a pinned note.
func TestEveryConversationGoesOnEverywhere(t *testing.T) {
	servers := map[string]http.RoundTripper{}
	var providers []models.Provider
	for _, e := range endpoints {
		servers[e.like] = script(t, fmt.Sprintf(saysMuch, e.like))
		providers = append(providers, models.Provider{
			Name: e.like, BaseURL: e.url, API: e.api, Key: "k", Headers: map[string]string{"X-Like": e.like},
		})
	}
	c := openai.New(openai.Options{
		Providers: providers,
		HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return servers[r.Header.Get("X-Like")].RoundTrip(r)
		})},
		Model: func(target models.Target) models.Model {
			for _, e := range endpoints {
				if e.like == target.Provider {
					return models.Model{Target: target, Known: true, Images: e.sees}
				}
			}
			return models.Model{Target: target}
		},
	})
	passed := 0
	for _, from := range endpoints {
		items := converse(t, c, models.Target{Provider: from.like, Model: from.name})
		for _, to := range endpoints {
			t.Run(from.like+" to "+to.like, func(t *testing.T) {
				got := ask(t, c, models.Target{Provider: to.like, Model: to.name}, items)
				if got.fault != nil {
					t.Fatal(got.fault, got.fault.Raw)
				}
				if got.text != "It goes on." {
					t.Fatalf("it said %q", got.text)
				}
				passed++
			})
		}
	}
	if passed != len(endpoints)*len(endpoints) {
		t.Errorf("%d of %d conversations go on", passed, len(endpoints)*len(endpoints))
	}
}

// converse makes a conversation of two turns at a target.
func converse(t *testing.T, c *openai.Client, target models.Target) []models.Item {
	t.Helper()
	picture := []models.Image{{MIME: "image/png", Data: []byte("png")}}
	items := []models.Item{
		models.NewMessage(models.Developer, "What happened before, in short: nothing."),
		models.NewMessage(models.Developer, "The user wants you to keep in mind: be brief."),
		{Kind: models.Message, Role: models.User, Text: "Look at this.", Images: picture},
	}
	for turn := range 2 {
		got := ask(t, c, target, items)
		if got.fault != nil {
			t.Fatalf("%s, request %d: %v", target, turn+1, got.fault)
		}
		items = append(items, got.items...)
		calls := 0
		for _, it := range got.items {
			if it.Kind == models.Call {
				output := models.Item{Kind: models.Output, CallID: it.CallID, Text: "done"}
				if calls == 0 {
					output.Images = picture
				}
				items = append(items, output)
				calls++
			}
		}
		if want := 2 - turn; calls != want {
			t.Fatalf("%s, request %d: %d calls, want %d", target, turn+1, calls, want)
		}
		if turn == 0 {
			items = append(items, models.NewMessage(models.Developer, "Step 1 is done."))
		}
	}
	return append(items, models.NewMessage(models.User, "Go on."))
}

func ask(t *testing.T, c *openai.Client, target models.Target, items []models.Item) result {
	t.Helper()
	return attemptAt(t, t.Context(), c, target, models.Request{
		Instructions: "You are belay.",
		Items:        items,
		MaxOutput:    1000,
		Effort:       "high",
		CacheKey:     "s1",
		Tools: []models.ToolSpec{{
			Name:   "ls",
			Schema: []byte(`{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","minLength":1}}}`),
		}},
	})
}
