package ledger

import (
	"fmt"
	"math"
	"slices"

	"belay/models"
)

// bucketEdges divide requests by the tokens that go in.
var bucketEdges = []int64{
	0,
	1_000,
	2_000,
	4_000,
	8_000,
	16_000,
	32_000,
	48_000,
	64_000,
	96_000,
	128_000,
	192_000,
	256_000,
	384_000,
	512_000,
	1_000_000,
	math.MaxInt64,
}

// bucket is the index of the bucket that a size falls into.
func bucket(size int64) int {
	i, found := slices.BinarySearch(bucketEdges, max(size, 0))
	if !found {
		i--
	}
	return min(i, len(bucketEdges)-2)
}

// sizeName names a bucket for people.
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
	To       int64 `json:"to"`   // not included; 0: no end
	Attempts int   `json:"attempts"`
	Failed   int   `json:"failed"` // for want of capacity, broken at the provider, or cut off
}

// Share is the share of failures.
func (b Bucket) Share() float64 { return share(b.Failed, b.Attempts) }

// Sizes is how failures depend on what goes in.
type Sizes struct {
	Buckets []Bucket `json:"buckets"` // those with attempts
	// Threshold is the size in tokens from which failures rise clearly: to
	// twice the share and ten points more than below, with 20 attempts on each
	// side and little chance of an accident. 0: there is none to be seen.
	Threshold int64   `json:"threshold"`
	Above     float64 `json:"above"` // the shares on both sides of it
	Below     float64 `json:"below"`
}

const (
	minSideAttempts = 20  // attempts on each side of a threshold
	minRise         = 0.1 // more failures above than below
	minDeviations   = 3.0 // standard deviations
)

// SizesOf finds how failures depend on the size of requests. Attempts without a
// known size are left out.
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
			all.Attempts, all.Failed = all.Attempts+counts[i].Attempts, all.Failed+counts[i].Failed
		}
	}
	var below Bucket
	best := 0.0
	for _, b := range sizes.Buckets {
		above := Bucket{Attempts: all.Attempts - below.Attempts, Failed: all.Failed - below.Failed}
		if z := deviations(below, above, all); z > best && above.Share() >= 2*below.Share() &&
			above.Share()-below.Share() >= minRise {
			best, sizes.Threshold, sizes.Above, sizes.Below = z, b.From, above.Share(), below.Share()
		}
		below.Attempts, below.Failed = below.Attempts+b.Attempts, below.Failed+b.Failed
	}
	return sizes
}

// deviations is how far two shares differ, in standard deviations of that
// difference; 0 when it is too little to count (two-proportion z-test).
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
