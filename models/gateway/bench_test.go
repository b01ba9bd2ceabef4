package gateway

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"belay/models"
	"belay/models/route"
)

// steady is a model that writes pieces of text, and says what waits in between.
type steady struct {
	pieces int
	wait   func(piece int)
}

func (s steady) Stream(context.Context, route.Need, route.Build) iter.Seq2[models.Chunk, error] {
	return func(yield func(models.Chunk, error) bool) {
		chunks := []models.Chunk{models.AttemptStarted{Number: 1, Of: 1, Target: sol}, models.Opened{Served: "sol"}}
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
		for i := range s.pieces {
			if s.wait != nil {
				s.wait(i)
			}
			if !yield(models.TextDelta{Text: "a few words, "}, nil) {
				return
			}
		}
		text := strings.Repeat("a few words, ", s.pieces)
		item := models.NewMessage(models.Assistant, text)
		_ = yield(models.ItemDone{Item: item}, nil) && yield(models.Finished{}, nil)
	}
}

func newSteady(s steady) *Gateway {
	return New(Options{
		Router: s, Now: time.Now, NewID: func() string { return "id" }, MaxStreams: 1000,
		Tiers: func() map[models.Tier][]models.Target { return map[models.Tier][]models.Target{models.Heavy: {sol}} },
	})
}

// BenchmarkGatewayEvent is the time that a piece of text takes through the gateway, of
// a model that costs nothing: in memory, and over a socket with its reader.
func BenchmarkGatewayEvent(b *testing.B) {
	for _, api := range []struct{ name, path, request string }{
		{"Responses", "/v1/responses", `{"model":"heavy","input":"x","stream":true}`},
		{"Chat", "/v1/chat/completions", `{"model":"heavy","messages":[{"role":"user","content":"x"}],"stream":true}`},
	} {
		const pieces = 1000
		g := newSteady(steady{pieces: pieces})
		b.Run(api.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				request := httptest.NewRequest(http.MethodPost, "http://localhost"+api.path, strings.NewReader(api.request))
				g.ServeHTTP(discard{header: http.Header{}}, request)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pieces, "ns/event")
		})
		b.Run(api.name+"Socket", func(b *testing.B) {
			server := httptest.NewServer(g)
			defer server.Close()
			for b.Loop() {
				readAll(b, server.URL+api.path, api.request)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pieces, "ns/event")
		})
	}
}

// Benchmark200Streams is the time of an event where 200 replies are written at once.
func Benchmark200Streams(b *testing.B) {
	const streams, pieces = 200, 100
	server := httptest.NewServer(newSteady(steady{pieces: pieces}))
	defer server.Close()
	for b.Loop() {
		var all sync.WaitGroup
		for range streams {
			all.Go(func() { readAll(b, server.URL+"/v1/responses", `{"model":"heavy","input":"x","stream":true}`) })
		}
		all.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/streams/pieces, "ns/event")
}

func readAll(t testing.TB, url, request string) {
	res, err := http.Post(url, "application/json", strings.NewReader(request)) //nolint:noctx // of a test
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("status %d, %v", res.StatusCode, err)
	}
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
func (d discard) FlushError() error           { return nil }

// TestManyStreamsAtOnceLeaveNothingBehind holds 200 replies in their middle, lets them
// end, and does so again: what the second round takes is what the first one took.
func TestManyStreamsAtOnceLeaveNothingBehind(t *testing.T) {
	const streams, pieces = 200, 40
	var middle sync.WaitGroup
	var goOn chan struct{}
	g := newSteady(steady{pieces: pieces, wait: func(piece int) {
		if piece == pieces/2 {
			middle.Done()
			<-goOn
		}
	}})
	server := httptest.NewServer(g)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	round := func() (goroutines int, heap uint64) {
		goOn = make(chan struct{})
		middle.Add(streams)
		var all sync.WaitGroup
		for range streams {
			all.Go(func() {
				res, err := client.Post(server.URL+"/v1/responses", "application/json",
					strings.NewReader(`{"model":"heavy","input":"x","stream":true}`))
				if err != nil {
					t.Error(err)
					middle.Done()
					return
				}
				defer res.Body.Close()
				b, err := io.ReadAll(res.Body)
				if err != nil || !strings.Contains(string(b), "event: response.completed") {
					t.Errorf("%v: %s", err, b)
				}
			})
		}
		middle.Wait()
		if load := g.Load(); load.Streams != streams {
			t.Errorf("load %+v", load)
		}
		goroutines = runtime.NumGoroutine()
		heap = heapInUse()
		close(goOn)
		all.Wait()
		return goroutines, heap
	}
	before := heapInUse()
	goroutines, first := round()
	t.Logf("%d goroutines, %d KiB a stream with its client", goroutines, (first-min(before, first))/streams/1024)
	if limit := streams*8 + 50; goroutines > limit { // of both ends, and what the transport adds
		t.Errorf("%d goroutines, want at most %d", goroutines, limit)
	}
	var last uint64
	for range 3 {
		_, last = round()
	}
	if last > first+first/4+4<<20 {
		t.Errorf("%d bytes in use in the first round, %d in the last", first, last)
	}
	if load := g.Load(); load != (Load{}) || g.bodies.Load() != 0 {
		t.Error(fmt.Sprint("something is still counted: ", load, g.bodies.Load()))
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
