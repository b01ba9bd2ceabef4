package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// ErrArguments is in the chain of every fault in a call's arguments.
var ErrArguments = errors.New("the call was not run")

// maxFaults is how many faults of a call are named.
const maxFaults = 20

// schemas are the schemas of all tools by name, made when they are needed first.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Resolved, error) {
	byName := map[string]*jsonschema.Resolved{}
	for _, e := range catalog {
		var schema jsonschema.Schema
		if err := json.Unmarshal([]byte(e.schema), &schema); err != nil {
			return nil, fmt.Errorf("read schema of %s: %w", e.name, err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			return nil, fmt.Errorf("resolve schema of %s: %w", e.name, err)
		}
		byName[e.name] = resolved
	}
	return byName, nil
})

// readArguments gives a call's arguments as one JSON object that fits the schema
// of its tool.
func readArguments(schema *jsonschema.Resolved, args string) (string, error) {
	value, err := strict(args)
	if err != nil {
		return "", fmt.Errorf("%w: its arguments are not one JSON object: %w; its schema is %s",
			ErrArguments, err, describe(schema))
	}
	value = coerceObject(schema.Schema(), value)
	if err := schema.Validate(withFloats(value)); err != nil {
		faults := explain("", schema.Schema(), value)
		if len(faults) == 0 {
			return "", fmt.Errorf("%w: %w", ErrArguments, err)
		}
		if more := len(faults) - maxFaults; more > 0 {
			faults = append(faults[:maxFaults], fmt.Sprintf("and %d more", more))
		}
		return "", fmt.Errorf("%w: %s", ErrArguments, strings.Join(faults, "; "))
	}
	read, err := json.Marshal(value)
	return string(read), err
}

// describe is a schema as its tool tells it.
func describe(schema *jsonschema.Resolved) string {
	b, err := json.Marshal(schema.Schema())
	if err != nil {
		return "not known"
	}
	return string(b)
}

// maxEncodings is how often arguments may have been encoded.
const maxEncodings = 3

// strict decodes exactly one JSON object, also one that was encoded more than
// once, or that is empty because its tool needs no arguments.
func strict(args string) (map[string]any, error) {
	if strings.TrimSpace(args) == "" {
		return map[string]any{}, nil
	}
	for range maxEncodings {
		value, err := decodeOne(args)
		if err != nil {
			return nil, err
		}
		switch value := value.(type) {
		case map[string]any:
			return value, nil
		case string:
			args = value
		default:
			return nil, errors.New("an object is needed")
		}
	}
	return nil, errors.New("an object is needed")
}

// decodeOne decodes exactly one JSON value.
func decodeOne(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return v, nil
}

// withFloats is a decoded value with its numbers as the library knows them: it
// takes a json.Number for a string.
func withFloats(value any) any {
	switch value := value.(type) {
	case json.Number:
		n, _ := value.Float64() // infinite where it is out of range
		return min(max(n, -math.MaxFloat64), math.MaxFloat64)
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = withFloats(item)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, item := range value {
			object[name] = withFloats(item)
		}
		return object
	}
	return value
}

// explain lists all faults of a value, each with its place as a JSON pointer (RFC
// 6901), so that a model can mend them at once: the library names only the first
// one. It knows the keywords that the schemas of the tools use.
func explain(at string, schema *jsonschema.Schema, value any) []string {
	var faults []string
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf("at '%s': ", at)+fmt.Sprintf(format, args...))
	}
	below := func(name any, schema *jsonschema.Schema, value any) {
		faults = append(faults, explain(fmt.Sprint(at, "/", name), schema, value)...)
	}
	got := typeName(value)
	if want := schema.Type; want != "" && want != got && !(want == "integer" && got == "number") {
		fault("got %s, want %s", got, want)
		return faults
	}
	if len(schema.Enum) > 0 && !slices.Contains(schema.Enum, value) {
		fault("value must be one of %s", quotedList(schema.Enum))
	}
	switch value := value.(type) {
	case string:
		length := utf8.RuneCountInString(value)
		checkRange("Length", length, schema.MinLength, schema.MaxLength, fault)
	case json.Number:
		n, _ := value.Float64()
		if schema.Type == "integer" && n != math.Trunc(n) {
			fault("got number, want integer")
		}
		checkRange("imum", n, schema.Minimum, schema.Maximum, fault)
	case []any:
		checkRange("Items", len(value), schema.MinItems, schema.MaxItems, fault)
		for i, item := range value {
			if schema.Items != nil {
				below(i, schema.Items, item)
			}
		}
	case map[string]any:
		explainNames(schema, value, fault)
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			if property, ok := value[name]; ok {
				below(name, schema.Properties[name], property)
			}
		}
	}
	return faults
}

// explainNames lists the properties that are missing or too many.
func explainNames(schema *jsonschema.Schema, value map[string]any, fault func(string, ...any)) {
	var missing, unknown []any
	for _, name := range schema.Required {
		if _, ok := value[name]; !ok {
			missing = append(missing, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if schema.Properties[name] == nil && schema.AdditionalProperties != nil {
			unknown = append(unknown, name)
		}
	}
	if len(missing) > 0 {
		fault("missing %s", quotedList(missing))
	}
	if len(unknown) > 0 {
		known := slices.Sorted(maps.Keys(schema.Properties))
		fault("unknown %s; there are %s", quotedList(unknown), strings.Join(known, ", "))
	}
}

// checkRange reports a value below or above the bounds of a keyword, which is
// named by its end: "Length" for minLength and maxLength.
func checkRange[T int | float64](keyword string, got T, low, high *T, fault func(string, ...any)) {
	if low != nil && got < *low {
		fault("min%s: got %v, want %v at least", keyword, got, *low)
	}
	if high != nil && got > *high {
		fault("max%s: got %v, want %v at most", keyword, got, *high)
	}
}

func quotedList(names []any) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, fmt.Sprintf("'%v'", name))
	}
	return strings.Join(quoted, ", ")
}

// typeName is the JSON type of a decoded value.
func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
