package catalog

import (
	"regexp"
	"slices"
	"strings"
)

var (
	datePattern = regexp.MustCompile(`[-@](20\d{2}-?[01]\d-?[0-3]\d)$`)
	named       = regexp.MustCompile(`^gpt-[\d.]+-([a-z]+)$`)
	version     = regexp.MustCompile(`^[\d.]+[a-z]?$`)
)

// sizes and kinds that say nothing without the name before them.
var general = []string{"mini", "nano", "pro", "max", "codex", "chat", "turbo", "preview", "latest", "audio", "search"}

// trimDate is a model's name without the date of a snapshot.
func trimDate(name string) string { return datePattern.ReplaceAllString(name, "") }

// shortest is how long a short name may be, in letters.
const shortest = 12

// Short is a name of a few letters for the screen: sol for gpt-5.6-sol, opus-4.5
// for claude-opus-4.5, qwen3-coder for qwen/qwen3-coder:free. Two models may
// share one.
func Short(name string) string {
	short := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	short, _, _ = strings.Cut(short, ":")
	short = trimDate(short)
	for _, suffix := range []string{"-latest", "-preview", "-instruct"} {
		short = strings.TrimSuffix(short, suffix)
	}
	if m := named.FindStringSubmatch(short); m != nil && !slices.Contains(general, m[1]) {
		return m[1]
	}
	for _, family := range []string{"gpt-", "claude-"} {
		if rest, ok := strings.CutPrefix(short, family); ok && strings.Contains(rest, "-") &&
			!version.MatchString(rest) {
			short = rest
		}
	}
	runes := []rune(short)
	if len(runes) <= shortest {
		return short
	}
	cut := string(runes[:shortest+1])
	if at := strings.LastIndexByte(cut, '-'); at > 2 {
		return cut[:at]
	}
	return string(runes[:shortest])
}
