package batch

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// readTOML reads [defaults] and [[task]] tables.
func readTOML(data []byte) document {
	var doc document
	tree := map[string]any{}
	if err := toml.Unmarshal(data, &tree); err != nil {
		m := Mistake{
			Problem: "is not TOML: " + strings.TrimPrefix(err.Error(), "toml: "),
			Hint:    "see `belay help batch`",
		}
		var at *toml.DecodeError
		if errors.As(err, &at) {
			m.Line, _ = at.Position()
		}
		doc.mistakes = append(doc.mistakes, m)
		return doc
	}
	lines := tomlLines(data)
	for key, part := range tree {
		switch key {
		case "defaults":
			values, ok := part.(map[string]any)
			if !ok {
				doc.mistakes = append(doc.mistakes, Mistake{
					Line: lines[key], Key: key, Problem: "must be a table", Hint: "[defaults]",
				})
				continue
			}
			doc.defaults = tomlTable(values, lines, key)
		case "task", "tasks":
			doc.addTOML(key, part, lines)
		default:
			doc.mistakes = append(doc.mistakes, Mistake{
				Line: lines[key], Key: key, Problem: "is not known here", Hint: "a file has [defaults] and [[task]]",
			})
		}
	}
	return doc
}

func (d *document) addTOML(key string, part any, lines map[string]int) {
	list, ok := part.([]any)
	for i := 0; ok && i < len(list); i++ {
		var values map[string]any
		if values, ok = list[i].(map[string]any); ok {
			d.tasks = append(d.tasks, tomlTable(values, lines, fmt.Sprintf("%s[%d]", key, i)))
		}
	}
	if !ok {
		d.mistakes = append(d.mistakes, Mistake{
			Line: lines[key], Key: key, Problem: "must be a list of tables", Hint: "[[task]] above each one",
		})
	}
}

func tomlTable(values map[string]any, lines map[string]int, at string) table {
	t := table{line: lines[at], values: map[string]value{}}
	for name, is := range values {
		line := lines[at+"."+name]
		if line == 0 {
			line = t.line
		}
		t.values[name] = value{line, is}
	}
	return t
}

// tomlLines are the lines of tables and of the keys in them; the n-th table of a
// list is at "name[n]".
func tomlLines(data []byte) map[string]int {
	lines := map[string]int{}
	parser := &unstable.Parser{}
	parser.Reset(data)
	counts := map[string]int{}
	var at string
	note := func(key string, n *unstable.Node) {
		for it := n.Key(); it.Next(); {
			part := it.Node()
			if key != "" {
				key += "."
			}
			key += string(part.Data)
			if lines[key] == 0 {
				lines[key] = parser.Shape(part.Raw).Start.Line
			}
		}
	}
	for parser.NextExpression() {
		e := parser.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			it := e.Key()
			if !it.Next() {
				continue
			}
			part := it.Node()
			at = string(part.Data)
			line := parser.Shape(part.Raw).Start.Line
			if lines[at] == 0 {
				lines[at] = line
			}
			if e.Kind == unstable.ArrayTable {
				at, counts[at] = fmt.Sprintf("%s[%d]", at, counts[at]), counts[at]+1
				lines[at] = line
			}
		case unstable.KeyValue:
			note(at, e)
		}
	}
	return lines
}
