//go:build unix

package tools

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"belay/session"
	"belay/session/files"
	"belay/session/held"
	"belay/session/permit"
	"belay/session/sandbox"
)

// lineRow is a command line of testdata/lines.txt with what becomes of it.
type lineRow struct {
	number     int
	want, line string
}

func lineRows(t testing.TB, outside string) []lineRow {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "lines.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []lineRow
	for i, text := range strings.Split(string(content), "\n") {
		want, line, ok := strings.Cut(text, " | ")
		if !ok || strings.HasPrefix(text, "#") {
			continue
		}
		if strings.HasPrefix(line, `"`) && strings.HasSuffix(line, `"`) {
			if unquoted, err := strconv.Unquote(line); err == nil {
				line = unquoted
			}
		}
		rows = append(rows, lineRow{i + 1, strings.TrimSpace(want), strings.ReplaceAll(line, "{OUT}", outside)})
	}
	return rows
}

// project is a workspace with a project in it, in a folder with what is none of the
// project's business.
type project struct {
	*Set
	base string
}

func newProject(t testing.TB) project {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"secret": "OUTSIDE\n", "room/x": "OUTSIDE\n", "home/notes": "OUTSIDE\n", "home/.ssh/id_rsa": "OUTSIDE\n",
		"home/.config/go/telemetry/mode": "off\n", // go writes there, whatever it is asked

		"work/go.mod":           "module example\n\ngo 1.20\n",
		"work/main.go":          "package main\n\nimport \"fmt\"\n\n// TODO: greet\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n",
		"work/other.go":         "package main\n\nvar x = 1\n",
		"work/pkg/util.go":      "package pkg\n\n// Add adds. TODO: FOO\nfunc Add(a, b int) int { return a + b }\n",
		"work/pkg/util_test.go": "package pkg\n\nvar sum = Add(1, 2)\n",
		"work/docs/guide.md":    "# Guide\nhello world\nsee ../x\n",
		"work/README.md":        "# Example\nhttp://example.com\n",
		"work/data.json":        `{"name":"a","env":"b","items":[{"id":1},{"id":2}]}` + "\n",
		"work/package.json":     `{"name":"p","scripts":{"test":"touch made"}}` + "\n",
		"work/log.txt":          strings.Repeat("a line of the log\n", 12),
		"work/big.txt":          strings.Repeat("x", 300<<10),
		"work/list.txt":         "1 one\n2 two\n2 two\n3 three\n",
		"work/list0.txt":        "../secret\x00",
		"work/paths.txt":        "../secret\n",
		"work/sums.txt":         "d41d8cd98f00b204e9800998ecf8427e  ../secret\n",
		"work/with space.txt":   "spaced\n",
		"work/scripts/run.sh":   "#!/bin/sh\ntouch made\n",
		"work/script.sed":       "w made\n",
		"work/prog.awk":         "BEGIN {system(\"touch made\")}\n",
		"work/prog.jq":          ".\n",
		"work/.env":             "API_KEY=OUTSIDE\n",
		"work/.env.example":     "API_KEY=\n",
		"work/server.pem":       "OUTSIDE\n",
		"work/.gitignore":       "ignored.log\n",
		"work/ignored.log":      "x\n",
		"work/Makefile":         "all:\n\ttouch made\n",
		"work/evil":             "#!/bin/sh\ntouch made\n",
	} {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	root := filepath.Join(base, "work")
	commit := func(name string) {
		for _, args := range [][]string{{"add", "."}, {"commit", "-qm", name}} {
			gitIn(t, root, args...)
		}
	}
	gitIn(t, root, "init", "-q", "-b", "main")
	commit("first")
	if err := os.WriteFile(filepath.Join(root, "other.go"), []byte("package main\n\nvar x = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	commit("second")
	gitIn(t, root, "tag", "v1")
	gitIn(t, root, "config", "user.name", "a")
	gitIn(t, root, "config", "user.email", "a@b")
	for link, to := range map[string]string{"link": "../secret", "door": "../room", "sub/inner": "../../secret"} {
		path := filepath.Join(root, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(Options{Root: root, Outputs: filepath.Join(base, "outputs"), NewID: func() string { return "id" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return project{s, base}
}

func gitIn(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(string(out), err)
	}
}

// print is what each thing below the folder is: mode and content, by path.
func (a project) print(t testing.TB) map[string]string {
	t.Helper()
	prints := map[string]string{}
	err := filepath.WalkDir(a.base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == filepath.Join(a.base, "outputs") {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		prints[path] = info.Mode().String()
		if d.Type().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			prints[path] += files.Hash(content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return prints
}

// changed lists what is not as it was.
func (a project) changed(t testing.TB, before map[string]string) []string {
	t.Helper()
	now := a.print(t)
	var paths []string
	for path, print := range now {
		if print != before[path] {
			paths = append(paths, path)
		}
	}
	for path := range before {
		if _, ok := now[path]; !ok {
			paths = append(paths, path)
		}
	}
	return paths
}

// decide gives the call of a line and what the rules say.
func (a project) decide(t testing.TB, line string) (Call, permit.Decision) {
	t.Helper()
	call, err := a.Prepare("shell", `{"command":`+jsonText(line)+`}`)
	if err != nil {
		t.Fatal(err)
	}
	return call, permit.Judge(session.Edits, call.Describe("shell", a.o.Root), nil)
}

func jsonText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return `"` + b.String() + `"`
}

// inBash gives what bash makes of a line that only reads.
func (a project) inBash(t testing.TB, line string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir, cmd.Env = a.o.Root, a.environment()
	cmd.Stdout, cmd.Stderr = &out, &out
	code, err := a.sandbox.Run(t.Context(), cmd, sandbox.Profile{Reading: true}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return plainText(out.Bytes()), code
}

// runFree runs a line that was let through with a kernel that lets it write to the
// workspace: what holds it then is only how it was judged.
func (a project) runFree(t testing.TB, line string) {
	t.Helper()
	out := newOutput("", nil, nil, nil)
	job := shellJob{dir: a.o.Root, line: line, group: new(atomic.Int64)}
	_, err := a.runHeld(t.Context(), job, out)
	var refused *held.Refused
	if err != nil && !errors.As(err, &refused) {
		t.Errorf("%q: %v", line, err)
	}
	if text, _ := out.close(); strings.Contains(text, "OUTSIDE") {
		t.Errorf("%q shows what lies outside: %s", line, text)
	}
}

// TestLines runs what is let through and looks whether anything changed, and whether
// it printed what bash prints.
func TestLines(t *testing.T) {
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	home := t.TempDir()
	a := newProject(t)
	t.Setenv("HOME", filepath.Join(a.base, "home"))
	t.Setenv("GOFLAGS", "") // set, it is a variable of the programs
	if err := os.Unsetenv("GOFLAGS"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPATH", filepath.Join(home, "gopath")) // go makes it where it is not there
	t.Setenv("GOCACHE", cmp.Or(os.Getenv("GOCACHE"), filepath.Join(home, "go")))
	before := a.print(t)
	rows := lineRows(t, a.base)
	if len(rows) < 600 {
		t.Errorf("there are %d lines", len(rows))
	}
	t.Run("all", func(t *testing.T) {
		for i, row := range rows {
			if i%linesStride() != 0 {
				continue
			}
			t.Run(strconv.Itoa(row.number), func(t *testing.T) {
				t.Parallel()
				a.check(t, row)
			})
		}
	})
	if changed := a.changed(t, before); changed != nil {
		t.Errorf("changed: %q", changed)
	}
}

// linesStride is how many lines there are from one that is tried to the next.
// BELAY_LINES=all tries every one, which takes a minute.
func linesStride() int {
	switch {
	case os.Getenv("BELAY_LINES") == "all":
		return 1
	case testing.Short():
		return 13
	}
	return 5
}

func (a project) check(t *testing.T, row lineRow) {
	call, decision := a.decide(t, row.line)
	verdict := map[string]permit.Verdict{"asks": permit.Ask, "never": permit.Deny}[row.want]
	if decision.Verdict != cmp.Or(verdict, permit.Allow) {
		t.Fatalf("%q: %s (%s), want %q", row.line, decision.Verdict, decision.Reason, row.want)
	}
	if decision.Verdict != permit.Allow {
		return
	}
	if !decision.Held {
		t.Fatalf("%q would run unheld", row.line)
	}
	result := call.Runner(decision)(t.Context(), func(string) {})
	ended := strings.Contains(result.Output, "ended before something")
	if !testing.Short() {
		a.runFree(t, row.line)
	}
	switch {
	case strings.Contains(result.Output, "OUTSIDE"):
		t.Errorf("%q shows what lies outside: %s", row.line, result.Output)
	case ended != (row.want == "ends"):
		t.Errorf("%q: want %q, got %s", row.line, row.want, result.Output)
	case row.want == "runs":
		a.compare(t, row.line, result)
	}
	if _, decision := a.decide(t, row.line); ended && decision.Verdict != permit.Ask {
		t.Errorf("%q does not ask the second time", row.line)
	}
}

// compare compares with bash. A program that is not there is named differently.
func (a project) compare(t *testing.T, line string, result Result) {
	want, code := a.inBash(t, line)
	got := strings.TrimRight(result.Output, "\n")
	if code != 0 || want == "" {
		want = strings.TrimLeft(fmt.Sprintf("%s\n(exit status %d)", strings.TrimRight(want, "\n"), code), "\n")
	}
	want = strings.TrimRight(want, "\n")
	lines := func(text string) []string {
		return slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool {
			return strings.HasPrefix(l, "bash: ") || strings.Contains(l, "command not found") ||
				strings.Contains(l, "no such file or directory")
		})
	}
	if !slices.Equal(lines(got), lines(want)) {
		t.Errorf("%q gives\n%s\nand bash\n%s", line, got, want)
	}
}

// BenchmarkHeld tells what a line costs that runs without a question, and what the
// same line costs when bash runs it, held as well.
func BenchmarkHeld(b *testing.B) {
	if err := sandbox.Available(); err != nil {
		b.Skip(err)
	}
	a := newProject(b)
	for name, line := range map[string]string{
		"one": "ls main.go", "pipe": "ls | sort | head -1", "shell": "echo a", "loop": "for f in *.go; do wc -l $f; done",
	} {
		call, decision := a.decide(b, line)
		b.Run(name+"/interpreter", func(b *testing.B) {
			for b.Loop() {
				call.Runner(decision)(b.Context(), func(string) {})
			}
		})
		b.Run(name+"/bash", func(b *testing.B) {
			for b.Loop() {
				a.inBash(b, line)
			}
		})
	}
}
