package diagnose

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// count is a number of tokens in a text: with commas or underscores, or in
// thousands.
const count = `(\d[\d,_]*k?)\b`

// The words with which servers state how much fits, and how much was sent. The
// first that occurs counts; in lower case.
var (
	limitWords = patterns(
		`> ?`+count,
		count+` maximum context length`,
		`n_ctx: ?`+count,
		`\[ ?[01], ?`+count+` ?\]`,
		`maximum (?:context|prompt|model|input|sequence|allowed)[^\d.;]{0,40}?`+count,
		`exceeds? (?:the )?(?:maximum|limit)[^\d.;]{0,40}?`+count,
		`(?:loaded with |model's |is )context length[^\d.;]{0,20}?`+count,
		`limit is `+count,
		`context (?:length|window|size|limit)[^\d.;]{0,40}?`+count,
		`(?:token limit|max length|max size|max input length|limit|maximum of|up to|must be <=|cannot exceed`+
			`|less than|should not exceed|at most)[^\d.;\n]{0,40}?`+count,
	)
	requestWords = patterns(
		`requested:? (?:about |a total of |input length )?`+count,
		`resulted in `+count,
		`(?:request|prompt|input) (?:contains|has) (?:about )?`+count,
		`given:? `+count,
		`prompt is too long:? `+count,
		`passed `+count,
		`n_keep: ?`+count,
		`first `+count+` tokens`,
		`(?:input|prompt|request)[a-z ]{0,24}\(?(?:length )?`+count,
		`token count (?:of )?\(?`+count,
		`received `+count,
		count+` (?:input |prompt )?tokens`,
		`(?:current )?length is `+count,
	)
)

func patterns(expressions ...string) func() []*regexp.Regexp {
	return sync.OnceValue(func() []*regexp.Regexp {
		list := make([]*regexp.Regexp, len(expressions))
		for i, e := range expressions {
			list[i] = regexp.MustCompile(e)
		}
		return list
	})
}

// What can be a model's window, in tokens.
const (
	minWindow = 256
	maxWindow = 100_000_000
)

// window finds how many tokens fit, as the endpoint stated it, and how many it
// counted in the request; 0: it did not say. For a request larger than a whole
// minute's allowance that is the allowance.
func window(object errorObject, text string) (limit, request int64) {
	limit, request = object.window, object.tokens
	if limit == 0 {
		limit = first(limitWords(), text, func(n int64) bool { return n >= minWindow && n <= maxWindow })
	}
	if limit != 0 && request == 0 { // less than fits cannot be what did not fit
		request = first(requestWords(), text, func(n int64) bool { return n > limit && n <= 10*maxWindow })
	}
	return limit, request
}

// first is the first number in a text that a pattern finds and that can be meant.
func first(list []*regexp.Regexp, text string, meant func(int64) bool) int64 {
	for _, pattern := range list {
		for _, at := range pattern.FindAllStringSubmatchIndex(text, 10) {
			n := tokenCount(text[at[2]:at[3]])
			if meant(n) && !inBytes(text[at[3]:]) && !isErrorNumber(text, at[2], at[3], n) {
				return n
			}
		}
	}
	return 0
}

func tokenCount(s string) int64 {
	digits, thousands := strings.CutSuffix(strings.NewReplacer(",", "", "_", "").Replace(s), "k")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > 10*maxWindow {
		return 0
	}
	if thousands {
		n *= 1000
	}
	return n
}

// isErrorNumber reports whether a number stands alone in brackets and is as small
// as the codes that some servers put behind their words.
func isErrorNumber(text string, begin, end int, n int64) bool {
	return n < 4096 && begin > 0 && text[begin-1] == '(' && strings.HasPrefix(text[end:], ")")
}

// inBytes reports whether a number that text follows counts no tokens.
func inBytes(text string) bool {
	text = strings.TrimLeft(text, " ")
	for _, unit := range []string{"byte", "kb", "mb", "kib", "mib", "char", "image", "message", "request", "%"} {
		if strings.HasPrefix(text, unit) {
			return true
		}
	}
	return false
}
