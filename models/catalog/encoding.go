package catalog

import (
	"slices"
	"strings"

	"belay/models"
)

// families are OpenAI's models by what they are encoded with: those that
// tiktoken's model.py lists. o200k_harmony counts as o200k_base does: it differs
// in special tokens only.
var families = []struct {
	encoding string
	after    string // what goes on with a name that belongs to the family
	names    []string
}{
	{
		models.O200k,
		"-.:@",
		[]string{"gpt-5", "gpt-oss", "gpt-4.5", "gpt-4.1", "gpt-4o", "chatgpt-4o", "o1", "o3", "o4-mini"},
	},
	// No version of these is written with a dot: gpt-4.1 is another family.
	{models.CL100k, "-:@", []string{
		"gpt-4", "gpt-3.5", "gpt-3.5-turbo", "gpt-35-turbo", "davinci-002", "babbage-002",
		"text-embedding-ada-002", "text-embedding-3-small", "text-embedding-3-large",
	}},
}

// encoding is what a model's text is encoded with, or empty when that is not
// known. A path before the name is passed over (openai/gpt-5), as is the mark of
// a tuned model (ft:gpt-4o).
func encoding(model string) string {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	name = strings.TrimPrefix(name, "ft:")
	for _, family := range families {
		if slices.ContainsFunc(family.names, func(known string) bool {
			rest, ok := strings.CutPrefix(name, known)
			return ok && (rest == "" || strings.ContainsAny(rest[:1], family.after))
		}) {
			return family.encoding
		}
	}
	return ""
}
