package ui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"belay/session"
)

// BenchmarkFirstFrame is what runs before anything is on the screen.
func BenchmarkFirstFrame(b *testing.B) {
	o := newFakeEngine().options()
	for b.Loop() {
		m := New(o)
		m.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
		_ = m.View()
	}
}

const sample = "The rules live in `orders/service.go` and *twice* in **storage**.\n\n- one\n- two with 端数\n\n" +
	"```go\nfunc PriceOf(o Order) int64 {\n\treturn o.Lines[0].Price\n}\n```\n\n"

// longSession is a model whose session holds a transcript of about n bytes.
func longSession(n int) *Model {
	w := newFakeEngine()
	m := New(w.options())
	m.backend.engine, m.backend.store = w, w
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
	w.add("s1", "long")
	for size := 0; size < n; size += 40 * len(sample) {
		w.record("s1", turn("go on"), said(strings.Repeat(sample, 40)), session.TurnEnded{Outcome: session.OutcomeDone})
	}
	w.record("s1", turn("and now"))
	s, _ := w.Load(context.Background(), "s1")
	m.opener.add(s, w.logs["s1"])
	m.switchTo("s1")
	_ = m.View()
	return m
}

func deltas(i int) feedMsg {
	var records []session.Record
	for k := range 8 { // 500 a second at 60 frames a second
		at := (i*8 + k) * 6 % len(sample)
		records = append(records, session.Record{Session: "s1", Turn: 1, Time: noon,
			Event: session.TextDelta{Text: sample[at:min(at+6, len(sample))]}})
	}
	return feedMsg{records}
}

// BenchmarkStreamingFrame is one frame while a reply streams into a transcript
// of a megabyte.
func BenchmarkStreamingFrame(b *testing.B) {
	m := longSession(1 << 20)
	i := 0
	for b.Loop() {
		m.Update(deltas(i))
		_ = m.View()
		i++
	}
}

// BenchmarkKeyEcho is a key, and the frame that shows it, between two frames
// of a reply that streams into a transcript of a megabyte.
func BenchmarkKeyEcho(b *testing.B) {
	m := longSession(1 << 20)
	i := 0
	for b.Loop() {
		b.StopTimer()
		m.Update(deltas(i))
		_ = m.View()
		if i%60 == 59 {
			m.composer.Set("")
		}
		i++
		b.StartTimer()
		m.Update(tea.KeyPressMsg{Code: 'a', Text: "a"})
		_ = m.View()
	}
}

// BenchmarkOpenLongSession is the tail of a long session, from its records to
// the frame.
func BenchmarkOpenLongSession(b *testing.B) {
	w := newFakeEngine()
	w.add("s1", "long")
	for i := range 60 {
		w.record("s1", turn(fmt.Sprint("question ", i)), said(strings.Repeat(sample, 20)),
			session.TurnEnded{Outcome: session.OutcomeDone})
	}
	s, _ := w.Load(context.Background(), "s1")
	records, _ := w.Records(context.Background(), "s1", s.LastSeq+1, tailRecords, tailBytes)
	for b.Loop() {
		m := New(w.options())
		m.backend.engine, m.backend.store = w, w
		m.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
		m.opener.add(s, records)
		m.switchTo("s1")
		_ = m.View()
	}
}
