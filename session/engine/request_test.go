package engine

import (
	"encoding/json"
	"testing"

	"belay/models"
	"belay/models/openai"
	"belay/session"
)

func TestTheLastRequestCanBeMadeAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, model string }{
		"after a reply": {"[[reply]]\ntext = \"Done.\"", "sol"},
		"after a reply that ran a tool": {"[[reply]]\ncalls = [{ name = \"ls\", arguments = { path = \".\" } }]\n" +
			"[[reply]]\ntext = \"Done.\"", "sol"},
		"after a failure": {"[default]\nfault = { how = \"status\", status = 400, code = " +
			"\"invalid_prompt\" }", "sol"},
		"after a failure with a call to it": {"[[reply]]\ncalls = [{ name = \"ls\", arguments = { path = \".\" } }]\n" +
			"fault = { how = \"status\", status = 400, code = \"invalid_prompt\" }", "sol"},
		"after a switch": {"[[reply]]\nmodel = \"sol\"\ntimes = -1\n" +
			"fault = { how = \"error\", code = \"server_is_overloaded\" }\n[default]\ntext = \"Done.\"", "terra"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, c.script, nil, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				r.wait(id)
				target, req, err := r.Request(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if target.Model != c.model {
					t.Errorf("it went to %s, want %s", target, c.model)
				}
				sent := r.server.Log()
				if _, err := openai.New(openai.Options{Providers: []models.Provider{{Name: "p", BaseURL: "http://rehearsal/v1"}}}).
					Curl(target, req); err != nil {
					t.Error(err)
				}
				var want struct{ Input, Tools []json.RawMessage }
				if err := json.Unmarshal(sent[len(sent)-1].Body, &want); err != nil {
					t.Fatal(err)
				}
				if got := len(req.Items); got != len(want.Input) {
					t.Errorf("the request holds %d items, that which was sent %d:\n%+v\n%s", got, len(want.Input),
						req.Items, sent[len(sent)-1].Body)
				}
				if got := len(req.Tools); got != len(want.Tools) || got == 0 {
					t.Errorf("the request offers %d tools, that which was sent %d", got, len(want.Tools))
				}
			})
		})
	}
}

func TestASessionWithoutARequestHasNone(t *testing.T) {
	t.Parallel()
	inBubble(t, "", nil, func(t *testing.T, r *rig, id session.ID) {
		if _, _, err := r.Request(t.Context(), id); err == nil {
			t.Error("Request() of a new session gave one")
		}
	})
}
