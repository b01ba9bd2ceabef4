package openai_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/openai"
)

func debugged(t *testing.T, rt http.RoundTripper, to *bytes.Buffer, p models.Provider) *openai.Client {
	d := openai.NewDebug(rt, to, []models.Provider{p}, time.Now, func(err error) { t.Errorf("report(%v)", err) })
	return client(d, p)
}

func TestDebugWritesAnExchangeAsItPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := provider(models.Responses)
		p.BaseURL = "http://me:hunter22@rehearsal/v1?key=abcdefgh1"
		p.Headers = map[string]string{"X-Gate": "open-sesame"}
		var log bytes.Buffer
		req := hello()
		req.Items = append(req.Items,
			models.NewMessage(models.User, "my key is secret-key-1, the word open-sesame, and Bearer abcd1234"))
		r := attempt(t, context.Background(), debugged(t, script(t, slow+"[[reply]]"+fullReply), &log, p), req)
		if r.finished == nil {
			t.Fatalf("the attempt ended with %v", r.fault)
		}
		got := log.String()
		for _, want := range []string{
			`(?m)^1 > POST http://rehearsal/v1/responses\?key=\[redacted-by-belay\] at \d{4}-`, `(?m)^1 > Authorization: \[redacted-by-belay\]$`, `(?m)^1 > X-Gate: \[redacted-by-belay\]$`,
			`(?m)^1 > \{.*"model":"m",`, `(?m)^1 \+0\.000s < HTTP/1\.1 200 OK$`, `(?m)^1 \+0\.0[1-9]0s < data: .*"delta":"4567"`, `(?m)^1 \+0\.\d\d\ds (complete|left)$`,
		} {
			if !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("the log has no %s:\n%s", want, got)
			}
		}
		for _, secret := range []string{"secret-key-1", "hunter22", "abcdefgh1", "open-sesame", "abcd1234"} {
			if strings.Contains(got, secret) {
				t.Errorf("the log holds %q", secret)
			}
		}
	})
}

func TestDebugSaysWhyThereWasNoAnswer(t *testing.T) {
	var log bytes.Buffer
	attempt(t, context.Background(),
		debugged(t, script(t, "[[reply]]\nfault = { how = \"refuse\" }"), &log, provider(models.Chat)), hello())
	if got, want := log.String(), "no answer: dial tcp"; !strings.Contains(got, want) {
		t.Errorf("the log has no %q:\n%s", want, got)
	}
}

func TestDebugCutsLongLinesBetweenFields(t *testing.T) {
	var log bytes.Buffer
	req := hello()
	req.Items[0].Text = strings.Repeat("word,", 40000) + "secret-key-1"
	attempt(t, context.Background(), debugged(t, script(t, "[[reply]]\ntext = \"ok\""), &log, provider(models.Chat)),
		req)
	got := log.String()
	if !strings.Contains(got, "1 >+ ") || strings.Contains(got, "secret-key-1") ||
		!strings.Contains(got, "[redacted-by-belay]") {
		t.Errorf("the long line is written as %.300s … %s", got, got[max(0, len(got)-2000):])
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestDebugOnAFullDiskChangesNothing(t *testing.T) {
	p, reports := provider(models.Responses), 0
	d := openai.NewDebug(script(t, "[default]\ntext = \"ok\""), full{}, []models.Provider{p}, time.Now,
		func(error) { reports++ })
	c := client(d, p)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if r := attempt(t, context.Background(), c, hello()); r.text != "ok" {
				t.Errorf("said %q, %v; want ok", r.text, r.fault)
			}
		})
	}
	group.Wait()
	if reports != 1 {
		t.Errorf("reported %d times, want once", reports)
	}
}
