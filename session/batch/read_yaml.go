package batch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?line (\d+): `)

// readYAML reads a list of tasks, or a map with defaults and tasks.
func readYAML(data []byte) document {
	var doc document
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		m := Mistake{Problem: "is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: "), Hint: "see `belay help batch`"}
		if at := yamlLine.FindStringSubmatch(err.Error()); at != nil {
			m.Line, _ = strconv.Atoi(at[1])
			m.Problem = "is not YAML: " + strings.TrimPrefix(err.Error(), at[0])
		}
		doc.mistakes = append(doc.mistakes, m)
		return doc
	}
	if root.Kind == 0 || len(root.Content) == 0 {
		return doc
	}
	top := followed(root.Content[0])
	if top.Kind == yaml.SequenceNode {
		doc.addYAML("", top)
		return doc
	}
	if top.Kind != yaml.MappingNode {
		doc.mistakes = append(doc.mistakes, Mistake{Line: top.Line, Problem: "must be a list of tasks"})
		return doc
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, part := top.Content[i], followed(top.Content[i+1])
		switch key.Value {
		case "defaults":
			doc.defaults = doc.yamlTable("defaults", part)
		case "task", "tasks":
			doc.addYAML(key.Value, part)
		default:
			doc.mistakes = append(doc.mistakes, Mistake{
				Line: key.Line, Key: key.Value, Problem: "is not known here", Hint: "a file has defaults and tasks",
			})
		}
	}
	return doc
}

func (d *document) addYAML(key string, part *yaml.Node) {
	if part.Kind != yaml.SequenceNode {
		d.mistakes = append(d.mistakes, Mistake{Line: part.Line, Key: key, Problem: "must be a list of tasks"})
		return
	}
	for i, node := range part.Content {
		node = followed(node)
		if node.Kind == yaml.ScalarNode && node.Value != "" { // a prompt alone
			d.tasks = append(d.tasks, table{node.Line, map[string]value{"prompt": {node.Line, node.Value}}})
			continue
		}
		d.tasks = append(d.tasks, d.yamlTable(fmt.Sprintf("task %d", i+1), node))
	}
}

func (d *document) yamlTable(name string, node *yaml.Node) table {
	t := table{line: node.Line, values: map[string]value{}}
	if node.Kind != yaml.MappingNode {
		d.mistakes = append(d.mistakes, Mistake{Line: node.Line, Key: name, Problem: "must be a map, such as prompt: …"})
		return t
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, part := node.Content[i], followed(node.Content[i+1])
		if _, twice := t.values[key.Value]; twice {
			d.mistakes = append(d.mistakes, Mistake{Line: key.Line, Key: name + ": " + key.Value, Problem: "stands there twice"})
		}
		t.values[key.Value] = value{part.Line, scalar(part)}
	}
	return t
}

// followed is what an alias stands for.
func followed(node *yaml.Node) *yaml.Node {
	for range 100 { // aliases cannot form a ring, a damaged tree could
		if node.Kind != yaml.AliasNode || node.Alias == nil {
			break
		}
		node = node.Alias
	}
	return node
}

// scalar is a value as TOML would give it.
func scalar(node *yaml.Node) any {
	if node.Kind != yaml.ScalarNode {
		return node
	}
	switch node.ShortTag() {
	case "!!bool":
		var b bool
		if node.Decode(&b) == nil {
			return b
		}
	case "!!int":
		var n int64
		if node.Decode(&n) == nil {
			return n
		}
	case "!!float":
		var f float64
		if node.Decode(&f) == nil {
			return f
		}
	case "!!null":
		return nil
	}
	return node.Value
}
