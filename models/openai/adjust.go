package openai

import (
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"belay/models"
)

// adjustment is a change of the dialect that a refusal asks for.
type adjustment struct {
	name  string // as it is remembered
	words string // what the next request is like, for people
	asked func(refusal) bool
	apply func(*dialect)
}

// refusal is what an endpoint said of a request, in lower case.
type refusal struct {
	param    string
	text     string
	pictures bool // the request held some
	formed   bool // the request asked for an answer by a schema
}

func (r refusal) says(parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(r.text, p) })
}

// refusing are the ways to say that a parameter is not taken.
var refusing = []string{
	"unsupported", "not supported", "not support", "unknown", "unrecognized", "unrecognised", "unexpected",
	"not permitted", "not allowed", "extra", "invalid", "not available", "not enabled", "does not exist",
	"cannot be", "unable to", "not recognized", "no such",
}

// adjustments are tried in this order; the first that a refusal asks for, and
// that changes something, is made.
var adjustments = append([]adjustment{
	{
		name: "max_completion_tokens", words: "with max_completion_tokens",
		asked: func(r refusal) bool {
			return r.says("max_completion_tokens") && r.says("max_tokens") && !r.names("max_completion_tokens")
		},
		apply: func(d *dialect) { d.newLimit = true },
	},
	{
		name: "max_tokens", words: "with max_tokens",
		asked: func(r refusal) bool { return r.names("max_completion_tokens") },
		apply: func(d *dialect) { d.newLimit = false },
	},
	{
		name: "pictures", words: "without pictures",
		asked: func(r refusal) bool {
			return r.pictures && r.says("image", "picture", "vision", "multimodal", "mmproj", "modality", "modalities",
				"valid string", "expected a string", "must be a string") // of a content in parts
		},
		apply: func(d *dialect) { d.textOnly = true },
	},
	{
		name: "answers in text", words: "with the form of the answer in words",
		asked: func(r refusal) bool {
			return r.formed && (strings.HasPrefix(r.param, "text") || r.names("response_format") ||
				r.says("response_format", "text.format", "json_schema", "json schema", "structured output",
					"response mime type", "grammar"))
		},
		apply: func(d *dialect) { d.answersInText = true },
	},
	{
		name: "system message first", words: "with one system message, and roles that take turns",
		asked: func(r refusal) bool {
			return r.says("system message must be", "roles must alternate", "only the first message",
				"system role not supported", "unexpected role 'system'", "unknown role: developer") ||
				r.says("developer") && r.says("role") && r.refuses()
		},
		apply: func(d *dialect) { d.notes, d.separateUsers = "", false },
	},
	{
		name: "answered tools", words: "with a word between a tool's output and yours",
		asked: func(r refusal) bool { return r.says("'user' after role 'tool'", "user after tool") },
		apply: func(d *dialect) { d.answersTools = true },
	},
	{
		name: "short ids", words: "with call ids of nine characters",
		asked: func(r refusal) bool { return r.says("tool call id") && r.says("length of 9") },
		apply: func(d *dialect) { d.shortIDs = true },
	},
	{
		name: "thought signatures", words: "with a stand-in for thought signatures",
		asked: func(r refusal) bool { return r.says("missing a thought_signature", "missing thought_signature") },
		apply: func(d *dialect) { d.foreignCall = googleForeignCall },
	},
	{
		name: "no effort", words: "without a reasoning effort",
		asked: func(r refusal) bool { return r.says("support thinking", "support reasoning") },
		apply: func(d *dialect) {
			for _, p := range []string{"reasoning_effort", "reasoning"} {
				d.leaveOut(p)
			}
		},
	},
	{
		name: "without reasoning", words: "without earlier reasoning",
		asked: func(r refusal) bool {
			return r.says("reasoning_content", "reasoning_details", "thinking", "'reasoning'") && r.refuses() &&
				!r.says("missing", "must be passed", "must be provided", "is required")
		},
		apply: func(d *dialect) { d.noReasoning, d.needsReasoning = true, false },
	},
	{
		name: "with reasoning", words: "with reasoning beside every call",
		asked: func(r refusal) bool {
			return r.says("reasoning_content") && r.says("missing", "must be", "is required", "passed back")
		},
		apply: func(d *dialect) { d.noReasoning, d.needsReasoning = false, true },
	},
	{
		name: "plain schemas", words: "with plain descriptions of the tools",
		asked: func(r refusal) bool {
			return r.says("additionalproperties", "$ref", "$schema", "json schema", "function_declarations",
				"function.parameters", "invalid schema")
		},
		apply: func(d *dialect) { d.fullSchemas = false },
	},
}, omissions(
	"stream_options", "parallel_tool_calls", "prompt_cache_key", "service_tier", "reasoning_effort",
	"max_output_tokens", "max_tokens", "include", "store", "background", "strict", "reasoning",
)...)

// omissions leave out a parameter that the endpoint names.
func omissions(parameters ...string) []adjustment {
	var all []adjustment
	for _, p := range parameters {
		all = append(all, adjustment{
			name:  "omit " + p,
			words: "without " + p,
			asked: func(r refusal) bool { return r.names(p) },
			apply: func(d *dialect) { d.leaveOut(p) },
		})
	}
	return all
}

// names says whether it is this parameter that is refused.
func (r refusal) names(parameter string) bool {
	param := strings.TrimPrefix(r.param, "body.")
	if param == parameter || strings.HasPrefix(param, parameter+".") || strings.HasSuffix(param, "."+parameter) {
		return true
	}
	// Some words are parameters and also plain English: in the text they count
	// only in quotation marks.
	quoted := regexp.MustCompile("[\"'`]([a-z0-9_.\\[\\]]*\\.)?" + regexp.QuoteMeta(parameter) + "[\"'`.]")
	return param == "" && r.refuses() && (quoted.MatchString(r.text) || strings.Contains(parameter, "_") && r.says(parameter))
}

// ofValue reports whether it is a value that is refused, such as this one schema: that
// says nothing of the next one.
func (r refusal) ofValue(code string) bool {
	return strings.Contains(code, "value") || strings.Contains(code, "schema") || strings.HasSuffix(r.param, ".schema") ||
		r.formed && r.says("invalid schema for response_format")
}

func (r refusal) refuses() bool { return r.says(refusing...) }

// memory is what was learned of targets. It may be used by many goroutines.
type memory struct {
	mu    sync.Mutex
	names map[models.Target][]string
}

// Remember has requests to a target written as was learned before; see
// [Options.Learned].
func (c *Client) Remember(target models.Target, name string) { c.memory.add(target, name) }

func (m *memory) add(target models.Target, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names == nil {
		m.names = map[models.Target][]string{}
	}
	if !slices.Contains(m.names[target], name) {
		m.names[target] = append(m.names[target], name)
	}
}

// apply changes a dialect by what was learned of a target.
func (m *memory) apply(target models.Target, d *dialect) {
	m.mu.Lock()
	names := slices.Clone(m.names[target])
	m.mu.Unlock()
	for _, name := range names {
		for i := range adjustments {
			if adjustments[i].name == name {
				adjustments[i].apply(d)
			}
		}
	}
}

// adjust learns from a refusal how the target wants to be asked. The fault then
// says so, and asking again helps.
func (a *attempt) adjust(fault *models.Fault) {
	if fault.Phase != models.BeforeEvent || fault.Status < http.StatusBadRequest {
		return
	}
	switch {
	case fault.Kind == models.KindRequest:
	case fault.Kind == models.KindModel: // "no endpoints found that support image input"
	case fault.Status == http.StatusInternalServerError: // a template that gave up
	default:
		return
	}
	r := refusal{
		param:    strings.ToLower(fault.Param),
		text:     strings.ToLower(fault.Message),
		pictures: a.pictures,
		formed:   a.formed,
	}
	if strings.Contains(fault.Raw, `"loc"`) { // a list of faults, whose messages do not say where they are
		r.text += strings.ToLower(fault.Raw)
	}
	for i := range adjustments {
		adjusted := a.dialect
		if !adjustments[i].asked(r) {
			continue
		}
		adjustments[i].apply(&adjusted)
		if reflect.DeepEqual(adjusted, a.dialect) {
			continue
		}
		a.c.memory.add(a.target, adjustments[i].name)
		if a.c.learned != nil && !r.ofValue(fault.Code) {
			a.c.learned(a.target, adjustments[i].name)
		}
		fault.Adjusted = adjustments[i].words
		fault.Hint = "Asked again " + adjustments[i].words + "; belay remembers it for " + a.target.String() + "."
		return
	}
}
