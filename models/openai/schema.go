package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"belay/models"
)

// schema describes the arguments of a tool in words that the target takes.
func (d *dialect) schema(spec models.ToolSpec) json.RawMessage {
	full := json.RawMessage(spec.Schema)
	if len(full) == 0 {
		full = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if d.fullSchemas || !json.Valid(full) {
		return full
	}
	plain, err := plainSchema(full, full, 0)
	if err != nil {
		return full // the target may say what it thinks of it
	}
	return plain
}

// plainKeywords are those that every reader of tool schemas knows. What the rest
// demands is still checked when a call comes.
var plainKeywords = []string{"type", "description", "enum", "properties", "required", "items", "anyOf"}

const maxSchemaDepth = 32 // references may lead back to where they stand

// plainSchema keeps of a schema what everybody reads, in its order: references
// are replaced by what they name, objects without properties have no list of them.
func plainSchema(raw, root json.RawMessage, depth int) (json.RawMessage, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("a schema deeper than %d", maxSchemaDepth)
	}
	if len(raw) == 0 || raw[0] != '{' {
		return raw, nil
	}
	var plain object
	var reference json.RawMessage
	var err error
	members(raw, func(name string, value json.RawMessage) {
		if name == "$ref" {
			reference = value
		}
		if err != nil || reference != nil || !slices.Contains(plainKeywords, name) {
			return
		}
		switch name {
		case "items":
			value, err = plainSchema(value, root, depth+1)
		case "properties":
			value, err = plainProperties(value, root, depth)
		case "anyOf":
			value, err = plainAlternatives(value, root, depth)
		}
		if name != "properties" || string(value) != "{}" {
			plain.set(name, value)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case reference != nil:
		return resolve(reference, root, depth)
	}
	return plain.bytes()
}

func plainProperties(raw, root json.RawMessage, depth int) (json.RawMessage, error) {
	if raw[0] != '{' {
		return nil, fmt.Errorf("no object: %.40s", raw)
	}
	var plain object
	var err error
	members(raw, func(name string, value json.RawMessage) {
		if err != nil {
			return
		}
		if value, err = plainSchema(value, root, depth+1); err == nil {
			plain.set(name, value)
		}
	})
	if err != nil {
		return nil, err
	}
	return plain.bytes()
}

func plainAlternatives(raw, root json.RawMessage, depth int) (json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	for i := range list {
		plain, err := plainSchema(list[i], root, depth+1)
		if err != nil {
			return nil, err
		}
		list[i] = plain
	}
	return json.Marshal(list)
}

// resolve is the schema that a reference such as #/$defs/Edit names.
func resolve(reference, root json.RawMessage, depth int) (json.RawMessage, error) {
	var path string
	if err := json.Unmarshal(reference, &path); err != nil {
		return nil, err
	}
	rest, ok := strings.CutPrefix(path, "#/")
	if !ok {
		return nil, fmt.Errorf("a reference to elsewhere: %s", path)
	}
	found := root
	for name := range strings.SplitSeq(rest, "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(found, &fields); err != nil || fields[name] == nil {
			return nil, fmt.Errorf("a reference to nothing: %s", path)
		}
		found = fields[name]
	}
	return plainSchema(found, root, depth+1)
}
