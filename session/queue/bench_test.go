package queue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"belay/session/batch"
)

// BenchmarkQueue takes and finishes tasks out of queues of several lengths: one costs no
// more among 10,000 than among 100.
func BenchmarkQueue(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			q, err := Open(b.Context(), Options{Dir: b.TempDir(), Machine: "machine1", Now: time.Now, NewID: newID})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = q.Close() })
			var waiting []Entry
			fill := func() {
				all, err := q.Submit(context.Background(), Submission{Tasks: tasks(n, nil)})
				if err != nil {
					b.Fatal(err)
				}
				if waiting, err = q.Tasks(context.Background(), all.ID); err != nil {
					b.Fatal(err)
				}
			}
			fill()
			b.ResetTimer()
			for i := range b.N {
				if i%50 == 0 && i > 0 { // the queue stays as long as it is
					b.StopTimer()
					if len(waiting) < 100 {
						fill()
					}
					b.StartTimer()
				}
				next := waiting[0]
				waiting = waiting[1:]
				if len(waiting) == 0 {
					b.StopTimer()
					fill()
					b.StartTimer()
				}
				e, _, taken, err := q.claim(context.Background(), "w", next.job)
				if err != nil || !taken {
					b.Fatal(taken, err)
				}
				if err := q.saveProgress(context.Background(), e, batch.Progress{Session: "s"}); err != nil {
					b.Fatal(err)
				}
				if err := q.finish(context.Background(), e, batch.Result{State: batch.Done}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSubmit hands batches in.
func BenchmarkSubmit(b *testing.B) {
	const n = 500
	q, err := Open(b.Context(), Options{Dir: b.TempDir(), Machine: "machine1", Now: time.Now, NewID: newID})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = q.Close() })
	for b.Loop() {
		if _, err := q.Submit(context.Background(), Submission{Tasks: tasks(n, nil)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
}

// BenchmarkCounts counts the tasks of many batches, as Prometheus asks for it.
func BenchmarkCounts(b *testing.B) {
	q, err := Open(b.Context(), Options{Dir: b.TempDir(), Machine: "machine1", Now: time.Now, NewID: newID})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = q.Close() })
	for range 200 {
		if _, err := q.Submit(context.Background(), Submission{Tasks: tasks(50, nil)}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := q.Counts(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
