package app

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestOnlyFilesOfTheWorkspaceHaveAnAddress(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("bits of execution and symbolic links are others there")
	}
	outer := t.TempDir()
	workspace := filepath.Join(outer, "w")
	for path, mode := range map[string]os.FileMode{
		"w/a/b.go": 0o644, "w/a b%#?é.go": 0o644, "w/run.sh": 0o755, "w/evil.desktop": 0o644, "secret": 0o644,
	} {
		file := filepath.Join(outer, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out.go": "../secret", "in.go": "a/b.go", "harmless.txt": "evil.desktop"} {
		if err := os.Symlink(to, filepath.Join(workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	address := Addresses("on", func(string) string { return "" }, workspace)
	for path, is := range map[string]bool{
		"a/b.go": true, "./a/b.go": true, "a b%#?é.go": true, "in.go": true, filepath.Join(workspace, "a/b.go"): true,
		"a": false, ".": false, "": false, "missing.go": false, "../secret": false, "/etc/passwd": false, "out.go": false,
		"a/../../secret": false, "run.sh": false, "evil.desktop": false, "harmless.txt": false, "a/b.go\x1b]8;;": false,
	} {
		got := address(path)
		if (got != "") != is {
			t.Errorf("%q has the address %q", path, got)
		}
		if !is || got == "" {
			continue
		}
		u, err := url.Parse(got)
		if err != nil || u.Scheme != "file" || strings.ContainsAny(got, " é") {
			t.Errorf("%q has the address %q: %v", path, got, err)
			continue
		}
		host, _ := os.Hostname()
		if _, err := os.Stat(u.Path); err != nil || u.Host != host {
			t.Errorf("%q leads to %s at %q: %v", path, u.Path, u.Host, err)
		}
	}
}

func TestWhichTerminalsTakeLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("TERM says nothing there")
	}
	for name, tt := range map[string]struct {
		setting string
		env     map[string]string
		want    bool
	}{
		"xterm":                {"auto", map[string]string{"TERM": "xterm-256color"}, true},
		"kitty":                {"auto", map[string]string{"TERM": "xterm-kitty"}, true},
		"tmux":                 {"auto", map[string]string{"TERM": "screen-256color", "TMUX": "/tmp/t"}, true},
		"screen":               {"auto", map[string]string{"TERM": "screen", "STY": "1"}, false},
		"screen, from afar":    {"auto", map[string]string{"TERM": "screen.xterm-256color"}, false},
		"linux":                {"auto", map[string]string{"TERM": "linux"}, false},
		"an old VTE":           {"auto", map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "4602"}, false},
		"the VTE that crashes": {"auto", map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "5000"}, false},
		"VTE":                  {"auto", map[string]string{"TERM": "xterm-256color", "VTE_VERSION": "7600"}, true},
		"Apple":                {"auto", map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, false},
		"none":                 {"auto", nil, false},
		"on all the same":      {"on", map[string]string{"TERM": "linux"}, true},
		"off all the same":     {"off", map[string]string{"TERM": "xterm-kitty"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			env := func(name string) string { return tt.env[name] }
			if got := Addresses(tt.setting, env, t.TempDir()) != nil; got != tt.want {
				t.Errorf("links: %v, want %v", got, tt.want)
			}
		})
	}
}
