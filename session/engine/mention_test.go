package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"belay/session"
)

func TestMentionedLinesGoWithThePrompt(t *testing.T) {
	t.Parallel()
	inBubble(t, "[[reply]]\ntimes = -1\ntext = \"Fine.\"\n", nil, func(t *testing.T, r *rig, id session.ID) {
		if err := os.WriteFile(filepath.Join(r.project, "a.go"), []byte("one\ntwo\nthree\nfour\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		secret := filepath.Join(filepath.Dir(r.project), "secret")
		if err := os.WriteFile(secret, []byte("SECRET\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		body := func(text string) string {
			r.send(id, text)
			r.wait(id)
			list := r.server.Log()
			return string(list[len(list)-1].Body)
		}
		if got := body("look at @a.go:2-3 please"); !strings.Contains(got, `2\ttwo\n     3\tthree`) ||
			strings.Contains(got, "four") {
			t.Errorf("the request is %.600s", got)
		}
		if got := body("and @" + secret + ":1-1 and @../secret:1-1 and @none:1-2 and me@a.go:3-1"); strings.Contains(
			got,
			"SECRET",
		) {
			t.Error("lines from outside the workspace went with a prompt")
		}
	})
}
