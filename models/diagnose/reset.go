package diagnose

import (
	"net/http"
	"strings"
	"time"

	"belay/models"
)

// resetHeaders say when a limit resets, and those beside them how much of it is
// left. The star stands for what is limited; the first family that is sent counts.
var resetHeaders = []struct {
	reset, left string
	limited     []string // empty: one header without it
}{
	{"X-Ratelimit-Reset", "X-Ratelimit-Remaining", nil},
	{"X-Ratelimit-Reset-*", "X-Ratelimit-Remaining-*", []string{
		"Requests", "Tokens", "Input-Tokens", "Output-Tokens", "Requests-Minute", "Tokens-Minute", "Requests-Day",
		"Tokens-Day",
	}},
	{"Anthropic-Ratelimit-*-Reset", "Anthropic-Ratelimit-*-Remaining", []string{
		"Unified", "Requests", "Tokens", "Input-Tokens", "Output-Tokens",
	}},
	{"Ratelimit-Reset", "Ratelimit-Remaining", nil}, // draft-ietf-httpapi-ratelimit-headers
	{"X-Rate-Limit-Reset", "X-Rate-Limit-Remaining", nil},
	{"X-Ratelimit-Reset-Ms", "X-Ratelimit-Remaining", nil},
	{"X-Ratelimit-Resets-At", "X-Ratelimit-Remaining", nil},
}

// limited reports whether a failure is one about which such headers speak: they
// come with other replies too.
func limited(status int, kind models.Kind) bool {
	return status == http.StatusTooManyRequests || kind == models.KindRate || kind == models.KindUsage
}

// reset finds when the limit resets that was reached: of several, the last of
// those of which nothing is left.
func reset(header http.Header, now time.Time) (time.Duration, bool) {
	for _, family := range resetHeaders {
		names := family.limited
		if names == nil {
			names = []string{""}
		}
		longest, found := time.Duration(0), false
		for _, name := range names {
			left := strings.TrimSpace(header.Get(strings.Replace(family.left, "*", name, 1)))
			if left != "" && strings.Trim(left, "0.") != "" && len(names) > 1 {
				continue
			}
			reset := strings.Replace(family.reset, "*", name, 1)
			if d, ok := resetTime(reset, header.Get(reset), now); ok {
				longest, found = max(longest, d), true
			}
		}
		if found {
			return longest, true
		}
	}
	return 0, false
}

// The numbers from which on a time without a unit cannot be a length of time in
// seconds (11 days), or in milliseconds (three years).
const (
	minMillis = 1e6
	minUnix   = 1e8
)

// resetTime reads what stands in such a header: seconds, milliseconds, a length
// of time, a Unix time in either, a date.
func resetTime(name, value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if d, ok := duration(value); ok && value != "0" {
		return d, true
	}
	if strings.HasSuffix(name, "-Ms") {
		return amount(value, time.Millisecond)
	}
	if d, ok := amount(value, time.Nanosecond); ok { // a number, whatever its unit
		switch number := float64(d); {
		case number < minMillis:
			return amount(value, time.Second)
		case number < minUnix:
			return amount(value, time.Millisecond)
		}
	}
	if at, err := http.ParseTime(value); err == nil && !now.IsZero() {
		return until(at, now)
	}
	return moment(value, now)
}
