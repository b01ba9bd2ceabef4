package tools

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"belay/session"
)

// workspace makes a folder with files and its tools.
func workspace(t *testing.T, files map[string]string) *Set {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	serial := 0
	s, err := New(Options{
		Root:    root,
		Outputs: filepath.Join(t.TempDir(), "outputs"),
		Hide:    []string{"SECRET_KEY"},
		NewID: func() string {
			serial++
			return fmt.Sprint(serial)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// call prepares and runs a call; an error of either is in the result.
func call(t *testing.T, s *Set, name, args string) (Call, Result) {
	t.Helper()
	job, err := s.Prepare(name, args)
	if err == nil && job.Look != nil {
		job, err = job.Look()
	}
	if err != nil {
		return job, errorResult(err)
	}
	return job, job.Run(t.Context(), func(string) {})
}

// calls runs calls in order and gives the last result.
func calls(t *testing.T, s *Set, list ...[2]string) Result {
	t.Helper()
	var r Result
	for _, c := range list {
		_, r = call(t, s, c[0], c[1])
	}
	return r
}

func content(t *testing.T, s *Set, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.o.Root, name))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(b)
}

func TestOnlyCompleteAndValidCallsRun(t *testing.T) {
	s := workspace(t, nil)
	for _, tt := range []struct{ name, tool, args, want string }{
		{"an unknown tool", "delete", `{}`, "there is no tool"},
		{"truncated arguments", "write", `{"path":"a","content":"x`, "not one JSON object"},
		{"two objects", "write", `{"path":"a","content":"x"}{}`, "not one JSON object"},
		{"no object", "write", `"a"`, "not one JSON object"},
		{"empty arguments", "write", ``, "missing 'path', 'content'"},
		{"no object", "write", `[]`, `its schema is {"type":"object"`},
		{"a missing field", "write", `{"path":"a"}`, "content"},
		{"a field too many", "write", `{"path":"a","content":"x","mode":7}`, "mode"},
		{"a wrong type", "read", `{"path":"a","from":"x"}`, "from"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := s.Prepare(tt.tool, tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Prepare = %v, want an error with %q", err, tt.want)
			}
		})
	}
	if got := content(t, s, "a"); !strings.HasPrefix(got, "error") {
		t.Errorf("a file was written: %q", got)
	}
}

func TestPathsOutsideAreTold(t *testing.T) {
	s := workspace(t, map[string]string{"in/a.txt": "x"})
	outside := filepath.Dir(s.o.Root)
	if err := os.Symlink(outside, filepath.Join(s.o.Root, "out")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"in/a.txt": false, "in/../in/a.txt": false, "new/deep/file": false, filepath.Join(s.o.Root, "in", "a.txt"): false,
		"../x": true, "out/x": true, "/etc/passwd": true, "~/x": true, "in/../../x": true,
	} {
		p, err := s.resolve(path)
		if err != nil || p.outside != want {
			t.Errorf("resolve(%q) = %+v, %v; want outside = %v", path, p, err, want)
		}
	}
}

func TestALinkSwappedInAfterTheCheckDoesNotLeadOut(t *testing.T) {
	s := workspace(t, map[string]string{"dir/a.txt": "old"})
	calls(t, s, [2]string{"read", `{"path":"dir/a.txt"}`})
	job, err := s.Prepare("write", `{"path":"dir/a.txt","content":"new"}`)
	if err != nil || job.Outside {
		t.Fatal(job, err)
	}
	if job, err = job.Look(); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "a.txt"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(s.o.Root, "dir")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.o.Root, "dir")); err != nil {
		t.Fatal(err)
	}
	if r := job.Run(t.Context(), nil); !r.Error {
		t.Errorf("the write went through: %+v", r)
	}
	if b, _ := os.ReadFile(filepath.Join(outside, "a.txt")); string(b) != "old" {
		t.Errorf("the file outside became %q", b)
	}
}

func TestRead(t *testing.T) {
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	s := workspace(
		t,
		map[string]string{"a.go": "one\ntwo\nthree", "long": long.String(), "bin": "a\x00b", "empty": "", "sub/x.go": "x",
			"pic.png": pngFile(t), "wide": strings.Repeat("w", 10_000)},
	)
	for _, tt := range []struct {
		name, args, want string
		fails            bool
	}{
		{"a whole file with numbers", `{"path":"a.go"}`, "     1\tone\n     2\ttwo\n     3\tthree\n", false},
		{"a range", `{"path":"a.go","from":2,"lines":1}`, "     2\ttwo\n(lines 2 to 2 of 3)\n", false},
		{"a long file is cut and says so", `{"path":"long"}`, "(lines 1 to 2000 of 3000)\n", false},
		{"a long line is cut", `{"path":"wide"}`, "… (line cut)", false},
		{"beyond the end", `{"path":"a.go","from":9}`, "beyond its end", true},
		{"a binary file", `{"path":"bin"}`, "binary file of 3 bytes", true},
		{"an empty file", `{"path":"empty"}`, "empty is empty", false},
		{"a folder gives its listing", `{"path":"."}`, "sub/\n", false},
		{"a missing file names its namesake", `{"path":"x.go"}`, "there is sub/x.go", true},
		{"a picture is shown", `{"path":"pic.png"}`, "the picture follows", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, r := call(t, s, "read", tt.args)
			if !strings.Contains(r.Output, tt.want) || r.Error != tt.fails {
				t.Errorf("read = %.300q, error %v; want %q", r.Output, r.Error, tt.want)
			}
		})
	}
	if _, r := call(t, s, "read", `{"path":"pic.png"}`); len(r.Images) != 1 || r.Images[0].MIME != "image/png" {
		t.Errorf("Images = %v", r.Images)
	}
}

func TestEdit(t *testing.T) {
	const text = "func a() {\n\treturn 1\n}\nfunc b() {\n\treturn 1\n}\n"
	for _, tt := range []struct {
		name, before, edits, want string
		says                      string // in the error
	}{
		{"one exact place", text, `{"old":"func a","new":"func c"}`, strings.Replace(text, "func a", "func c", 1), ""},
		{"several in order", text, `{"old":"func a","new":"func c"},{"old":"func c","new":"func d"}`,
			strings.Replace(text, "func a", "func d", 1), ""},
		{"every place when asked", text, `{"old":"return 1","new":"return 2","all":true}`, strings.ReplaceAll(text, "1",
			"2"), ""},
		{"two places are ambiguous", text, `{"old":"return 1","new":"x"}`, text, "occurs 2 times (lines 2, 5)"},
		{"all or none", text, `{"old":"func a","new":"func c"},{"old":"nothing","new":"x"}`, text, "edit 2 of 2"},
		{"white space that differs is shown", text, `{"old":"func a() {\n    return 1\n}","new":"x"}`, text,
			"differs in white space from lines 1 to 3"},
		{"what follows a known line is shown", text, `{"old":"func b() {\n\treturn 9","new":"x"}`, text,
			"its first line is line 4"},
		{"no change is a mistake", text, `{"old":"func a","new":"func a"}`, text, "already has exactly this content"},
		{"CRLF stays", "a\r\nb\r\n", `{"old":"a\nb","new":"a\nc"}`, "a\r\nc\r\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := workspace(t, map[string]string{"f": tt.before})
			_, r := call(t, s, "edit", `{"path":"f","edits":[`+tt.edits+`]}`)
			if got := content(t, s, "f"); got != tt.want {
				t.Errorf("the file became %q, want %q", got, tt.want)
			}
			if r.Error != (tt.says != "") || !strings.Contains(r.Output, tt.says) {
				t.Errorf("edit said %q, want %q", r.Output, tt.says)
			}
		})
	}
}

func TestAChangeFromOutsideIsNoticed(t *testing.T) {
	s := workspace(t, map[string]string{"f": "one\n"})
	calls(t, s, [2]string{"read", `{"path":"f"}`})
	job, err := s.Prepare("edit", `{"path":"f","edits":[{"old":"one","new":"two"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if job, err = job.Look(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.o.Root, "f"), []byte("one and theirs\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, r := call(
		t,
		s,
		"edit",
		`{"path":"f","edits":[{"old":"one","new":"two"}]}`,
	); !strings.Contains(
		r.Output,
		"changed since you read it",
	) {
		t.Errorf("a new edit said %q", r.Output)
	}
	if r := job.Run(t.Context(), nil); !strings.Contains(r.Output, "changed meanwhile") {
		t.Errorf("the prepared edit said %q", r.Output)
	}
	if got := content(t, s, "f"); got != "one and theirs\n" {
		t.Errorf("the file became %q", got)
	}
	if r := calls(
		t,
		s,
		[2]string{"read", `{"path":"f"}`},
		[2]string{"edit", `{"path":"f","edits":[{"old":"one","new":"two"}]}`},
	); r.Error {
		t.Errorf("after reading again it said %q", r.Output)
	}
}

func TestWrite(t *testing.T) {
	s := workspace(t, map[string]string{"old": "x\n", "run.sh": "#!/bin/sh\n"})
	if err := os.Chmod(filepath.Join(s.o.Root, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, r := call(
		t,
		s,
		"write",
		`{"path":"new/deep.txt","content":"hi\n"}`,
	); r.Error || content(t, s, "new/deep.txt") != "hi\n" ||
		r.Summary != "created" {
		t.Errorf("write = %+v", r)
	}
	if _, r := call(t, s, "write", `{"path":"old","content":"y"}`); !strings.Contains(r.Output, "has not been read") {
		t.Errorf("a blind overwrite said %q", r.Output)
	}
	r := calls(
		t,
		s,
		[2]string{"read", `{"path":"run.sh"}`},
		[2]string{"write", `{"path":"run.sh","content":"#!/bin/sh\necho\n"}`},
	)
	info, err := os.Stat(filepath.Join(s.o.Root, "run.sh"))
	if r.Error || err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("write = %+v; mode %v, want it kept", r, info.Mode())
	}
	entries, _ := os.ReadDir(s.o.Root)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestGlobAndGrepObeyGitignore(t *testing.T) {
	for _, kind := range []string{"repository", "folder"} {
		t.Run("in a "+kind, func(t *testing.T) {
			s := workspace(
				t,
				map[string]string{
					".gitignore":     "*.log\nbuild/\n",
					"a.go":           "package a // needle",
					"sub/b.go":       "package b\n// needle\n",
					"x.log":          "needle",
					"build/c.go":     "needle",
					"sub/.gitignore": "gen.go\n",
					"sub/gen.go":     "needle",
				},
			)
			if kind == "repository" {
				if out, err := exec.Command("git", "-C", s.o.Root, "init", "-q").CombinedOutput(); err != nil {
					t.Fatalf("%v %s", err, out)
				}
			}
			_, r := call(t, s, "glob", `{"pattern":"**/*.go"}`)
			if !strings.Contains(r.Output, "a.go\n") || !strings.Contains(r.Output, "sub/b.go\n") ||
				strings.Contains(r.Output, "build") ||
				strings.Contains(r.Output, "gen.go") {
				t.Errorf("glob = %q", r.Output)
			}
			_, r = call(t, s, "glob", `{"pattern":"b.go"}`)
			if r.Output != "sub/b.go\n" {
				t.Errorf("glob of a bare name = %q", r.Output)
			}
			var own hits
			p, _ := s.resolve(".")
			job, err := s.Prepare("grep", `{"pattern":"need.e"}`)
			if err != nil {
				t.Fatal(err)
			}
			want := "a.go:1:package a // needle\nsub/b.go:2:// needle\n"
			if r := job.Run(t.Context(), nil); kind == "repository" && r.Output != want {
				t.Errorf("grep = %q, want %q", r.Output, want)
			}
			if err := s.goGrep(t.Context(), p, "", regexp.MustCompile("need.e"), &own); err != nil || own.b.String() != want {
				t.Errorf("grep without ripgrep = %q (%v), want %q", own.b.String(), err, want)
			}
		})
	}
}

func TestShell(t *testing.T) {
	t.Setenv("SECRET_KEY", "sk-verysecret")
	s := workspace(t, map[string]string{"sub/f": "x"})
	for _, tt := range []struct {
		name, args, want, summary string
		fails                     bool
	}{
		{"output and code", `{"command":"echo hi; echo err >&2"}`, "hi\nerr\n", "exit 0", false},
		{"a failure keeps its output", `{"command":"echo no; exit 3"}`, "no\n(exit status 3)", "exit 3", true},
		{"the working folder", `{"command":"ls","dir":"sub"}`, "f\n", "exit 0", false},
		{"no input", `{"command":"cat; echo end"}`, "end\n", "exit 0", false},
		{"no terminal", `{"command":"test -t 1 && echo tty; echo $TERM"}`, "dumb\n", "exit 0", false},
		{"no secrets", `{"command":"echo [$SECRET_KEY]"}`, "[]\n", "exit 0", false},
		{"no escape sequences", `{"command":"printf '\\033[31mred\\033[0m \\033]52;c;eA==\\007end'"}`, "red end",
			"exit 0", false},
		{"a progress line as it ended", `{"command":"printf '10%%\\r20%%\\rdone\\n'"}`, "done\n", "exit 0", false},
		{"a signal", `{"command":"kill -9 $$"}`, "(exit status 137)", "exit 137", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, r := call(t, s, "shell", tt.args)
			if r.Output != tt.want || r.Summary != tt.summary || r.Error != tt.fails {
				t.Errorf("shell = %q, %q, error %v; want %q, %q", r.Output, r.Summary, r.Error, tt.want, tt.summary)
			}
		})
	}
}

func TestLongOutputKeepsBothEndsAndTheWholeOnDisk(t *testing.T) {
	s := workspace(t, nil)
	_, r := call(t, s, "shell", `{"command":"echo first; yes | head -c 1000000; echo last"}`)
	if len(r.Output) > maxOutputHead+maxOutputTail+300 || !strings.HasPrefix(r.Output, "first\n") ||
		!strings.Contains(r.Output, "last") ||
		!strings.Contains(r.Output, "bytes left out") {
		t.Errorf("output has %d bytes: %.80q", len(r.Output), r.Output)
	}
	whole, err := os.ReadFile(r.File)
	if err != nil || len(whole) != 1000000+len("first\nlast\n") {
		t.Errorf("the file holds %d bytes, %v", len(whole), err)
	}
}

func TestPlan(t *testing.T) {
	s := workspace(t, nil)
	job, r := call(t, s, "plan", `{"tasks":[{"text":"a","status":"done"},{"text":"b","status":"active"}]}`)
	if r.Error || job.Class != session.Read || len(job.Todos) != 2 || job.Title != "1 of 2 done" {
		t.Errorf("plan = %+v, %+v", job, r)
	}
}

func TestCanonicalIsTheSameForEqualArguments(t *testing.T) {
	a, ha := Canonical("x", `{"b": 1, "a":"2"}`)
	b, hb := Canonical("x", `{"a":"2","b":1}`)
	if a != b || ha != hb {
		t.Errorf("Canonical = %q %q, want them equal", a, b)
	}
	if _, other := Canonical("y", `{"a":"2","b":1}`); other == ha {
		t.Error("another tool has the same hash")
	}
}

func TestEveryFaultOfACallIsNamed(t *testing.T) {
	s := workspace(t, nil)
	for _, tt := range []struct{ tool, args, want string }{
		{"read", `{}`, "at '': missing 'path'"},
		{"read", `{"path":3}`, "at '/path': got number, want string"},
		{"read", `{"path":"","from":0,"lines":1.5}`, "at '/from': minimum: got 0, want 1 at least; " +
			"at '/lines': got number, want integer; at '/path': minLength: got 0, want 1 at least"},
		{"read", `{"path":"a","x":1,"y":2}`, "at '': unknown 'x', 'y'; there are from, lines, path"},
		{"read", `{"path":null}`, "at '/path': got null, want string"},
		{"read", `{"path":"a","from":"first"}`, "at '/from': got string, want integer"},
		{"read", `{"path":"a","from":"1.5"}`, "at '/from': got number, want integer"},
		{"edit", `{"path":"a","edits":"[{\"old\":\"x\"}]"}`, "at '/edits/0': missing 'new'"},
		{"edit", `{"path":"a","edits":[]}`, "at '/edits': minItems: got 0, want 1 at least"},
		{"edit", `{"path":"a","edits":[{"old":""},{"old":"x","new":"y","all":"yes"}]}`, "at '/edits/0': missing 'new'; " +
			"at '/edits/0/old': minLength: got 0, want 1 at least; at '/edits/1/all': got string, want boolean"},
		{"plan", `{"tasks":[{"text":"a","status":"open"}]}`,
			"at '/tasks/0/status': value must be one of 'pending', 'active', 'done'"},
		{"shell", `{"command":"x","timeout":99999}`, "at '/timeout': maximum: got 99999, want 3600 at most"},
		{"shell", `{"command":"x","timeout":1e999}`, "at '/timeout': maximum: got +Inf, want 3600 at most"},
		{"edit", `{"path":"a","edits":[` + strings.Repeat(`{},`, 30) + `{}]}`, "; and 11 more"},
		{"read", `{"path":"a","from":1.0,"lines":1e2}`, ""},
	} {
		err := s.Check(tt.tool, tt.args)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasSuffix(err.Error(), tt.want)) {
			t.Errorf("Check(%s, %.100s) = %v, want %q", tt.tool, tt.args, err, tt.want)
		}
	}
}

// What a model meant is run, whatever way it was written in.
func TestArgumentsAreReadAsTheSchemaMeansThem(t *testing.T) {
	s := workspace(t, map[string]string{"a": "one\ntwo\nthree\n"})
	for _, args := range []string{
		`{"path":"a","from":2,"lines":1}`,
		`"{\"path\":\"a\",\"from\":2,\"lines\":1}"`,
		`"\"{\\\"path\\\":\\\"a\\\",\\\"from\\\":2,\\\"lines\\\":1}\""`,
		`{"path":"a","from":"2","lines":"1"}`,
		`{"path":"a","from":" 2 ","lines":1.0}`,
	} {
		if _, r := call(t, s, "read", args); r.Error || !strings.Contains(r.Output, "two") || strings.Contains(r.Output, "one") {
			t.Errorf("%s: %+v", args, r)
		}
	}
	for _, args := range []string{
		`{"path":"a","edits":"[{\"old\":\"one\",\"new\":\"one\",\"all\":\"true\"}]"}`,
		`{"path":"a","edits":{"old":"one","new":"one","all":null}}`,
		`{"path":"a","edits":["{\"old\":\"one\",\"new\":\"one\"}"]}`,
	} {
		if err := s.Check("edit", args); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
	// Text stays text, whatever it looks like.
	if _, r := call(t, s, "write", `{"path":"b","content":"[1]"}`); r.Error {
		t.Error(r.Output)
	}
	if _, r := call(t, s, "read", `{"path":"b"}`); !strings.Contains(r.Output, "[1]") {
		t.Error(r.Output)
	}
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"path":"a","edits":[{"old":"x","new":"y"}]}`, `{"path":"../a"}`,
		`{"pattern":"[","path":"."}`, `{"command":"a\u0000b"}`} {
		for _, e := range catalog {
			f.Add(e.name, seed)
		}
	}
	root := f.TempDir()
	s, err := New(Options{Root: root, NewID: func() string { return "1" }})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, args string) {
		job, err := s.Prepare(name, args)
		if err == nil && (s.Check(name, args) != nil || job.Class == "" || job.Run == nil) {
			t.Errorf("Prepare(%q, %q) = %+v", name, args, job)
		}
		if err != nil && strings.Contains(err.Error(), "validating root") {
			t.Errorf("Prepare(%q, %q) explains nothing: %v", name, args, err)
		}
	})
}

func TestNoToolOpensBelaysOwnData(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(root, "data")
	for name, content := range map[string]string{"data/belay.db": "SECRET words",
		"data/outputs/a.txt": "SECRET output", "b.txt": "SECRET here"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", "") // without ripgrep, which is a program of its own
	s, err := New(
		Options{Root: root, Data: data, Outputs: filepath.Join(data, "outputs"), NewID: func() string { return "id" }},
	)
	if err != nil {
		t.Fatal(err)
	}
	for call, args := range map[string]string{"read": `{"path":"data/belay.db"}`,
		"write": `{"path":"data/x","content":""}`, "grep": `{"pattern":"x","path":"data"}`} {
		if _, err := s.Prepare(call, args); err == nil || !strings.Contains(err.Error(), "belay's own data") {
			t.Errorf("%s: %v", call, err)
		}
	}
	job, err := s.Prepare("read", `{"path":"data/outputs/a.txt"}`)
	if err != nil {
		t.Fatalf("an output that was kept for the model: %v", err)
	}
	job, err = s.Prepare("grep", `{"pattern":"SECRET"}`)
	if err != nil {
		t.Fatal(err)
	}
	if r := job.Run(
		t.Context(),
		func(string) {},
	); !strings.Contains(r.Output, "b.txt") ||
		strings.Contains(r.Output, "belay.db") {
		t.Errorf("grep found %q", r.Output)
	}
}
