package engine

import (
	"net/http"
	"testing"

	"belay/models"
	"belay/models/openai"
	"belay/models/route"
	"belay/session"
)

func TestAConnectionThatBreaksIsNoFailedAttemptWhereRepliesAreKept(t *testing.T) {
	t.Parallel()
	var client *openai.Client
	resuming := func(r *rig) {
		client = openai.New(openai.Options{
			HTTP: &http.Client{Transport: r.server},
			Providers: []models.Provider{
				{Name: "p", BaseURL: "http://rehearsal/v1", API: models.Responses, Key: "k", Resume: true},
			},
		})
		r.route = func(o *route.Options) { o.Client = client }
	}
	inBubble(t, `
[[reply]]
text = "I look, then I tell."
usage = { input = 100, output = 20 }
fault = { how = "reset", at = "arguments" }
[[reply.calls]]
name = "glob"
arguments = { pattern = "*" }
[[reply]]
text = "All of it."
usage = { input = 200, output = 30 }
fault = { how = "stall", at = "text" }
`, resuming, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "go")
		s := r.wait(id)
		client.Close()
		if s.Status != session.Idle {
			t.Fatalf("Status = %s, %v", s.Status, s.Fault)
		}
		const want = "start:go message:I look, then I tell. call:glob run:glob ran:glob message:All of it. end:done"
		if got := r.log(id); got != want {
			t.Errorf("log is\n%s, want\n%s", got, want)
		}
		if got, want := s.Usage, (models.Usage{Input: 300, Output: 50}); got != want {
			t.Errorf("usage = %+v, want %+v", got, want)
		}
		var text string
		resumed := 0
		for _, rec := range r.published() {
			switch e := rec.Event.(type) {
			case session.TextDelta:
				text += e.Text
			case session.ReplyResumed:
				resumed++
			}
		}
		r.mu.Lock()
		made := len(r.attempts)
		r.mu.Unlock()
		if text != "I look, then I tell.All of it." || resumed != 2 || made != 2 {
			t.Errorf("showed %q, resumed %d times, recorded %d attempts; want each text once, 2 and 2", text, resumed, made)
		}
		posts := 0
		for _, x := range r.server.Log() {
			if x.Method == http.MethodPost {
				posts++
			}
		}
		if posts != 2 {
			t.Errorf("%d generations were asked for, want 2", posts)
		}
	})
}
