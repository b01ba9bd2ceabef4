package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"belay/models"
	"belay/models/openai"
)

// sentTo is the body of a Chat request to a model at an endpoint.
func sentTo(t *testing.T, baseURL string, model models.Model, req models.Request) map[string]any {
	t.Helper()
	p := provider(models.Chat)
	p.BaseURL = baseURL
	var body map[string]any
	rt := roundTrip(func(r *http.Request) (*http.Response, error) {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		return &http.Response{StatusCode: 500, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})
	c := openai.New(openai.Options{
		Providers: []models.Provider{p},
		HTTP:      &http.Client{Transport: rt},
		Model:     func(models.Target) models.Model { return model },
	})
	for _, err := range c.Stream(t.Context(), models.Target{Provider: p.Name, Model: model.Target.Model}, req) {
		if err == nil {
			t.Error("a reply to a failed request")
		}
	}
	return body
}

func foreign() []models.Item {
	other := models.Origin{Provider: "elsewhere", API: models.Responses, Model: "n"}
	return []models.Item{
		models.NewMessage(models.User, "Look."),
		{Kind: models.Reasoning, Text: "private", Origin: other, Raw: json.RawMessage(`{"type":"reasoning"}`)},
		{Kind: models.Call, CallID: "call_with|odd", Name: "ls", Arguments: "{}", Origin: other},
		{Kind: models.Call, CallID: strings.Repeat("x", 65), Name: "ls", Arguments: "{}", Origin: other},
		{Kind: models.Output, CallID: "call_with|odd", Text: "a"},
		{Kind: models.Output, CallID: strings.Repeat("x", 65), Text: "b"},
		models.NewMessage(models.Developer, "Keep it short."),
		models.NewMessage(models.User, "Go on."),
	}
}

func TestADialectIsFoundByEndpointThenByFamily(t *testing.T) {
	named := func(model, dialect string) models.Model {
		return models.Model{Target: models.Target{Model: model}, Dialect: dialect}
	}
	const (
		notes   = `"role":"developer"`
		answers = `"content":"Done."`
		thought = `"reasoning_content":"(not kept)"`
		google  = `"thought_signature":"skip_thought_signature_validator"`
		usage   = `"stream_options"`
	)
	for name, row := range map[string]struct {
		url   string
		model models.Model
		has   []string
		lacks []string
	}{
		"openai":              {"https://api.openai.com/v1", named("gpt-5", ""), []string{notes, usage}, []string{answers, thought}},
		"azure":               {"https://x.openai.azure.com/openai/v1", named("gpt-5", ""), []string{notes}, nil},
		"unknown":             {"https://box.example/v1", named("m", ""), []string{usage}, []string{notes, answers, thought, google}},
		"not a subdomain":     {"https://notapi.openai.com.example/v1", named("gpt-5", ""), nil, []string{notes}},
		"mistral":             {"https://api.mistral.ai/v1", named("mistral-large", ""), []string{answers}, []string{notes, usage}},
		"mistral's template":  {"http://127.0.0.1:8000/v1", named("unsloth/Devstral-Small", ""), []string{answers, usage}, []string{notes}},
		"deepseek":            {"https://api.deepseek.com/v1", named("deepseek-chat", ""), []string{thought}, nil},
		"kimi elsewhere":      {"https://relay.example/v1", named("moonshotai/Kimi-K2", ""), []string{thought}, nil},
		"deepseek by a relay": {"https://openrouter.ai/api/v1", named("deepseek/deepseek-v3.2", ""), []string{thought}, nil},
		"google":              {"https://generativelanguage.googleapis.com/v1beta/openai", named("gemini-3", ""), []string{google}, []string{notes}},
		"settings over all":   {"https://api.mistral.ai/v1", named("mistral-large", "openai"), []string{notes, usage}, []string{answers}},
		"strict by settings":  {"https://api.openai.com/v1", named("gpt-5", "strict"), nil, []string{notes}},
	} {
		t.Run(name, func(t *testing.T) {
			body := compact(t,
				sentTo(t, row.url, row.model, models.Request{Instructions: "Be belay.", Items: foreign()}))
			for _, want := range row.has {
				if !strings.Contains(body, want) {
					t.Errorf("no %s in %s", want, body)
				}
			}
			for _, no := range append(row.lacks, "private", "|odd") {
				if strings.Contains(body, no) {
					t.Errorf("%s in %s", no, body)
				}
			}
		})
	}
}

func TestCallIDsAreRewrittenAlikeInCallAndOutput(t *testing.T) {
	for dialect, check := range map[string]func(string) bool{
		"strict":  func(id string) bool { return len(id) <= 64 && !strings.Contains(id, "|") },
		"mistral": func(id string) bool { return len(id) == 9 },
	} {
		model := models.Model{Target: models.Target{Model: "m"}, Dialect: dialect}
		body := sentTo(t, "http://x/v1", model, models.Request{Items: foreign()})
		var made, answered []string
		for _, m := range body["messages"].([]any) {
			message := m.(map[string]any)
			if calls, ok := message["tool_calls"].([]any); ok {
				for _, c := range calls {
					made = append(made, c.(map[string]any)["id"].(string))
				}
			}
			if id, ok := message["tool_call_id"].(string); ok {
				answered = append(answered, id)
			}
		}
		if strings.Join(made, " ") != strings.Join(answered, " ") || len(made) != 2 || made[0] == made[1] {
			t.Errorf("%s: calls %q, outputs %q", dialect, made, answered)
		}
		for _, id := range made {
			if !check(id) {
				t.Errorf("%s: %q", dialect, id)
			}
		}
	}
}

func TestWhatAMakerAddedGoesBackToItAlone(t *testing.T) {
	mine := models.Origin{Provider: "acme", API: models.Chat, Model: "m"}
	items := []models.Item{
		models.NewMessage(models.User, "Look."),
		{
			Kind:   models.Reasoning,
			Origin: mine,
			Raw:    json.RawMessage(`{"reasoning":"a","reasoning_details":[{"type":"t","index":0}]}`),
		},
		{Kind: models.Reasoning, Origin: mine, Raw: json.RawMessage(`{"reasoning":"b"}`)},
		{
			Kind: models.Call, CallID: "functions.ls:0", Name: "ls", Arguments: "{}", Origin: mine,
			Raw: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"s"}}}`),
		},
		{Kind: models.Output, CallID: "functions.ls:0", Text: "a"},
	}
	model := models.Model{Target: models.Target{Model: "m"}}
	equalJSON(t, "own", sentTo(t, "http://x/v1", model, models.Request{Items: items})["messages"], `[
		{"role":"user","content":"Look."},
		{"role":"assistant","content":null,"reasoning":"ab","reasoning_details":[{"type":"t","index":0}],"tool_calls":[
			{"id":"functions.ls:0","type":"function","function":{"name":"ls","arguments":"{}"},
			 "extra_content":{"google":{"thought_signature":"s"}}}]},
		{"role":"tool","tool_call_id":"functions.ls:0","content":"a"}]`)
	model.Target.Model = "another"
	body := compact(t, sentTo(t, "http://x/v1", model, models.Request{Items: items}))
	for _, no := range []string{"extra_content", "reasoning", "functions.ls:0"} {
		if strings.Contains(body, no) {
			t.Errorf("%s was sent to another model: %s", no, body)
		}
	}
}

func TestThoughtsThatCameAsPartsGoBackAsParts(t *testing.T) {
	mine := models.Origin{Provider: "acme", API: models.Chat, Model: "m"}
	items := []models.Item{
		models.NewMessage(models.User, "Look."),
		{
			Kind: models.Reasoning, Origin: mine,
			Raw: json.RawMessage(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`),
		},
		{Kind: models.Message, Role: models.Assistant, Text: "I look.", Origin: mine},
		{Kind: models.Call, CallID: "abcdefghi", Name: "ls", Arguments: "{}", Origin: mine},
		{Kind: models.Output, CallID: "abcdefghi", Text: "a"},
	}
	model := models.Model{Target: models.Target{Model: "m"}, Dialect: "mistral"}
	messages := sentTo(t, "http://x/v1", model, models.Request{Items: items})["messages"].([]any)
	equalJSON(t, "content", messages[1].(map[string]any)["content"], `[
		{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"I look."}]`)
}

func TestPicturesBecomeALineWhereNobodySees(t *testing.T) {
	items := []models.Item{{
		Kind: models.Message, Role: models.User, Text: "What is this?",
		Images: []models.Image{{MIME: "image/png", Data: []byte("x")}, {MIME: "image/png", Data: []byte("y")}},
	}}
	blind := models.Model{Target: models.Target{Model: "m"}, Known: true}
	body := compact(t, sentTo(t, "http://x/v1", blind, models.Request{Items: items}))
	if strings.Contains(body, "image_url") || !strings.Contains(body, "2 pictures stood here") {
		t.Error(body)
	}
	blind.Images = true
	if body := compact(t, sentTo(t, "http://x/v1", blind, models.Request{Items: items})); !strings.Contains(
		body,
		"image_url",
	) {
		t.Error(body)
	}
	if len(items[0].Images) != 2 || items[0].Text != "What is this?" {
		t.Error("the conversation itself was changed")
	}
}

func TestRolesTakeTurns(t *testing.T) {
	say := models.NewMessage
	items := []models.Item{
		say(models.Assistant, "Left over."), say(models.Assistant, "And more."),
		say(models.User, "One."), say(models.Developer, "Two."), say(models.User, "Three."),
	}
	model := models.Model{Target: models.Target{Model: "m"}}
	equalJSON(
		t,
		"messages",
		sentTo(t, "http://x/v1", model, models.Request{Instructions: "S", Items: items})["messages"],
		`[
		{"role":"system","content":"S"},
		{"role":"user","content":"(What came before is left out.)"},
		{"role":"assistant","content":"Left over.\n\nAnd more."},
		{"role":"user","content":"One.\n\n<system-reminder>\nTwo.\n</system-reminder>\n\nThree."}]`,
	)
}

func TestSchemasInPlainWords(t *testing.T) {
	const schema = `{"$schema":"x","type":"object","additionalProperties":false,"required":["b"],"properties":{
		"b":{"$ref":"#/$defs/B"},"a":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/B"}},
		"c":{"type":"object","properties":{}},"d":{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]}},
		"$defs":{"B":{"type":"string","minLength":1,"description":"d"}}}`
	const plain = `{"type":"object","required":["b"],"properties":{"b":{"type":"string","description":"d"},` +
		`"a":{"type":"array","items":{"type":"string","description":"d"}},"c":{"type":"object"},` +
		`"d":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`
	for schema, want := range map[string]string{
		schema: plain,
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`:         "", // endless: as it is
		`{"type":"object","properties":{"a":{"$ref":"http://x"}}}`:  "",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/B"}}}`: "",
	} {
		req := models.Request{
			Items: []models.Item{models.NewMessage(models.User, "x")},
			Tools: []models.ToolSpec{{Name: "t", Schema: []byte(schema)}},
		}
		body := sentTo(t, "http://x/v1", models.Model{Target: models.Target{Model: "m"}}, req)
		tool := body["tools"].([]any)[0].(map[string]any)["function"].(map[string]any)
		if want == "" {
			want = schema
		}
		equalJSON(t, "parameters", tool["parameters"], want)
	}
}
