package transcript

import (
	"testing"

	"belay/session"
)

// BenchmarkFenceHead is a frame in which a fence of code has begun and its language is
// not all there.
func BenchmarkFenceHead(b *testing.B) {
	p := pane(100, 20)
	play(p, asked("x"), session.TextDelta{Text: "words\n\n```g"})
	for b.Loop() {
		p.reply.invalidate()
		_ = p.View()
	}
}

func TestTheHeadOfAFenceIsNotShownAsWords(t *testing.T) {
	p := pane(60, 20)
	play(p, asked("x"), session.TextDelta{Text: "words\n\n```g"})
	before := shown(p)
	play(p, session.TextDelta{Text: "o\nx := 1"})
	if want := " › x\n\n ● words"; before != want {
		t.Errorf("got\n%s\nwant\n%s", before, want)
	}
	if got := shown(p); got == before {
		t.Error("the code is not shown")
	}
}
