package plain

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/session"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("full")

func TestTheAnswerDoesNotDependOnTheEvents(t *testing.T) {
	turn := &Turn{Text: "Done."}
	end := session.Record{Event: session.TurnEnded{Outcome: session.OutcomeDone}}
	failed := session.Record{
		Event: session.AttemptFailed{Fault: &models.Fault{Kind: models.KindCapacity}, Number: 1, Of: 4},
	}
	t.Run("events that nobody takes leave it", func(t *testing.T) {
		var answer bytes.Buffer
		p := NewText(&answer, full{}, 0, time.Now)
		p.Record(failed, turn)
		p.Record(end, turn)
		if got, want := answer.String(), "Done.\n"; got != want || p.Err() != nil {
			t.Errorf("the answer is %q, %v; want %q, nil", got, p.Err(), want)
		}
	})
	t.Run("an answer that cannot be written is an error", func(t *testing.T) {
		var events bytes.Buffer
		p := NewText(full{}, &events, 0, time.Now)
		p.Record(end, turn)
		if !errors.Is(p.Err(), errFull) {
			t.Errorf("Err = %v, want %v", p.Err(), errFull)
		}
	})
}

func TestATurnTookWhatItsRequestsTook(t *testing.T) {
	taken := models.Usage{Input: 10, Output: 2}
	failed := session.AttemptFailed{Fault: &models.Fault{Kind: models.KindServer, Usage: taken}, Cost: 0.5}
	var turn Turn
	for _, r := range []session.Record{
		{Seq: 1, Event: failed},
		{Event: failed}, // of a summary: it is not stored
		{Seq: 2, Event: session.AttemptFailed{}},
		{Seq: 3, Event: session.CutOff{Text: "half", Usage: taken, Cost: 0.25}},
		{Seq: 4, Event: session.ReplyEnded{Usage: taken, Cost: 1}},
	} {
		turn.Add(r)
	}
	if want := (models.Usage{Input: 30, Output: 6}); turn.Usage != want || turn.Cost != 1.75 {
		t.Errorf("usage %+v and %v dollars, want %+v and 1.75", turn.Usage, turn.Cost, want)
	}
}

func TestAMessageThatARunningTurnTookIsTold(t *testing.T) {
	taken := session.Record{Session: "s1", Turn: 1, Event: session.PromptTaken{Prompt: session.Prompt{
		Text: "use tabs", Attachments: []models.Attachment{{Name: "log", Text: "x"}},
	}}}
	var events, lines bytes.Buffer
	NewText(&bytes.Buffer{}, &events, 0, time.Now).Record(taken, &Turn{})
	if got, want := events.String(), "› use tabs\n"; got != want {
		t.Errorf("for people it is %q, want %q", got, want)
	}
	NewJSON(&lines).Record(taken, &Turn{})
	const want = `"type":"prompt.taken","prompt":"use tabs","attached":["log"]}`
	if got := lines.String(); !strings.HasSuffix(got, want+"\n") {
		t.Errorf("for programs it is %s, want %s at its end", got, want)
	}
}
