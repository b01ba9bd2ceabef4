package engine

import (
	"context"
	"strings"
	"testing"

	"belay/context/systemprompt"
	"belay/session"
)

func TestTheSystemPromptIsKeptAndSentAgainWhereItChanged(t *testing.T) {
	t.Parallel()
	now := systemprompt.Prompt{Environment: "on main", ProjectRules: "rule one"}
	change := func(r *rig) {
		r.engine = func(o *Options) {
			o.SystemPrompt = func(context.Context, string) systemprompt.Prompt {
				b := now
				b.Instructions = "be good; " + b.Environment + "; " + b.ProjectRules
				return b
			}
		}
	}
	inBubble(
		t,
		"[[reply]]\nfault = { how = \"status\", status = 400, code = \"bad\", message = \"no\" }\n[[reply]]\ntimes = -1\n"+
			"text = \"Fine.\"\n",
		change,
		func(t *testing.T, r *rig, id session.ID) {
			r.send(id, "one")
			r.wait(id)
			failed := r.last()
			now.Environment, now.ProjectRules = "on other", "rule two"
			r.stop()
			r.start()
			if _, err := r.Open(t.Context(), id, false); err != nil {
				t.Fatal(err)
			}
			r.do(id, session.Resume{})
			r.wait(id)
			if again := r.last(); again != failed {
				t.Errorf("a request that was made again differs:\n%s\n%s", failed, again)
			}
			now.ProjectRules = "rule one"
			r.send(id, "two")
			r.wait(id)
			if got := r.last(); !strings.Contains(got, "be good; on main; rule one") || strings.Count(got, `"on other"`) != 1 {
				t.Errorf("another branch goes with the prompt: %.600s", got)
			}
			r.send(id, "three")
			r.wait(id)
			if got := r.last(); strings.Count(got, `"on other"`) != 1 {
				t.Error("it is told again and again")
			}
			now.ProjectRules = "rule two"
			r.send(id, "four")
			r.wait(id)
			if got := r.last(); !strings.Contains(got, "be good; on other; rule two") {
				t.Errorf("other rules do not hold: %.600s", got)
			}
		},
	)
}
