package config

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Fault is one thing wrong with the settings.
type Fault struct {
	Origin  Origin
	Key     string // such as "tiers.heavy"; empty when the whole file is meant
	Problem string
	Hint    string
}

// Error is one line: where, which key, what, and what to write.
func (f Fault) Error() string {
	var b strings.Builder
	switch {
	case f.Origin.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", f.Origin.Name, f.Origin.Line)
	case f.Origin.Name != "" && f.Origin.Name != f.Key:
		fmt.Fprintf(&b, "%s: ", f.Origin.Name)
	}
	if f.Key != "" {
		fmt.Fprintf(&b, "%s: ", f.Key)
	}
	b.WriteString(f.Problem)
	if f.Hint != "" {
		fmt.Fprintf(&b, " (%s)", f.Hint)
	}
	return b.String()
}

// Faults are all faults of the settings, by file and line.
type Faults []Fault

// Error is a line for each.
func (list Faults) Error() string {
	lines := make([]string, len(list))
	for i, f := range list {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives each fault as an error.
func (list Faults) Unwrap() []error {
	errs := make([]error, len(list))
	for i, f := range list {
		errs[i] = f
	}
	return errs
}

// parse reads TOML, and on which line each key stands. The whole is decoded
// without a schema: against one, the decoder stops at the first wrong type.
func parse(data []byte) (map[string]any, map[string]int, *Fault) {
	tree := map[string]any{}
	if err := toml.Unmarshal(data, &tree); err != nil {
		f := &Fault{
			Problem: "is not TOML: " + strings.TrimPrefix(err.Error(), "toml: "),
			Hint:    "see https://toml.io, or compare with `belay config example`",
		}
		var at *toml.DecodeError
		if errors.As(err, &at) {
			f.Origin.Line, _ = at.Position()
		}
		return nil, nil, f
	}
	lines := map[string]int{}
	parser := &unstable.Parser{}
	parser.Reset(data)
	var table []string
	for parser.NextExpression() {
		switch e := parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = keyPath(parser, nil, e, lines)
		case unstable.KeyValue:
			mark(parser, table, e, lines)
		}
	}
	return tree, lines, nil
}

// mark notes the line of a key and of those in an inline table under it.
func mark(parser *unstable.Parser, table []string, kv *unstable.Node, lines map[string]int) {
	path := keyPath(parser, table, kv, lines)
	value := kv.Value()
	if value == nil || value.Kind != unstable.InlineTable {
		return
	}
	for it := value.Children(); it.Next(); {
		if child := it.Node(); child.Kind == unstable.KeyValue {
			mark(parser, path, child, lines)
		}
	}
}

func keyPath(p *unstable.Parser, table []string, n *unstable.Node, lines map[string]int) []string {
	path := slices.Clone(table)
	for it := n.Key(); it.Next(); {
		part := it.Node()
		path = append(path, string(part.Data))
		if key := name(path); lines[key] == 0 {
			lines[key] = p.Shape(part.Raw).Start.Line
		}
	}
	return path
}

var bare = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// name writes a path as TOML does.
func name(path []string) string {
	parts := make([]string, len(path))
	for i, part := range path {
		if parts[i] = part; !bare.MatchString(part) {
			parts[i] = quote(part)
		}
	}
	return strings.Join(parts, ".")
}

// quote writes a basic string of TOML, whose escapes are Go's but for a few
// that strconv makes of signs a terminal should not get.
func quote(text string) string {
	return strings.NewReplacer(`\\`, `\\`, `\a`, `\u0007`, `\v`, `\u000b`, `\x`, `\u00`).Replace(strconv.Quote(text))
}

// split reads a path as name writes it.
func split(key string) ([]string, error) {
	var path []string
	for rest := key; ; {
		part := rest
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, errors.New("a quotation mark is missing")
			}
			if part, err = strconv.Unquote(quoted); err != nil {
				return nil, errors.New("the quotation marks hold no text")
			}
			rest = rest[len(quoted):]
		} else {
			if dot := strings.IndexByte(rest, '.'); dot >= 0 {
				part = rest[:dot]
			}
			rest = rest[len(part):]
		}
		if part == "" {
			return nil, errors.New("is no key")
		}
		path = append(path, part)
		if rest == "" {
			return path, nil
		}
		if rest[0] != '.' || len(rest) == 1 {
			return nil, errors.New("is no key")
		}
		rest = rest[1:]
	}
}

// pattern is a path with a star for what the user may name.
func pattern(path []string) string {
	parts := slices.Clone(path)
	if len(parts) > 1 && (parts[0] == "providers" || parts[0] == "models") {
		parts[1] = "*"
	}
	if len(parts) > 3 && parts[2] == "headers" {
		parts[3] = "*"
	}
	return strings.Join(parts, ".")
}

// nearest is the known name that a slip or two lead to, or "".
func nearest(typed string, known []string) string {
	best, limit := "", 1+len(typed)/4
	for _, k := range known {
		if d := distance(typed, k); d <= limit && k != typed {
			best, limit = k, d-1
		}
	}
	return best
}

// distance is Levenshtein's over bytes, cut off for what is far too long.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// withoutUser hides name and password in an address.
func withoutUser(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil || u.User == nil {
		return text
	}
	u.User = nil
	return u.String()
}

func sortedKeys(m reflect.Value) []string {
	var keys []string
	for _, k := range m.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	return keys
}
