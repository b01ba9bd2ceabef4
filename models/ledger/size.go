package ledger

import (
	"fmt"
	"math"
	"slices"

	"belay/models"
)

// bucketEdges divide requests by input size, in tokens.
var bucketEdges = []int64{
	0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 48_000, 64_000, 96_000, 128_000, 192_000, 256_000, 384_000,
	512_000, 1_000_000, math.MaxInt64,
}

// bucket returns the index of the bucket that a size falls into.
func bucket(size int64) int {
	i, found := slices.BinarySearch(bucketEdges, max(size, 0))
	if !found {
		i--
	}
	return min(i, len(bucketEdges)-2)
}

// sizeName is the label of a bucket; -1 is the size nobody knows.
func sizeName(i int) string {
	if i < 0 {
		return "unknown"
	}
	from, to := bucketEdges[i]/1000, bucketEdges[i+1]/1000
	if i == len(bucketEdges)-2 {
		return fmt.Sprintf("%dk and more", from)
	}
	return fmt.Sprintf("%dk–%dk", from, to)
}

// Bucket counts the attempts of one range of input sizes.
type Bucket struct {
	From     int64 `json:"from"` // tokens
	To       int64 `json:"to"`   // exclusive; 0: no upper end
	Attempts int   `json:"attempts"`
	Failed   int   `json:"failed"` // no capacity, an error at the provider, or cut off
}

// Share is the share of failures.
func (b Bucket) Share() float64 { return share(b.Failed, b.Attempts) }

// Sizes is how failures depend on the size of the input.
type Sizes struct {
	Buckets []Bucket `json:"buckets"` // those with attempts
	// Threshold is the size in tokens from which failures are clearly more frequent:
	// at least twice as frequent and ten points more than below, with 20 attempts on
	// each side and a significant difference. 0: there is no such size.
	Threshold int64   `json:"threshold"`
	Above     float64 `json:"above"` // share of failures from the threshold on
	Below     float64 `json:"below"` // share of failures below it
}

const (
	minSideAttempts = 20  // attempts on each side of the threshold
	minRise         = 0.1 // of the share of failures
	minDeviations   = 3.0 // standard deviations, to be significant
)

// SizesOf finds how failures depend on the size of requests. It ignores attempts whose
// size is unknown, and failures by rate limit, which depend on the sum of requests.
func SizesOf(list []Attempt) Sizes {
	counts := make([]Bucket, len(bucketEdges)-1)
	for i := range list {
		a := &list[i]
		if a.InputTokens <= 0 || !a.Counts() || a.Kind == models.KindRate {
			continue
		}
		b := &counts[bucket(a.InputTokens)]
		b.Attempts++
		if !a.OK() {
			b.Failed++
		}
	}
	var sizes Sizes
	var all Bucket
	for i := range counts {
		if counts[i].Attempts > 0 {
			if counts[i].From = bucketEdges[i]; i+2 < len(bucketEdges) {
				counts[i].To = bucketEdges[i+1]
			}
			sizes.Buckets = append(sizes.Buckets, counts[i])
			all.Attempts += counts[i].Attempts
			all.Failed += counts[i].Failed
		}
	}
	var below Bucket
	best := 0.0
	for _, b := range sizes.Buckets {
		above := Bucket{Attempts: all.Attempts - below.Attempts, Failed: all.Failed - below.Failed}
		if z := deviations(below, above, all); z > best && above.Share() >= 2*below.Share() &&
			above.Share()-below.Share() >= minRise {
			best = z
			sizes.Threshold = b.From
			sizes.Above = above.Share()
			sizes.Below = below.Share()
		}
		below.Attempts += b.Attempts
		below.Failed += b.Failed
	}
	return sizes
}

// deviations is how far two shares differ, in standard deviations of the difference (a
// two-proportion z-test); 0 if the difference is not significant.
func deviations(below, above, all Bucket) float64 {
	if below.Attempts < minSideAttempts || above.Attempts < minSideAttempts {
		return 0
	}
	p := all.Share()
	spread := math.Sqrt(p * (1 - p) * (1/float64(below.Attempts) + 1/float64(above.Attempts)))
	if spread == 0 {
		return 0
	}
	z := (above.Share() - below.Share()) / spread
	if z < minDeviations {
		return 0
	}
	return z
}
