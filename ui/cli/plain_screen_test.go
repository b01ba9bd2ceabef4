package cli

import (
	"io"
	"strings"
	"testing"

	"belay/session"
)

func TestOnlyAnAnswerAnswers(t *testing.T) {
	call := session.Approval{CallID: "1", Always: "commands that begin with `go`"}
	once := session.Approval{CallID: "1"}
	lost := session.Approval{CallID: "1", UnknownOutcome: true}
	yes := session.Answer{CallID: "1", Allow: true}
	for _, tt := range []struct {
		name  string
		asked session.Approval
		lines []string // the last one counts
		want  session.Answer
		ok    bool
	}{
		{"y", call, []string{"y"}, yes, true},
		{"Yes, with blanks", call, []string{"  Yes "}, yes, true},
		{"a sentence that begins with y", call, []string{"y not use make?"}, session.Answer{}, false},
		{"a longer word", call, []string{"yesterday it worked"}, session.Answer{}, false},
		{"several lines", call, []string{"y\nand then"}, session.Answer{}, false},
		{"n", call, []string{"n"}, session.Answer{CallID: "1"}, true},
		{"n and why", call, []string{"n use make instead"}, session.Answer{CallID: "1", Message: "use make instead"}, true},
		{"a, which asks again", call, []string{"a"}, session.Answer{CallID: "1"}, true},
		{"a twice", call, []string{"a", "a"}, session.Answer{CallID: "1", Allow: true, Always: true}, true},
		{"a, then a message, then a", call, []string{"a", "wait", "a"}, session.Answer{CallID: "1"}, true},
		{"a, where always is not offered", once, []string{"a"}, session.Answer{}, false},
		{"d, of a call that is known", call, []string{"d"}, session.Answer{}, false},
		{"d, of a call whose outcome is not", lost, []string{"d"}, session.Answer{CallID: "1", Outcome: true}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &plainScreen{asked: &tt.asked}
			var got session.Answer
			var ok bool
			for _, line := range tt.lines {
				got, ok = p.answer(line)
			}
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("got %+v, %v, want %+v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestLinesThatComeAtOnceAreOneMessage(t *testing.T) {
	in, hand := io.Pipe()
	messages := readMessages(in)
	go io.WriteString(hand, "first\nsecond\n\nthird\n")
	if got, want := <-messages, "first\nsecond\n\nthird"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	go func() {
		io.WriteString(hand, "goes on \\\n")
		io.WriteString(hand, "here\n")
		hand.Close()
	}()
	if got, want := <-messages, "goes on \nhere"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if rest, open := <-messages; open {
		t.Errorf("got %q after the end", strings.TrimSpace(rest))
	}
}
