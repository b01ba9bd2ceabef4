package diagnose

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"belay/models"
)

// maxDelay is the longest delay believed. What is longer is a mistake.
const maxDelay = 366 * 24 * time.Hour

// delay finds the delay that the server stated: retry-after-ms, Retry-After
// (RFC 9110, section 10.2.3), a field of the error object, its words, or, of a
// limit, the header that says when it resets. A time that has passed gives true
// and 0; what cannot be read is passed over.
func delay(ev Evidence, object errorObject, kind models.Kind) (bool, time.Duration) {
	now := ev.Now
	if date, err := http.ParseTime(ev.Header.Get("Date")); err == nil {
		now = date // both ends of the interval by the same clock
	}
	if d, ok := amount(ev.Header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return true, d
	}
	after := strings.TrimSpace(ev.Header.Get("Retry-After"))
	if d, ok := amount(after, time.Second); ok {
		return true, d
	}
	if at, err := http.ParseTime(after); err == nil && !now.IsZero() {
		if d, ok := until(at, now); ok {
			return true, d
		}
	}
	for _, s := range object.delays {
		if d, ok := s.read(now); ok {
			return true, d
		}
	}
	for _, t := range object.texts {
		if d, ok := inText(t, now); ok {
			return true, d
		}
	}
	if limited(ev.Status, kind) {
		for _, header := range []http.Header{ev.Header, object.header} {
			if d, ok := reset(header, now); ok {
				return true, d
			}
		}
	}
	return false, 0
}

// delayed reports whether the error object states a delay of at most so long.
func (w errorObject) delayed(most time.Duration) bool {
	for _, s := range w.delays {
		if d, ok := s.read(time.Time{}); ok && d <= most {
			return true
		}
	}
	for _, t := range w.texts {
		if d, ok := inText(t, time.Time{}); ok && d <= most {
			return true
		}
	}
	return false
}

// amount reads a plain number of units.
func amount(s string, unit time.Duration) (time.Duration, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > float64(maxDelay)/float64(unit) {
		return 0, false
	}
	return time.Duration(v * float64(unit)), true
}

func until(at, now time.Time) (time.Duration, bool) {
	d := at.Sub(now)
	return max(d, 0), d <= maxDelay
}

// statedDelay is a delay that stands in a field of the error object.
type statedDelay struct {
	value string
	unit  unit
}

type unit int

const (
	seconds unit = iota
	millis
	instant      // a Unix time or an RFC 3339 date
	durationText // as time.ParseDuration reads it
)

func (s statedDelay) read(now time.Time) (time.Duration, bool) {
	switch s.unit {
	case millis:
		return amount(s.value, time.Millisecond)
	case durationText:
		return duration(s.value)
	case instant:
		return moment(s.value, now)
	}
	return amount(s.value, time.Second)
}

func duration(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxDelay {
		return 0, false
	}
	return d, true
}

// moment reads an RFC 3339 date, or a Unix time in seconds or milliseconds.
func moment(s string, now time.Time) (time.Duration, bool) {
	if now.IsZero() {
		return 0, false
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return until(at, now)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || v <= 0 || v > 1e14 {
		return 0, false
	}
	if v > 1e11 { // milliseconds
		v /= 1000
	}
	return until(time.UnixMilli(int64(v*1000)), now)
}

var (
	waitWords = lazyPattern(
		`(?i)\b(?:try again|try your request again|retry|retrying|resets?|wait|available(?: again)?)\s+(?:after\s+|in\s+|for\s+)?(?:about\s+)?((?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)\b?[\s,]*(?:and\s+)?)+)`,
	)
	oneSpan = lazyPattern(
		`(?i)(\d+(?:\.\d+)?)\s*(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)`,
	)
	resetDate = lazyPattern(
		`(?i)\b(?:resets?|until|after|again|available)\b[^\d]{0,12}(\d{4}-\d\d-\d\dt\d\d:\d\d:\d\d(?:\.\d+)?(?:z|[+-]\d\d:\d\d))`,
	)
)

// inText reads "try again in 1.2s", "retry after 20 seconds", "in 6m0s", and a
// date at which a limit resets.
func inText(s string, now time.Time) (time.Duration, bool) {
	s = s[:min(len(s), maxRead)]
	m := waitWords().FindStringSubmatch(s)
	if m == nil {
		if m = resetDate().FindStringSubmatch(s); m != nil {
			return moment(strings.ToUpper(m[1]), now)
		}
		return 0, false
	}
	total := 0.0
	for _, span := range oneSpan().FindAllStringSubmatch(m[1], 10) {
		v, err := strconv.ParseFloat(span[1], 64)
		if err != nil {
			return 0, false
		}
		total += v * float64(unitOf(strings.ToLower(span[2])))
	}
	if total > float64(maxDelay) {
		return 0, false
	}
	return time.Duration(math.Round(total)), true
}

func unitOf(s string) time.Duration {
	switch {
	case strings.HasPrefix(s, "ms"), strings.HasPrefix(s, "milli"):
		return time.Millisecond
	case strings.HasPrefix(s, "s"):
		return time.Second
	case strings.HasPrefix(s, "m"):
		return time.Minute
	case strings.HasPrefix(s, "h"):
		return time.Hour
	}
	return 24 * time.Hour
}

// lazyPattern compiles a regular expression when it is used first: most runs
// never need it, and each would wait for it before the first frame.
func lazyPattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
