package diagnose

import (
	"strings"
	"unicode/utf8"

	"belay/models/redact"
)

// Bounds on what a fault carries, in bytes.
const (
	maxRead    = 64 << 10 // of a reply that is looked at for words
	maxRaw     = 8 << 10
	maxMessage = 2 << 10

	maxRequestID = 200
)

// withoutKey takes the key, and whatever looks like one, out of a text.
func withoutKey(s, key string) string {
	const short = 4 // a server that repeats so short a key may as well repeat another word
	if len(key) >= short {
		s = strings.ReplaceAll(s, key, redact.Mark)
	}
	return redact.Likely(redact.New(key).Text(s))
}

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
