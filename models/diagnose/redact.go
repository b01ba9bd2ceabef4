package diagnose

import (
	"strings"
	"unicode/utf8"
)

// Bounds on what a fault carries, in bytes.
const (
	maxRead    = 64 << 10 // of a reply that is looked at for words
	maxRaw     = 8 << 10
	maxMessage = 2 << 10
)

const hidden = "[redacted]"

// secrets are the forms of credentials that servers are known to repeat.
var secrets = lazyPattern(
	`(?i)(\bbearer\s+)[^\s"',;<>]{4,}|\b(?:sk|pk|rk|gsk|xai|key|tok|hf|ghp|gho|ghs|github_pat|nvapi|pplx|csk)[-_][a-z0-9_\-*.]{8,}|\bAIza[a-z0-9_\-]{20,}|\beyJ[a-z0-9_\-]{10,}\.[a-z0-9_\-]{5,}(?:\.[a-z0-9_\-]*)?|((?:api[-_]?key|access[-_]?token|[?&](?:key|token))\s*["']?\s*[=:]\s*["']?)[a-z0-9_\-.]{8,}`,
)

// redact takes the key, and whatever looks like one, out of a text.
func redact(s, key string) string {
	if len(key) >= 4 {
		s = strings.ReplaceAll(s, key, hidden)
	}
	return secrets().ReplaceAllString(s, "${1}${2}"+hidden)
}

// Redact takes key, and whatever else looks like a credential, out of s.
func Redact(s, key string) string { return redact(s, key) }

// truncate cuts s at n bytes, between letters.
func truncate(s string, n int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= n {
		return s
	}
	s = s[:n]
	for !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) && len(s) > n-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// redactedError is an error whose text holds no secret.
type redactedError struct {
	err  error
	text string
}

func (q *redactedError) Error() string { return q.text }
func (q *redactedError) Unwrap() error { return q.err }
