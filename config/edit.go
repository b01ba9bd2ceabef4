package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Assignment gives a key of a settings file a value: a string, a bool, an int64, a
// float64 or a list of strings.
type Assignment struct {
	Path  []string // such as "tiers", "heavy"
	Value any
}

// document is a settings file with the place of everything in it.
type document struct {
	data   []byte
	tree   map[string]any
	tables []tablePlace
	values []valuePlace
}

// tablePlace is a line such as [providers.box].
type tablePlace struct {
	path []string
	many bool // [[…]]
	end  int  // of its line, without the line break
}

// valuePlace is a key with its value.
type valuePlace struct {
	path   []string
	table  []string // the header that it stands below
	inline bool     // within { … }
	start  int
	value  int // where its value begins
	end    int
	kind   unstable.Kind
	items  []place // of a list of strings
	remark bool    // there are comments in the value
}

type place struct {
	text       string
	start, end int
}

// assign writes an assignment into TOML and leaves every other byte as it is. Of the
// ways to write it, it takes the first that reads as wanted.
func (d document) assign(a Assignment) ([]byte, error) {
	want, err := withValue(d.tree, a.Path, plainValue(a.Value))
	if err != nil {
		return nil, err
	}
	text, err := writeValue(a.Value)
	if err != nil {
		return nil, err
	}
	for _, try := range d.ways(a, text) {
		got, _, fault := parseTOML(try)
		if fault == nil && reflect.DeepEqual(got, want) {
			return try, nil
		}
	}
	return nil, fmt.Errorf("%s cannot be set without touching what stands around it", joinKey(a.Path))
}

// ways are the texts that an assignment could make, the nearest to the person's own
// hand first.
func (d document) ways(a Assignment, text string) [][]byte {
	at := slices.IndexFunc(d.values, func(v valuePlace) bool { return slices.Equal(v.path, a.Path) })
	if at >= 0 {
		return d.replace(d.values[at], a.Value, text)
	}
	parent, key := a.Path[:len(a.Path)-1], joinKey(a.Path[len(a.Path)-1:])
	var ways [][]byte
	for _, v := range slices.Backward(d.values) {
		switch {
		case v.inline && len(v.path) > 1 && slices.Equal(v.path[:len(v.path)-1], parent):
			ways = append(ways, d.splice(v.end, v.end, ", "+key+" = "+text))
		case v.kind == unstable.InlineTable && slices.Equal(v.path, parent):
			ways = append(ways, d.splice(v.value+1, v.value+1, " "+key+" = "+text+" "))
		}
	}
	for _, v := range slices.Backward(d.values) { // below its last sibling
		if len(v.path) > len(parent) && slices.Equal(v.path[:len(parent)], parent) && !v.inline {
			line := d.indent(v.start) + joinKey(a.Path[len(v.table):]) + " = " + text
			ways = append(ways, d.lineAfter(v.end, line))
		}
	}
	for _, t := range slices.Backward(d.tables) {
		if !t.many && slices.Equal(t.path, parent) {
			ways = append(ways, d.lineAfter(t.end, d.indent(t.end)+key+" = "+text))
		}
	}
	if len(parent) > 0 {
		table := d.newline() + "[" + joinKey(parent) + "]" + d.newline() + key + " = " + text
		if len(bytes.TrimSpace(d.data)) == 0 {
			table = strings.TrimPrefix(table, d.newline())
		}
		ways = append(ways, d.lineAfter(len(d.data), table))
	}
	return append(ways, d.splice(0, 0, joinKey(a.Path)+" = "+text+d.newline()))
}

// replace writes a value in the place of an old one. Comments in a list stay where one
// entry of it comes to the front.
func (d document) replace(v valuePlace, value any, text string) [][]byte {
	if !v.remark {
		return [][]byte{d.splice(v.value, v.end, text)}
	}
	list, ok := value.([]string)
	if !ok || len(list) == 0 {
		return nil
	}
	front := quote(list[0])
	for _, item := range v.items {
		if item.text != list[0] {
			continue
		}
		end := item.end
		rest := d.data[end:v.end]
		if after := bytes.TrimLeft(rest, " \t"); len(after) > 0 && after[0] == ',' {
			end = v.end - len(after) + 1
		}
		moved := document{data: d.splice(item.start, end, "")}
		return [][]byte{moved.splice(v.value+1, v.value+1, front+", ")}
	}
	return [][]byte{d.splice(v.value+1, v.value+1, front+", ")}
}

func (d document) splice(start, end int, text string) []byte {
	return slices.Concat(d.data[:start], []byte(text), d.data[end:])
}

// lineAfter puts a line below the one that holds a place.
func (d document) lineAfter(at int, line string) []byte {
	if i := bytes.IndexByte(d.data[at:], '\n'); i >= 0 {
		return d.splice(at+i+1, at+i+1, line+d.newline())
	}
	if at = len(d.data); at > 0 && d.data[at-1] != '\n' {
		line = d.newline() + line
	}
	return d.splice(at, at, line+d.newline())
}

// newline is the line break of the file.
func (d document) newline() string {
	if i := bytes.IndexByte(d.data, '\n'); i > 0 && d.data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// indent is the space before what stands on a place's line.
func (d document) indent(at int) string {
	line := d.data[bytes.LastIndexByte(d.data[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// parseDocument reads TOML with the place of each key.
func parseDocument(data []byte) (document, *Fault) {
	tree, _, fault := parseTOML(data)
	if fault != nil {
		return document{}, fault
	}
	d := document{data: data, tree: tree}
	parser := &unstable.Parser{KeepComments: true}
	parser.Reset(data)
	var table []string
	for parser.NextExpression() {
		switch e := parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			path, end := keyOf(nil, e)
			table = path
			d.tables = append(d.tables, tablePlace{path, e.Kind == unstable.ArrayTable, end})
		case unstable.KeyValue:
			d.record(table, table, e, false)
		}
	}
	return d, nil
}

func (d *document) record(table, before []string, kv *unstable.Node, inline bool) {
	path, end := keyOf(before, kv)
	value := kv.Value()
	v := valuePlace{
		path: path, table: table, inline: inline, kind: value.Kind,
		start: int(kv.Raw.Offset), end: int(kv.Raw.Offset + kv.Raw.Length),
	}
	equals := bytes.IndexByte(d.data[end:], '=')
	v.value = end + equals + 1
	v.value += len(d.data[v.value:v.end]) - len(bytes.TrimLeft(d.data[v.value:v.end], " \t"))
	if value.Kind == unstable.Array || value.Kind == unstable.InlineTable {
		d.recordWithin(&v, value)
	}
	d.values = append(d.values, v)
}

// recordWithin notes what a list or an inline table holds.
func (d *document) recordWithin(v *valuePlace, value *unstable.Node) {
	for it := value.Children(); it.Next(); {
		switch child := it.Node(); child.Kind {
		case unstable.Comment:
			v.remark = true
		case unstable.KeyValue:
			d.record(v.table, v.path, child, true)
		case unstable.String:
			start := int(child.Raw.Offset)
			v.items = append(v.items, place{string(child.Data), start, start + int(child.Raw.Length)})
		}
	}
}

// keyOf is the path of a key, below that of its table, and where it ends.
func keyOf(table []string, n *unstable.Node) (path []string, end int) {
	path = slices.Clone(table)
	for it := n.Key(); it.Next(); {
		part := it.Node()
		path = append(path, string(part.Data))
		end = int(part.Raw.Offset + part.Raw.Length)
	}
	return path, end
}

// withValue is a tree with one value changed.
func withValue(tree map[string]any, path []string, value any) (map[string]any, error) {
	changed := maps.Clone(tree)
	if changed == nil {
		changed = map[string]any{}
	}
	if len(path) == 1 {
		if _, table := tree[path[0]].(map[string]any); table {
			return nil, fmt.Errorf("%s is a table", path[0])
		}
		changed[path[0]] = value
		return changed, nil
	}
	below, ok := tree[path[0]].(map[string]any)
	if _, there := tree[path[0]]; there && !ok {
		return nil, fmt.Errorf("%s is no table", path[0])
	}
	inner, err := withValue(below, path[1:], value)
	if err != nil {
		return nil, err
	}
	changed[path[0]] = inner
	return changed, nil
}

// plainValue is a value as the parser reads it.
func plainValue(value any) any {
	if list, ok := value.([]string); ok {
		plain := make([]any, len(list))
		for i, text := range list {
			plain[i] = text
		}
		return plain
	}
	return value
}

// writeValue writes a value as TOML.
func writeValue(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return quote(value), nil
	case bool:
		return strconv.FormatBool(value), nil
	case int64:
		return strconv.FormatInt(value, 10), nil
	case float64:
		text := strconv.FormatFloat(value, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text, nil
	case []string:
		quoted := make([]string, len(value))
		for i, text := range value {
			quoted[i] = quote(text)
		}
		return "[" + strings.Join(quoted, ", ") + "]", nil
	}
	return "", errors.New("cannot be written as TOML")
}
