package alert

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// receiver answers with the statuses in turn; 0 is a broken connection.
type receiver struct {
	statuses []int
	heard    []*http.Request
	bodies   []string
}

func (r *receiver) RoundTrip(q *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	status := r.statuses[min(len(r.heard), len(r.statuses)-1)]
	r.heard, r.bodies = append(r.heard, q), append(r.bodies, string(b))
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Header: http.Header{"Location": {"http://elsewhere"}}}, nil
}

func TestSignIsThatOfTheStandard(t *testing.T) {
	// The example of the specification of Standard Webhooks.
	got := Sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAnAlertIsSentUntilItArrives(t *testing.T) {
	for _, tt := range []struct {
		name     string
		statuses []int
		tries    int
		took     time.Duration
		ok       bool
	}{
		{"at once", []int{204}, 1, 0, true},
		{"after trouble", []int{0, 503, 429, 200}, 4, 31 * time.Second, true},
		{"never", []int{500}, 4, 31 * time.Second, false},
		{"refused", []int{401}, 1, 0, false},
		{"led elsewhere", []int{302}, 1, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, began := &receiver{statuses: tt.statuses}, time.Now()
				w := Webhook{URL: "http://hook", Secret: "s", HTTP: r, Now: time.Now}
				err := w.Send(t.Context(), Message{ID: "1", Key: "k", Text: "full", At: began})
				if len(r.heard) != tt.tries || time.Since(began) != tt.took || (err == nil) != tt.ok {
					t.Errorf("%d tries in %v, %v", len(r.heard), time.Since(began), err)
				}
				last := r.heard[len(r.heard)-1].Header
				want := Sign("s", "1", last.Get("webhook-timestamp"), []byte(r.bodies[0]))
				if last.Get("webhook-id") != "1" || last.Get("webhook-signature") != want {
					t.Errorf("header %v", last)
				}
			})
		})
	}
	t.Run("once more at the end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(3*time.Second, cancel)
			r, began := &receiver{statuses: []int{500}}, time.Now()
			w := Webhook{URL: "http://hook", HTTP: r, Now: time.Now}
			if err := w.Send(ctx, Message{}); err == nil || len(r.heard) != 3 || time.Since(began) != 3*time.Second {
				t.Errorf("%d tries in %v, %v", len(r.heard), time.Since(began), err)
			}
			if r.heard[0].Header.Get("webhook-signature") != "" {
				t.Error("signed without a secret")
			}
		})
	})
}

func TestAnAlertIsBounded(t *testing.T) {
	m := Message{Key: "k", Text: strings.Repeat("é", 5000) + "\xff"}
	b, err := m.body()
	var sent struct {
		Type string
		Data struct{ Key, Text string }
	}
	if err := errors.Join(err, json.Unmarshal(b, &sent)); err != nil || len(b) > maxText+200 ||
		sent.Type != "belay.alert" || sent.Data.Key != "k" || !strings.HasSuffix(sent.Data.Text, "é…") {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
