package tools

import (
	"belay/session"
	"belay/session/permit"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a call is prepared as does not depend on the files outside: a model that was
// not allowed to look would learn of them.
func TestAPreparedCallTellsNothingOfFilesOutside(t *testing.T) {
	s := workspace(t, nil)
	outside := t.TempDir()
	target := filepath.Join(outside, "target")
	states := map[string]func() error{
		"missing":      func() error { return nil },
		"a file":       func() error { return os.WriteFile(target, []byte("SECRET\n"), 0o600) },
		"another file": func() error { return os.WriteFile(target, []byte("other\n"), 0o600) },
		"a folder":     func() error { return os.Mkdir(target, 0o700) },
		"closed":       func() error { return os.Mkdir(target, 0) },
		"a loop":       func() error { return os.Symlink(target, target) },
	}
	for _, tt := range []struct{ tool, args string }{
		{"read", `{"path":%q}`},
		{"glob", `{"pattern":"*","path":%q}`},
		{"grep", `{"pattern":"SECRET","path":%q}`},
		{"write", `{"path":%q,"content":"SECRET\n"}`},
		{"edit", `{"path":%q,"edits":[{"old":"SECRET","new":"x"}]}`},
		{"edit", `{"path":%q,"edits":[{"old":"  SECRET","new":"x"}]}`},
		{"apply_patch", `{"patch":"*** Begin Patch\n*** Update File: %s\n-SECRET\n+x\n*** End Patch"}`},
		{"apply_patch", `{"patch":"*** Begin Patch\n*** Add File: %s\n+x\n*** End Patch"}`},
		{"shell", `{"command":"ls","dir":%q}`},
	} {
		for _, below := range []string{"", "/below"} {
			told := map[string][]string{}
			for state, enter := range states {
				if err := enter(); err != nil {
					t.Fatal(err)
				}
				call, err := s.Prepare(tt.tool, fmt.Sprintf(tt.args, target+below))
				what := fmt.Sprint(call.Title, call.Detail, call.Path, call.Outside, call.Before, call.After, err)
				told[what] = append(told[what], state)
				if !call.Outside && err == nil {
					t.Errorf("%s of %s%s (%s) is judged as inside", tt.tool, target, below, state)
				}
				if err := os.RemoveAll(target); err != nil {
					t.Fatal(err)
				}
			}
			if len(told) != 1 {
				t.Errorf("%s tells files apart: %v", tt.tool, told)
			}
		}
	}
}

func TestALinkIsJudgedByWhereItLeads(t *testing.T) {
	s := workspace(t, map[string]string{"file": "x"})
	outside := t.TempDir()
	for link, to := range map[string]string{
		"there":    outside,
		"missing":  filepath.Join(outside, "missing"),
		"relative": "../" + filepath.Base(outside) + "-missing/a",
		"chain":    "missing",
		"inner":    "not/here",
		"loop":     "loop",
		"through":  "file/below",
	} {
		if err := os.Symlink(to, filepath.Join(s.o.Root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]struct{ outside, fault bool }{
		"there/x":    {true, false},
		"missing":    {true, true},
		"missing/x":  {true, true},
		"relative":   {true, true},
		"chain":      {true, true},
		"inner":      {false, true},
		"loop":       {false, true},
		"through":    {false, true},
		"file/below": {false, true},
		"new/deep":   {false, false},
	} {
		p, err := s.resolve(path)
		if err != nil || p.outside != want.outside || (p.fault != nil) != want.fault {
			t.Errorf("resolve(%s) = %+v, %v; want %+v", path, p, err, want)
		}
		if !want.fault {
			continue
		}
		for _, c := range [][2]string{{"read", `{"path":%q}`}, {"write", `{"path":%q,"content":"x"}`}} {
			if _, r := call(t, s, c[0], fmt.Sprintf(c[1], path)); !r.Error || !strings.Contains(r.Output, "resolve ") {
				t.Errorf("%s of %s: %+v", c[0], path, r)
			}
		}
	}
}

// TestSecretPlacesAskInEveryMode has a workspace that holds such a place, and one beside
// it.
func TestSecretPlacesAskInEveryMode(t *testing.T) {
	s := workspace(t, map[string]string{"home/.ssh/config": "Host x\n", "home/.config/gh/hosts.yml": "x\n", "home/notes.md": "x\n"})
	t.Setenv("HOME", filepath.Join(s.o.Root, "home"))
	s.sandbox = newSandbox(s.o)
	for path, want := range map[string]permit.Verdict{
		"home/.ssh/config": permit.Ask, "home/.config/gh/hosts.yml": permit.Ask, "~/.ssh/new": permit.Ask, "home/notes.md": permit.Allow,
	} {
		call, err := s.Prepare("read", `{"path":"`+path+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := permit.Judge(session.All, call.Describe("read", s.o.Root), nil); got.Verdict != want {
			t.Errorf("%s: %+v, want %s", path, got, want)
		}
	}
}
