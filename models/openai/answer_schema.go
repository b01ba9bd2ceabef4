package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"belay/models"
)

// answerName is how the wire calls the schema of an answer; the name means nothing.
const answerName = "answer"

// answerText asks in words for what the wire cannot ask for.
const answerText = `# The form of your answer

Your last message, the one without a tool call, must be one JSON value that is
valid for this JSON Schema, and nothing else: no words around it, no code fence.

`

// answerForm leaves the schema of the answer in a request for the wire, or puts it
// into the instructions where the target does not take it.
func (a *attempt) answerForm(req models.Request) models.Request {
	if len(req.AnswerSchema) == 0 {
		return req
	}
	a.formed = true
	if !a.dialect.answersInText && !a.dialect.omits("response_format") && !a.dialect.omits("text") &&
		isObjectSchema(req.AnswerSchema) {
		return req
	}
	a.formed = false
	req.Instructions = strings.TrimSpace(req.Instructions + "\n\n" + answerText + string(req.AnswerSchema))
	req.AnswerSchema = nil
	return req
}

// isObjectSchema reports whether a schema describes an object at its root: no
// endpoint takes others.
func isObjectSchema(schema json.RawMessage) bool {
	var root struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(schema, &root) == nil && root.Type == "object"
}

// responseText asks for an answer by a schema, as the Responses API has it.
func responseText(schema json.RawMessage) (responses.ResponseTextConfigParam, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(schema, &fields); err != nil {
		return responses.ResponseTextConfigParam{}, fmt.Errorf("read the schema of the answer: %w", err)
	}
	format := &responses.ResponseFormatTextJSONSchemaConfigParam{
		Name:   answerName,
		Schema: make(map[string]any, len(fields)),
		Strict: param.NewOpt(isStrict(schema)),
	}
	for name, value := range fields {
		format.Schema[name] = value
	}
	return responses.ResponseTextConfigParam{
		Format: responses.ResponseFormatTextConfigUnionParam{OfJSONSchema: format},
	}, nil
}

// chatFormat is the same for Chat Completions.
type chatFormat struct {
	Type   string         `json:"type"`
	Schema chatJSONSchema `json:"json_schema"`
}

type chatJSONSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

func chatResponseFormat(schema json.RawMessage) chatFormat {
	return chatFormat{"json_schema", chatJSONSchema{answerName, isStrict(schema), schema}}
}

// isStrict reports whether a schema keeps the rules of OpenAI's strict structured
// outputs: every object names all its properties as required and takes no others.
// Without that the endpoint refuses "strict", and with it the reply always fits.
func isStrict(schema json.RawMessage) bool {
	decoder := json.NewDecoder(bytes.NewReader(schema))
	var root any
	return decoder.Decode(&root) == nil && strictPart(root, 0)
}

// loose are keywords that strict structured outputs do not know.
var loose = []string{
	"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties",
	"propertyNames", "unevaluatedProperties", "unevaluatedItems", "prefixItems", "contains", "default",
	"minProperties", "maxProperties", "uniqueItems",
}

func strictPart(part any, depth int) bool {
	schema, ok := part.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return false
	}
	for _, keyword := range loose {
		if schema[keyword] != nil {
			return false
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	if schema["type"] == "object" || properties != nil {
		required, _ := schema["required"].([]any)
		if schema["additionalProperties"] != false || len(required) != len(properties) {
			return false
		}
	}
	definitions, _ := schema["$defs"].(map[string]any)
	for _, parts := range []map[string]any{properties, definitions} {
		for _, inner := range parts {
			if !strictPart(inner, depth+1) {
				return false
			}
		}
	}
	alternatives, _ := schema["anyOf"].([]any)
	if items := schema["items"]; items != nil {
		alternatives = append([]any{items}, alternatives...)
	}
	for _, inner := range alternatives {
		if !strictPart(inner, depth+1) {
			return false
		}
	}
	return true
}
