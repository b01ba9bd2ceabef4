package statistics

import (
	"fmt"
	"testing"
	"time"

	"belay/models"
	"belay/models/ledger"
)

// noon is when the statistics of these tests are asked for.
var noon = time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)

// attempts is a record of nine days: sol is full from 14 to 16 h and above 100k.
func attempts() []ledger.Attempt {
	var list []ledger.Attempt
	for hour := range 9 * 24 {
		for n := range 4 {
			attempt := ledger.Attempt{
				Provider: "openai", Model: "sol", CreatedAt: noon.Add(time.Duration(hour-9*24)*time.Hour + time.Duration(n)*time.Minute), InputTokens: 10_000, OutputTokens: 500,
				LatencyMS: 9000, FirstTokenMS: 1900, Cost: 0.05, Session: "abcdefgh", Turn: hour, ProjectID: "/shop", Tier: models.Heavy, StatusCode: 200,
			}
			if attempt.CreatedAt.Hour() == 14 || attempt.CreatedAt.Hour() == 15 {
				attempt.InputTokens = 150_000
				if n < 2 {
					attempt.Kind, attempt.ErrorCode, attempt.StatusCode, attempt.RetryCount, attempt.FirstTokenMS = models.KindCapacity, "server_is_overloaded", 503, n, 0
				}
				if n == 1 {
					attempt.FallbackModel = "openai/terra"
				}
			}
			list = append(list, attempt)
		}
	}
	list[3].ProjectID = "/other"
	return list
}

func TestParseSince(t *testing.T) {
	for text, want := range map[string]time.Time{
		"36h": noon.Add(-36 * time.Hour), "7d": noon.AddDate(0, 0, -7), "2w": noon.AddDate(0, 0, -14), "90m": noon.Add(-90 * time.Minute),
		"2026-03-01": time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
	} {
		if got, err := parseSince(text, noon); err != nil || !got.Equal(want) {
			t.Errorf("parseSince(%s) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "0d", "-1d", "99999999999d", "yesterday", "2026-13-01"} {
		if got, err := parseSince(text, noon); err == nil {
			t.Errorf("parseSince(%q) = %v", text, got)
		}
	}
}

func BenchmarkStatistics100000(b *testing.B) {
	var list []ledger.Attempt
	for len(list) < 100_000 {
		list = append(list, attempts()...)
	}
	for b.Loop() {
		s := newStatistics(list, list, ledger.ByModel, noon.AddDate(0, 0, -30), noon)
		if s.Total.Attempts != len(list) {
			b.Fatal(fmt.Sprint(s.Total))
		}
	}
}
