package config

import (
	"testing"
	"time"
)

func TestDurationsMayBeInDays(t *testing.T) {
	for text, want := range map[string]time.Duration{"90d": 90 * day, "1d12h": 36 * time.Hour, "0d": 0,
		"5m": 5 * time.Minute, "0s": 0} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("duration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"d", "-1d", "1.5d", "99999d", "1dd", "1d-5h x", ""} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("duration(%q) = %v, want an error", text, got)
		}
	}
	for d, want := range map[time.Duration]string{90 * day: "90d", day: "24h", 36 * time.Hour: "36h", 0: "0s"} {
		if got := formatDuration(d); got != want {
			t.Errorf("short(%v) = %q, want %q", d, got, want)
		}
	}
}
