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

func TestParseSince(t *testing.T) {
	for text, want := range map[string]time.Time{
		"36h": noon.Add(-36 * time.Hour), "7d": noon.AddDate(0, 0, -7), "2w": noon.AddDate(0, 0, -14),
		"90m":        noon.Add(-90 * time.Minute),
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
	list := make([]ledger.Attempt, 100_000)
	for i := range list {
		list[i] = ledger.Attempt{
			Provider: "openai", Model: "sol", Tier: models.Heavy, StatusCode: 200, ProjectID: "/shop",
			CreatedAt: noon.Add(time.Duration(i-len(list)) * time.Minute), InputTokens: int64(i % 150_000),
			OutputTokens: 500, LatencyMS: 9000, FirstTokenMS: 1900, Cost: 0.05,
		}
		if i%7 == 0 {
			list[i].Kind = models.KindCapacity
			list[i].StatusCode = 503
		}
	}
	for b.Loop() {
		s := newStatistics(list, list, ledger.ByModel, noon.AddDate(0, 0, -30), noon)
		if s.Total.Attempts != len(list) {
			b.Fatal(fmt.Sprint(s.Total))
		}
	}
}
