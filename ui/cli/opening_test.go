package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"belay/session"
	"belay/session/store"
	"belay/ui/cli/app"
)

func TestWhatTheScreenIsOpenedFor(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	t.Setenv("BELAY_HOME", home)
	st, err := store.Open(t.Context(), home, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := st.Create(t.Context(), session.Created{Project: project})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(project, "play")
	if err := os.WriteFile(script, []byte("loop = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := string(stored.ID)
	for _, tt := range []struct {
		args      []string
		want      app.Screen
		rehearsal string
		refused   string
	}{
		{nil, app.Screen{}, "", ""},
		{[]string{"fix the test"}, app.Screen{Prompt: "fix the test"}, "", ""},
		{[]string{"fix", "the", "test"}, app.Screen{Prompt: "fix the test"}, "", ""},
		{[]string{"refactor"}, app.Screen{Prompt: "refactor"}, "", ""},
		{[]string{"run the tests"}, app.Screen{Prompt: "run the tests"}, "", ""},
		{[]string{"-c"}, app.Screen{Session: stored.ID}, "", ""},
		{[]string{"-c", "and now the docs"}, app.Screen{Session: stored.ID, Prompt: "and now the docs"}, "", ""},
		{[]string{"-r"}, app.Screen{Picker: true}, "", ""},
		{[]string{"-r", id}, app.Screen{Session: stored.ID}, "", ""},
		{[]string{"-r", id, "and now the docs"}, app.Screen{Session: stored.ID, Prompt: "and now the docs"}, "", ""},
		{[]string{"-r=" + id, "go", "on"}, app.Screen{Session: stored.ID, Prompt: "go on"}, "", ""},
		{[]string{"--rehearsal", script}, app.Screen{}, script, ""},
		{[]string{"--rehearsal", "my.toml", "try it"}, app.Screen{Prompt: "try it"}, "my.toml", ""},
		{[]string{"--rehearsal", "try it"}, app.Screen{Prompt: "try it"}, app.BuiltIn, ""},
		{[]string{"sesions"}, app.Screen{}, "", "did you mean sessions?"},
		{[]string{"modles", "now"}, app.Screen{}, "", "did you mean models?"},
		{[]string{"docter", "please"}, app.Screen{}, "", "did you mean doctor?"},
		{[]string{"--rehearsal", "-c", "more"}, app.Screen{}, "", "there is no session"}, // none was rehearsed
		{[]string{"--rehearsal", "-r=" + id, "more"}, app.Screen{}, "", "no such session"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			var stderr bytes.Buffer
			var opened []app.Screen
			var options app.Options
			commands := CLI{
				Env: app.Env{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &stderr, Dir: project,
					Width: func(any) int { return 80 }},
				SaveTerminal: func() func() { return func() {} },
				Screen: func(_ context.Context, _ CLI, o app.Options, s app.Screen) error {
					s.Banner = ""
					opened, options = append(opened, s), o
					return nil
				},
			}
			code := Run(t.Context(), commands, tt.args)
			if tt.refused != "" {
				if code == 0 || len(opened) > 0 || !strings.Contains(stderr.String(), tt.refused) {
					t.Errorf("exit code %d, screens %v, stderr %q; want it refused with %q", code, opened, stderr.String(), tt.refused)
				}
				return
			}
			if len(opened) != 1 || options.Rehearsal != tt.rehearsal {
				t.Fatalf("exit code %d, %s; opened %+v with the script %q, want %q", code, stderr.String(), opened,
					options.Rehearsal, tt.rehearsal)
			}
			got := opened[0]
			if got.Session != tt.want.Session || got.Prompt != tt.want.Prompt || got.Picker != tt.want.Picker {
				t.Errorf("the screen opens for %+v, want %+v", got, tt.want)
			}
		})
	}
}
