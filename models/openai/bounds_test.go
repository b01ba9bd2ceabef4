package openai

import (
	"errors"
	"io"
	"strings"
	"testing"

	"belay/models/diagnose"
)

func TestAReplyWithoutAnEndIsEnded(t *testing.T) {
	for _, c := range []struct {
		before int64
		want   error
	}{{0, nil}, {maxStream, nil}, {maxStream + 1, diagnose.ErrMalformed}} {
		n := c.before
		_, err := io.ReadAll(countingReader{strings.NewReader(""), &n})
		if !errors.Is(err, c.want) {
			t.Errorf("after %d bytes: %v, want %v", c.before, err, c.want)
		}
	}
}

func TestAReplyIsEndedSoonAfterItsBound(t *testing.T) {
	n := int64(maxStream - 1<<20)
	endless := strings.NewReader(strings.Repeat("x", 4<<20))
	got, err := io.Copy(io.Discard, struct{ io.Reader }{countingReader{endless, &n}})
	if !errors.Is(err, diagnose.ErrMalformed) || got > 2<<20 {
		t.Errorf("read %d bytes, %v, want about 1 MB and ErrMalformed", got, err)
	}
}
