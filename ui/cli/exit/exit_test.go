package exit

import (
	"context"
	"errors"
	"io"
	"testing"

	"belay/models"
	"belay/session"
	"belay/session/queue"
)

func TestTheExitCodeOfAQueueThatCannotBeReached(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{queue.ErrUnreachable, Unreachable},
		{queue.ErrRefused, Settings},
		{&queue.Error{Step: "read the batches", Err: io.ErrUnexpectedEOF}, Unreachable},
		{&queue.Error{Step: "read the batches", Err: errors.New("another")}, Failed},
		{&queue.Error{Step: "read the batches", Err: context.Canceled}, Interrupted},
	} {
		if got := Code(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestTheExitCodeOfAFault(t *testing.T) {
	for kind, want := range map[models.Kind]int{
		models.KindCapacity: 75, models.KindRate: 75, models.KindUsage: 75,
		models.KindNetwork: 69, models.KindAbsent: 69, models.KindGateway: 69,
		models.KindAuth: 77, models.KindBilling: 77, models.KindModel: 78, models.KindRequest: 78,
		models.KindServer: 1, models.KindStream: 1, models.KindSize: 1, models.KindIncomplete: 1, models.KindCancelled: 130,
	} {
		f := &models.Fault{Kind: kind}
		if got := OfFault(f); got != want {
			t.Errorf("exitFault of %s = %d, want %d", kind, got, want)
		}
		if got := OfSession(session.Session{Status: session.NeedsPerson, LastTurn: session.LastTurn{Fault: f}},
			true); got != 4 {
			t.Errorf("a limit at %s ends with %d, want 4", kind, got)
		}
		if got := OfSession(session.Session{Status: session.Failed, LastTurn: session.LastTurn{Fault: f}},
			false); got != want {
			t.Errorf("a turn that failed by %s ends with %d, want %d", kind, got, want)
		}
	}
}
