package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"belay/models"
	"belay/models/openai"
)

const (
	strictSchema = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	looseSchema  = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}`
)

// sentFor is what a request for an answer by a schema looks like on the wire.
func sentFor(t *testing.T, p models.Provider, schema string) map[string]any {
	t.Helper()
	endpoint := &refusing{status: 503, refusal: `{}`, right: func(string) bool { return false }}
	req := hello()
	req.Instructions = "Be brief."
	req.AnswerSchema = []byte(schema)
	attempt(t, t.Context(), client(endpoint, p), req)
	var body map[string]any
	if err := json.Unmarshal([]byte(endpoint.bodies[0]), &body); err != nil {
		t.Fatal(err)
	}
	return body
}

func TestAnAnswerByASchemaIsAskedForOnTheWire(t *testing.T) {
	for name, row := range map[string]struct {
		schema string
		strict bool
	}{
		"strictly, where the schema keeps its rules": {strictSchema, true},
		"loosely, where a property may be missing":   {looseSchema, false},
		"loosely, where a keyword is not known": {
			strings.Replace(strictSchema, `{"type":"string"}`, `{"not":{}}`, 1), false,
		},
		"loosely, where only a list within is loose": {
			strings.Replace(strictSchema, `{"type":"string"}`, `{"type":"array","items":`+looseSchema+`}`, 1), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var schema any
			if err := json.Unmarshal([]byte(row.schema), &schema); err != nil {
				t.Fatal(err)
			}
			text := map[string]any{"type": "json_schema", "name": "answer", "strict": row.strict, "schema": schema}
			got := sentFor(t, provider(models.Responses), row.schema)
			if want := map[string]any{"format": text}; fmt.Sprint(got["text"]) != fmt.Sprint(want) {
				t.Errorf("Responses: text is %v, want %v", got["text"], want)
			}
			delete(text, "type")
			got = sentFor(t, provider(models.Chat), row.schema)
			want := map[string]any{"type": "json_schema", "json_schema": text}
			if fmt.Sprint(got["response_format"]) != fmt.Sprint(want) {
				t.Errorf("Chat: response_format is %v, want %v", got["response_format"], want)
			}
		})
	}
}

// A server of one's own would hold every reply to the schema, also one that should call
// a tool; and no endpoint takes the schema of a list.
func TestAnAnswerByASchemaIsAskedForInWords(t *testing.T) {
	local := provider(models.Chat)
	local.Local = true
	for name, row := range map[string]struct {
		provider models.Provider
		schema   string
	}{
		"of a local server":  {local, strictSchema},
		"where it is a list": {provider(models.Responses), `{"type":"array"}`},
	} {
		t.Run(name, func(t *testing.T) {
			body := sentFor(t, row.provider, row.schema)
			if body["text"] != nil || body["response_format"] != nil {
				t.Errorf("it is on the wire: %v", body)
			}
			instructions := fmt.Sprint(body["instructions"], body["messages"])
			if !strings.Contains(instructions, "Be brief.\n\n# The form of your answer") ||
				!strings.Contains(instructions, row.schema) {
				t.Errorf("the words are %s", instructions)
			}
		})
	}
}

func TestARefusedSchemaIsPutIntoWords(t *testing.T) {
	message := func(s string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, s) }
	for name, row := range map[string]struct {
		api     models.API
		refusal string
		kept    bool // for the next belay
	}{
		"a parameter":       {models.Responses, `{"error":{"message":"no","param":"text.format","code":"unsupported_parameter"}}`, true},
		"a value":           {models.Responses, `{"error":{"message":"Invalid schema for response_format 'answer'","param":"text.format.schema","code":"invalid_json_schema"}}`, false},
		"a type":            {models.Chat, message("This response_format type is unavailable now"), true},
		"beside tools":      {models.Chat, message("Function calling with a response mime type: 'application/json' is unsupported"), true},
		"a grammar":         {models.Chat, message("Cannot use custom grammar constraints with tools."), true},
		"a model's ability": {models.Chat, message("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."), true},
	} {
		t.Run(name, func(t *testing.T) {
			right := func(body string) bool { return strings.Contains(body, "# The form of your answer") }
			endpoint := &refusing{status: 400, refusal: row.refusal, right: right}
			kept := false
			c := openai.New(openai.Options{
				Providers: []models.Provider{provider(row.api)},
				HTTP:      &http.Client{Transport: endpoint},
				Learned:   func(models.Target, string) { kept = true },
			})
			req := hello()
			req.AnswerSchema = []byte(strictSchema)
			if fault := attempt(t, t.Context(), c, req).fault; fault.Adjusted != "with the form of the answer in words" {
				t.Errorf("it taught %q", fault.Adjusted)
			}
			if fault := attempt(t, t.Context(), c, req).fault; fault.Status != http.StatusServiceUnavailable {
				t.Errorf("the second request was refused: %v", fault)
			}
			if kept != row.kept {
				t.Errorf("remembered: %v, want %v", kept, row.kept)
			}
		})
	}
}
