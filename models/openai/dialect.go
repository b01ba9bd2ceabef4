package openai

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"belay/models"
)

// dialect is what a target wants of a conversation and of a request beyond what
// the API's documentation says. The zero value is the strictest form, which
// everybody accepts.
type dialect struct {
	// notes is the role in which belay's own later words travel. Many templates
	// take one system message and only as the first, so they are the user's by
	// default; empty means that.
	notes models.Role

	// separateUsers keeps user messages apart that follow one another. Templates
	// that alternate strictly refuse them.
	separateUsers bool

	// answersTools puts a word of the assistant between the output of a tool and
	// a message of the user.
	answersTools bool

	// shortIDs are call ids of exactly nine letters and digits.
	shortIDs bool

	// needsReasoning refuses calls that come without reasoning_content.
	needsReasoning bool

	// noReasoning refuses reasoning of its own in the history.
	noReasoning bool

	// foreignCall are the members that the first call of a message needs when
	// another model made it.
	foreignCall map[string]json.RawMessage

	// omit names the parameters that are refused.
	omit []string

	// newLimit calls the limit of a reply max_completion_tokens.
	newLimit bool

	// cacheKey takes prompt_cache_key.
	cacheKey bool

	// fullSchemas takes any keyword in the schemas of tools.
	fullSchemas bool

	// answersInText asks in words for an answer by a schema.
	answersInText bool

	// textOnly has pictures replaced by a line of text.
	textOnly bool
}

// omits says whether a parameter is left out.
func (d *dialect) omits(parameter string) bool { return slices.Contains(d.omit, parameter) }

// leaveOut has a parameter left out, in a list of its own.
func (d *dialect) leaveOut(parameter string) {
	if !d.omits(parameter) {
		d.omit = append(slices.Clone(d.omit), parameter)
	}
}

// missingReasoning stands where calls must have reasoning and none was kept. It
// is not empty, for some endpoints take that for none.
const missingReasoning = "(not kept)"

type dialectRow struct {
	name     string
	hosts    []string // with their subdomains
	families []string // in lower case, anywhere in the model's name
	dialect  dialect
}

// dialectTable has the known dialects: by the host of the endpoint, or by what
// the model's name contains. A host comes before a name, for it is the endpoint
// that reads the request.
var dialectTable = []dialectRow{
	{
		name:    "openai",
		hosts:   []string{"api.openai.com", "openai.azure.com", "cognitiveservices.azure.com"},
		dialect: dialect{notes: models.Developer, separateUsers: true, newLimit: true, cacheKey: true, fullSchemas: true},
	},
	{
		name:  "openrouter",
		hosts: []string{"openrouter.ai"},
	},
	{
		name:  "google",
		hosts: []string{"generativelanguage.googleapis.com", "aiplatform.googleapis.com"},
		dialect: dialect{
			foreignCall: googleForeignCall,
		},
	},
	{
		// It refuses fields that it does not know.
		name:  "mistral",
		hosts: []string{"api.mistral.ai", "codestral.mistral.ai"},
		dialect: dialect{
			answersTools: true, shortIDs: true,
			omit: []string{"stream_options", "service_tier", "reasoning_effort"},
		},
	},
	{
		name:     "mistral-template",
		families: []string{"mistral", "mixtral", "codestral", "devstral", "magistral", "ministral", "pixtral"},
		dialect:  dialect{answersTools: true, shortIDs: true},
	},
	{
		// Thinking models that want thoughts with every call, whoever serves them.
		name:     "deepseek",
		hosts:    []string{"api.deepseek.com", "api.moonshot.ai", "api.moonshot.cn"},
		families: []string{"deepseek", "kimi"},
		dialect:  dialect{needsReasoning: true},
	},
}

// googleForeignCall is what the documentation names for calls without a signature
// of its own: https://ai.google.dev/gemini-api/docs/thought-signatures
var googleForeignCall = map[string]json.RawMessage{
	"extra_content": json.RawMessage(`{"google":{"thought_signature":"skip_thought_signature_validator"}}`),
}

// StrictDialect is the name of the form that everybody accepts.
const StrictDialect = "strict"

// Dialects lists the names that the settings may choose from.
func Dialects() []string {
	names := []string{StrictDialect}
	for i := range dialectTable {
		names = append(names, dialectTable[i].name)
	}
	return names
}

// findDialect is how to speak to a target: as the settings say, else as its
// endpoint is known to want it, else by the family of the model.
func findDialect(baseURL string, model models.Model) dialect {
	found := chooseDialect(hostname(baseURL), model)
	found.textOnly = model.Blind()
	found.omit = slices.Concat(found.omit, model.Omit)
	return found
}

func chooseDialect(host string, model models.Model) dialect {
	if model.Dialect != "" {
		named, _ := dialectWhere(func(row *dialectRow) bool { return row.name == model.Dialect })
		return named
	}
	name := strings.ToLower(model.Target.Model)
	family, _ := dialectWhere(func(row *dialectRow) bool {
		return slices.ContainsFunc(row.families, func(f string) bool { return strings.Contains(name, f) })
	})
	endpoint, known := dialectWhere(func(row *dialectRow) bool {
		return slices.ContainsFunc(row.hosts, func(h string) bool { return isWithin(host, h) })
	})
	if !known {
		return family
	}
	endpoint.needsReasoning = endpoint.needsReasoning || family.needsReasoning
	return endpoint
}

// dialectWhere is the dialect of the last row that fits; the zero value, the
// strict one, where none does.
func dialectWhere(fits func(*dialectRow) bool) (found dialect, ok bool) {
	for i := range dialectTable {
		if row := &dialectTable[i]; fits(row) {
			found, ok = row.dialect, true
		}
	}
	return found, ok
}

func hostname(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// isWithin says whether a host is a domain or lies below it.
func isWithin(host, domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }
