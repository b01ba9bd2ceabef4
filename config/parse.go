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

// Fault is one mistake in the settings.
type Fault struct {
	Origin  Origin
	Key     string // such as "tiers.heavy"; empty if it is about the whole file
	Problem string
	Hint    string
}

// Error is one line: where, which key, what is wrong, and what to write instead.
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

// Faults are all mistakes in the settings, ordered by source and line.
type Faults []Fault

// Error has one line for each fault.
func (list Faults) Error() string {
	lines := make([]string, len(list))
	for i, f := range list {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults as errors.
func (list Faults) Unwrap() []error {
	errs := make([]error, len(list))
	for i, f := range list {
		errs[i] = f
	}
	return errs
}

// parseTOML reads TOML, and the line of each key. It decodes without a schema, since
// the decoder would stop at the first value of a wrong type.
func parseTOML(data []byte) (map[string]any, map[string]int, *Fault) {
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
			recordLines(parser, table, e, lines)
		}
	}
	return tree, lines, nil
}

// recordLines records the line of a key, and of the keys of its inline table.
func recordLines(parser *unstable.Parser, table []string, kv *unstable.Node, lines map[string]int) {
	path := keyPath(parser, table, kv, lines)
	value := kv.Value()
	if value == nil || value.Kind != unstable.InlineTable {
		return
	}
	for it := value.Children(); it.Next(); {
		if child := it.Node(); child.Kind == unstable.KeyValue {
			recordLines(parser, path, child, lines)
		}
	}
}

func keyPath(p *unstable.Parser, table []string, n *unstable.Node, lines map[string]int) []string {
	path := slices.Clone(table)
	for it := n.Key(); it.Next(); {
		part := it.Node()
		path = append(path, string(part.Data))
		if key := joinKey(path); lines[key] == 0 {
			lines[key] = p.Shape(part.Raw).Start.Line
		}
	}
	return path
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// joinKey writes a path as a dotted TOML key.
func joinKey(path []string) string {
	parts := make([]string, len(path))
	for i, part := range path {
		if parts[i] = part; !bareKey.MatchString(part) {
			parts[i] = quote(part)
		}
	}
	return strings.Join(parts, ".")
}

// Key writes a path as Origin takes it.
func Key(path ...string) string { return joinKey(path) }

// quote writes a basic TOML string. Its escapes are those of Go, except for a few that
// strconv uses for control characters.
func quote(text string) string {
	return strings.NewReplacer(`\\`, `\\`, `\a`, `\u0007`, `\v`, `\u000b`, `\x`, `\u00`).Replace(strconv.Quote(text))
}

// splitKey is the inverse of joinKey.
func splitKey(key string) ([]string, error) {
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

// pattern is a path as checks has it, with a star for names that the user chooses.
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

// nearestName is the known name within a typo or two of what was typed, or "".
func nearestName(typed string, known []string) string {
	best, limit := "", 1+len(typed)/4
	for _, k := range known {
		if d := distance(typed, k); d <= limit && k != typed {
			best, limit = k, d-1
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes. Very long names are just far apart.
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

// withoutUser removes user and password from an address.
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
