package session

import (
	"fmt"
	"regexp"
	"sync"
)

// Hint says why a request is likely to be refused when models are full, and
// what would make it lighter.
type Hint struct {
	Kind    HintKind
	Text    string
	Confirm bool // worth a second thought before the request goes out
}

// HintKind is a pattern of heavy requests.
type HintKind string

// The patterns.
const (
	HintSize    HintKind = "size"
	HintWhole   HintKind = "whole repository"
	HintTools   HintKind = "many tools"
	HintEffort  HintKind = "high effort, long output"
	HintStreams HintKind = "parallel streams"
)

// From where on a pattern is heavy.
const (
	minManyTools   = 24
	minLongOutput  = 32_000 // tokens
	minManyStreams = 2      // others
)

// wholeRepository is asked for by its name, or by mentioning the workspace itself.
var wholeRepository = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)` +
		`\b(?:whole|entire|complete|full)\s+(?:repo|repository|code ?base|project|source tree)\b` +
		`|\ball (?:the |of the )?(?:files|code|sources)\b|\bevery (?:single )?(?:file|module)\b` +
		`|(?:^|\s)@\.?/?(?:\s|$)` +
		`|整个(?:仓库|项目|代码库)|(?:全部|所有)(?:的)?(?:代码|文件)`)
})

// Hints looks at a prompt before it is sent. Added is how many tokens it adds
// to the request, others how many other sessions stream from the same provider,
// warn from how many tokens on a request is fat; 0: none is.
func (w ContextUsage) Hints(words string, added int64, others int, warn int64) []Hint {
	var hints []Hint
	if size := w.Counted + added; warn > 0 && size > warn {
		hints = append(hints, Hint{
			HintSize,
			fmt.Sprintf("this request takes ≈%s tokens, and long ones are refused first", formatTokens(size)),
			true,
		})
	}
	if wholeRepository().MatchString(words) {
		hints = append(
			hints,
			Hint{HintWhole, "the whole repository makes long requests: name folders or files (@a.go:20-45, /focus)", true},
		)
	}
	if w.Tools >= minManyTools {
		hints = append(hints, Hint{HintTools, fmt.Sprintf("%d tools are described in every request", w.Tools), false})
	}
	switch w.Effort {
	case "high", "xhigh", "max":
		if w.Output > minLongOutput {
			hints = append(hints, Hint{
				HintEffort,
				fmt.Sprintf(
					"effort %s with replies of up to %s tokens is heavy: /effort medium, or request.max_output in the settings",
					w.Effort,
					formatTokens(w.Output),
				),
				false,
			})
		}
	}
	if others >= minManyStreams {
		hints = append(
			hints,
			Hint{HintStreams, fmt.Sprintf("%d other sessions stream from this provider at the same time", others), false},
		)
	}
	return hints
}

// formatTokens writes thousands of tokens.
func formatTokens(n int64) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}
