package openai

import (
	"io"
	"time"
)

// batchReader lets pieces that come in quick succession gather: each one wakes the
// process and, behind it, all that shows a piece, which at hundreds a second costs
// more than the pieces themselves. A piece waits for less than a frame of the
// screen, one that comes alone for nothing, and what is there is never waited with.
type batchReader struct {
	r       io.Reader
	quick   int  // reads in a row that had to wait, but not long
	drained bool // the last read had to wait: nothing else was there
}

const (
	batchDelay  = 30 * time.Millisecond
	batchAfter  = 8                      // such reads, before the next one lets pieces gather
	batchPrompt = 200 * time.Microsecond // a read that takes less had nothing to wait for
)

func (b *batchReader) Read(p []byte) (int, error) {
	if b.drained && b.quick >= batchAfter {
		time.Sleep(batchDelay)
	}
	began := time.Now()
	n, err := b.r.Read(p)
	waited := time.Since(began)
	b.drained = waited >= batchPrompt
	switch {
	case waited > batchDelay:
		b.quick = 0
	case b.drained:
		b.quick++
	}
	return n, err
}
