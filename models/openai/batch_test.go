package openai

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSmallPiecesThatComeQuicklyAreReadTogether(t *testing.T) {
	for _, tt := range []struct {
		name     string
		every    time.Duration
		pieces   int
		size     int
		maxReads int
		maxDelay time.Duration
	}{
		{"five hundred a second", 2 * time.Millisecond, 500, 40, 130, batchDelay},
		{"as an endpoint usually sends", 40 * time.Millisecond, 50, 40, 51, 0},
		{"all at once", 0, 500, 40, 501, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wire := &wire{t0: time.Now(), every: tt.every, pieces: tt.pieces, size: tt.size}
				got, err := io.ReadAll(bufio.NewReaderSize(&batchReader{r: wire}, 32<<10))
				if err != nil || len(got) != tt.pieces*tt.size {
					t.Fatalf("read %d bytes, %v; want %d", len(got), err, tt.pieces*tt.size)
				}
				if wire.reads > tt.maxReads || wire.delay > tt.maxDelay {
					t.Errorf("%d reads, a piece waited %v; want at most %d and %v", wire.reads, wire.delay, tt.maxReads, tt.maxDelay)
				}
			})
		})
	}
}

// wire has a piece in every span of time, and knows how long the oldest one that
// was not read lay there.
type wire struct {
	t0                  time.Time
	every               time.Duration
	pieces, size, reads int
	taken               int
	delay               time.Duration
}

func (w *wire) Read(p []byte) (int, error) {
	if w.reads++; w.taken == w.pieces {
		return 0, io.EOF
	}
	due := w.t0.Add(time.Duration(w.taken+1) * w.every)
	time.Sleep(time.Until(due))
	w.delay = max(w.delay, time.Since(due))
	n := w.size
	if w.every > 0 {
		n = min((min(int(time.Since(w.t0)/w.every), w.pieces)-w.taken)*w.size, len(p)/w.size*w.size)
	}
	w.taken += n / w.size
	return copy(p, strings.Repeat("x", n)), nil
}
