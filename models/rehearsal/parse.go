package rehearsal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Parse reads a script: JSON if it begins with a brace, otherwise TOML. The error
// joins every mistake found, each prefixed with name and, where known, its line.
func Parse(name string, data []byte) (*Script, error) {
	var script Script
	var lines []int
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		if err := parseJSON(name, data, &script); err != nil {
			return nil, err
		}
	} else {
		if err := parseTOML(name, data, &script); err != nil {
			return nil, err
		}
		lines = replyLines(data)
	}
	if err := script.check(name, lines); err != nil {
		return nil, err
	}
	return &script, nil
}

func parseTOML(name string, data []byte, s *Script) error {
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(s)
	if err == nil {
		return nil
	}
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) {
		var all []error
		for i := range missing.Errors {
			e := &missing.Errors[i]
			line, column := e.Position()
			all = append(all, fmt.Errorf("%s:%d:%d: unknown key %s", name, line, column, strings.Join(e.Key(), ".")))
		}
		return errors.Join(all...)
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, column := bad.Position()
		return fmt.Errorf("%s:%d:%d: %s", name, line, column, strings.TrimPrefix(bad.Error(), "toml: "))
	}
	return fmt.Errorf("%s: %w", name, err)
}

func parseJSON(name string, data []byte, s *Script) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(s); err != nil {
		at := dec.InputOffset()
		var syntax *json.SyntaxError
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.As(err, &syntax):
			at = syntax.Offset
		case errors.As(err, &wrong):
			at = wrong.Offset
		}
		at = min(max(at, 0), int64(len(data)))
		return fmt.Errorf("%s:%d: %w", name, 1+bytes.Count(data[:at], []byte("\n")), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: something follows the script's closing brace", name)
	}
	return nil
}

// replyLines finds the line of each [[reply]] header, so that semantic errors can
// name a line just as syntax errors do.
func replyLines(data []byte) []int {
	var parser unstable.Parser
	parser.Reset(data)
	var lines []int
	for parser.NextExpression() {
		e := parser.Expression()
		if e.Kind != unstable.ArrayTable {
			continue
		}
		key := e.Key()
		if !key.Next() || string(key.Node().Data) != "reply" || !key.IsLast() {
			continue
		}
		lines = append(lines, parser.Shape(key.Node().Raw).Start.Line)
	}
	return lines
}

func (s *Script) check(name string, lines []int) error {
	var all []error
	for i := range s.Replies {
		where := fmt.Sprintf("%s: reply %d", name, i+1)
		if i < len(lines) {
			where = fmt.Sprintf("%s:%d: reply %d", name, lines[i], i+1)
		}
		for _, err := range s.Replies[i].check(s.Models) {
			all = append(all, fmt.Errorf("%s: %w", where, err))
		}
	}
	if s.Default != nil {
		for _, err := range s.Default.check(s.Models) {
			all = append(all, fmt.Errorf("%s: default: %w", name, err))
		}
	}
	if _, ok := likenesses[s.Like]; s.Like != "" && !ok {
		all = append(all, fmt.Errorf("%s: like %q: use one of %s", name, s.Like,
			strings.Join(slices.Sorted(maps.Keys(likenesses)), ", ")))
	}
	if s.Speed.Chunk < 0 {
		all = append(all, fmt.Errorf("%s: speed: chunk is negative", name))
	}
	return errors.Join(all...)
}

func (r *Reply) check(models []string) []error {
	var all []error
	bad := func(format string, args ...any) { all = append(all, fmt.Errorf(format, args...)) }
	if r.Model != "" && len(models) > 0 && !slices.Contains(models, r.Model) {
		bad("model %q is not in models", r.Model)
	}
	if r.API != "" && r.API != "responses" && r.API != "chat" {
		bad("api %q: use responses or chat", r.API)
	}
	if r.Times < -1 {
		bad("times %d: use a count, or -1 for always", r.Times)
	}
	if r.Times != 0 && r.For != 0 {
		bad("times and for exclude each other")
	}
	if r.Speed != nil && r.Speed.Chunk < 0 {
		bad("speed: chunk is negative")
	}
	for i, c := range r.Calls {
		if c.Name == "" {
			bad("call %d has no name", i+1)
		}
		if _, err := json.Marshal(c.Arguments); err != nil {
			bad("call %d: arguments: %w", i+1, err)
		}
	}
	if r.Fault != nil {
		all = append(all, r.Fault.check(r)...)
	} else if r.Text == "" && r.Reasoning == "" && len(r.Calls) == 0 {
		bad("it has neither text, reasoning, calls nor a fault")
	}
	return all
}

func (f *Fault) check(reply *Reply) []error {
	var all []error
	bad := func(format string, args ...any) { all = append(all, fmt.Errorf("fault: "+format, args...)) }
	if !slices.Contains(hows, f.How) {
		bad("how %q: use one of %s", f.How, strings.Join(hows, ", "))
	}
	if f.At != "" && !slices.Contains(places, f.At) {
		bad("at %q: use one of %s", f.At, strings.Join(places, ", "))
	}
	if f.After < 0 {
		bad("after is negative")
	}
	if f.Status != 0 && (f.Status < 200 || f.Status > 599) {
		bad("status %d is not between 200 and 599", f.Status)
	}
	if f.How == howStatus && f.Status == 0 {
		bad("how \"status\" needs a status")
	}
	if f.How == howHuge {
		f.At = cmp.Or(f.At, atText)
	}
	if f.Size < 0 || f.Size > math.MaxInt32/8 {
		bad("size %d is out of range", f.Size)
	}
	switch {
	case f.At == atReasoning && reply.Reasoning == "":
		bad("at \"reasoning\", but there is none")
	case f.At == atText && reply.Text == "":
		bad("at \"text\", but there is none")
	case f.At == atArguments && len(reply.Calls) == 0:
		bad("at \"arguments\", but there are no calls")
	case f.At == atItem && f.After > reply.items():
		bad("at \"item\", after %d, but there are %d", f.After, reply.items())
	}
	return all
}

// items is the number of output items in the reply.
func (r *Reply) items() int {
	n := len(r.Calls)
	if r.Reasoning != "" {
		n++
	}
	if r.Text != "" {
		n++
	}
	return n
}
