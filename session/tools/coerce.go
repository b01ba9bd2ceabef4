package tools

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// coerce reads a value as its schema means it, where only one reading is
// possible: models encode arguments twice, write numbers and lists as text, give
// one where a list is due, and null for what they leave out.
func coerce(schema *jsonschema.Schema, value any) any {
	if schema == nil {
		return value
	}
	switch value := value.(type) {
	case string:
		return coerceText(schema, value)
	case json.Number:
		if n, err := value.Float64(); err == nil && schema.Type == "integer" && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return json.Number(strconv.FormatInt(int64(n), 10)) // 1.0 and 1e2 are integers too
		}
	case map[string]any:
		if schema.Type == "array" && schema.Items != nil && schema.Items.Type == "object" {
			return coerce(schema, []any{value})
		}
		return coerceObject(schema, value)
	case []any:
		list := make([]any, len(value))
		for i := range value {
			list[i] = coerce(schema.Items, value[i])
		}
		return list
	}
	return value
}

// coerceText reads text in which another type was written as JSON.
func coerceText(schema *jsonschema.Schema, text string) any {
	if schema.Type == "" || schema.Type == "string" {
		return text
	}
	decoded, err := decodeOne(strings.TrimSpace(text))
	if err != nil {
		return text
	}
	got := typeName(decoded)
	fits := got == schema.Type || got == "number" && schema.Type == "integer" ||
		got == "object" && schema.Type == "array"
	if !fits {
		return text
	}
	return coerce(schema, decoded)
}

func coerceObject(schema *jsonschema.Schema, fields map[string]any) map[string]any {
	object := make(map[string]any, len(fields))
	for name, value := range fields {
		property := schema.Properties[name]
		if value == nil && property != nil && property.Type != "null" && !slices.Contains(schema.Required, name) {
			continue // left out
		}
		object[name] = coerce(property, value)
	}
	return object
}
