// Package answer decides whether what a model has said holds the JSON that was asked
// for: where it stands among words and code fences, and what of it does not fit its
// schema.
package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// MaxSchema bounds a schema, in bytes: it goes with every request.
const MaxSchema = 64 << 10

// Schema is what an answer must fit. It may be used by many goroutines.
type Schema struct {
	compiled *jsonschema.Schema
	source   json.RawMessage
}

// location is the name of the schema among its own references.
const location = "belay:schema"

// NewSchema reads a JSON Schema of any draft since the fourth; without "$schema" it is
// of 2020-12. References lead nowhere outside it.
func NewSchema(source []byte) (*Schema, error) {
	source = bytes.TrimSpace(bytes.TrimPrefix(source, []byte("\ufeff")))
	if len(source) > MaxSchema {
		return nil, fmt.Errorf("the schema has more than %d KB", MaxSchema>>10)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	if _, ok := document.(map[string]any); !ok {
		return nil, errors.New("the schema is not an object")
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(closed{})
	if err := compiler.AddResource(location, document); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	compiled, err := compiler.Compile(location)
	if err != nil {
		return nil, fmt.Errorf("the schema is not one: %s", firstLines(err))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, source); err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	return &Schema{compiled, compact.Bytes()}, nil
}

// closed loads nothing: a schema must not open files or connections.
type closed struct{}

func (closed) Load(url string) (any, error) {
	return nil, fmt.Errorf("the reference to %s leads outside the schema", url)
}

// Source is the schema itself, on one line.
func (s *Schema) Source() json.RawMessage { return s.source }

// Misfit says why a text is not the answer that was asked for.
type Misfit struct {
	Found    bool     // there was JSON in it
	Problems []string // what does not fit, at most maxProblems of them
}

// maxProblems is how many problems of an answer are told.
const maxProblems = 12

// Error lists the problems.
func (m *Misfit) Error() string {
	if !m.Found {
		return "the answer holds no JSON"
	}
	return "the answer does not fit the schema: " + strings.Join(m.Problems, "; ")
}

// Request tells the model what was wrong with its answer, and asks for another.
func (m *Misfit) Request() string {
	return "Your last message is read by a program, which cannot use it: " + m.Error() + ".\n\n" +
		"Write the whole answer again, as one JSON value that fits the schema, and nothing else: " +
		"no words around it, no code fence. What you found out stays as it is."
}

// Find takes the JSON out of a text that fits the schema, as it is written there. The
// error is a *Misfit.
func (s *Schema) Find(text string) (json.RawMessage, error) {
	var first *Misfit
	for _, candidate := range candidates(text) {
		misfit := s.check(candidate)
		if misfit == nil {
			return candidate, nil
		}
		if first == nil {
			first = misfit
		}
	}
	if first == nil {
		first = &Misfit{}
	}
	return nil, first
}

// check compares one JSON text with the schema.
func (s *Schema) check(text json.RawMessage) *Misfit {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return &Misfit{Found: true, Problems: []string{err.Error()}}
	}
	var invalid *jsonschema.ValidationError
	switch err := s.compiled.Validate(value); {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		misfit := &Misfit{Found: true}
		misfit.collect(invalid)
		return misfit
	default:
		return &Misfit{Found: true, Problems: []string{err.Error()}}
	}
}

// collect lists the leaves of what a validation found, each with its place.
func (m *Misfit) collect(e *jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		m.collect(cause)
	}
	if len(m.Problems) >= maxProblems {
		return
	}
	if _, root := e.ErrorKind.(*kind.Schema); root || len(e.Causes) > 0 {
		return
	}
	place := "at its top"
	if len(e.InstanceLocation) > 0 {
		place = "/" + strings.Join(e.InstanceLocation, "/")
	}
	problem := place + ": " + e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	if !slices.Contains(m.Problems, problem) {
		m.Problems = append(m.Problems, problem)
	}
}

// firstLines is what an error of the library says, without the place that it made up.
func firstLines(err error) string {
	text := strings.ReplaceAll(err.Error(), location, "")
	lines := strings.Split(text, "\n")
	return strings.Join(lines[:min(len(lines), 4)], " ")
}

// fenced is a block of code within words.
var fenced = regexp.MustCompile("(?ms)^[ \t]*(?:```+|~~~+)[a-zA-Z0-9_-]*[ \t]*\r?\n(.*?)^[ \t]*(?:```+|~~~+)[ \t]*$")

// candidates are the JSON texts in a model's words, the likeliest first: the whole, the
// last code block and those before it, and objects and lists between the words, the
// longest first.
func candidates(text string) []json.RawMessage {
	whole := strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if json.Valid([]byte(whole)) {
		return []json.RawMessage{json.RawMessage(whole)}
	}
	var found []json.RawMessage
	for _, block := range slices.Backward(fenced.FindAllStringSubmatch(whole, -1)) {
		if inner := strings.TrimSpace(block[1]); json.Valid([]byte(inner)) {
			found = append(found, json.RawMessage(inner))
		}
	}
	between := valuesWithin(whole)
	slices.SortStableFunc(between, func(a, b json.RawMessage) int { return len(b) - len(a) })
	return append(found, between...)
}

// maxScan bounds the bytes that are read in search of values: a text of brackets alone
// would be read once for each of them.
const maxScan = 8 << 20

// valuesWithin finds the objects and lists that stand in a text.
func valuesWithin(text string) []json.RawMessage {
	var found []json.RawMessage
	for at, left := 0, maxScan; left > 0; {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		var value json.RawMessage
		err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&value)
		read := len(text) - at // as far as the end, without finding that of the value
		var invalid *json.SyntaxError
		switch {
		case err == nil:
			found = append(found, value)
			read = len(value)
			at += read
		case errors.As(err, &invalid):
			read = int(invalid.Offset)
			at++
		default:
			at++
		}
		left -= max(read, 1)
	}
	return found
}
