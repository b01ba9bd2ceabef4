package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"belay/session"
	"belay/session/snapshot"
	"belay/session/store"
)

func TestMain(m *testing.M) {
	// The programs that are run here wait for each other more than they compute.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"belay": relaxedMain})
}

// relaxed is the environment of programs that do not wait for the disk.
var relaxed = []string{"BELAY_TEST_RELAXED=1"}

// relaxedMain is the program. A test can tell it by the environment not to wait
// for the disk; what it wrote still survives the end of the process.
func relaxedMain() {
	if os.Getenv("BELAY_TEST_RELAXED") != "" {
		store.RelaxForTesting()
		snapshot.RelaxForTesting()
	}
	main()
}

// TestScripts runs the real program against a scripted model on a socket. Each
// script has a home, settings and data of its own, and these commands beyond
// testscript's:
//
//	serve SCRIPT         starts `belay rehearse SCRIPT`, and points
//	                     OPENAI_BASE_URL at it; its log is server.log
//	serve SCRIPT NAME    the same beside others: its address is put in place of
//	                     NAME_URL in the settings; its log is NAME.log
//	stopserver           ends it, so that the log is complete
//	start NAME PROG ...  runs a program in the background; its streams are
//	                     NAME.out and NAME.err
//	await NAME REGEXP    waits for words in either stream; $1 is set to what
//	                     the first group matched
//	type NAME TEXT       gives it a line on its standard input
//	signal NAME INT|KILL
//	ends NAME CODE       waits for its end and checks the exit code
//	code CODE PROG ...   runs a program and checks the exit code
//	field REGEXP VAR     takes a word out of stdout and stderr of the last program
//	jsonlines FILE TYPES checks belay's JSON lines
//	drafted ID REGEXP    waits until the unfinished reply on disk says this
//	overwrite FILE OFFSET LENGTH  puts noise into a file
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts use a Unix shell")
	}
	dir, files := "testdata/script", []string(nil)
	if testing.Short() { // these have most of what runs side by side
		dir = ""
		for _, name := range []string{"crash-stream", "interrupt", "owner", "parked", "plain-screen", "run", "steps"} {
			files = append(files, filepath.Join("testdata", "script", name+".txtar"))
		}
	}
	testscript.Run(t, testscript.Params{
		Dir:                dir,
		Files:              files,
		Setup:              setup,
		RequireUniqueNames: true,
		Condition:          condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":      serve,
			"stopserver": stopServer,
			"start":      start,
			"await":      await,
			"type":       typeLine,
			"signal":     signalTo,
			"ends":       ends,
			"code":       code,
			"field":      field,
			"jsonlines":  jsonLines,
			"overwrite":  overwrite,
			"alter":      alter,
			"drafted":    drafted,
		},
	})
}

// patience is how long anything may take before a script fails. It is far
// above what is needed, also under the race detector on a busy computer.
const patience = 60 * time.Second

// background is where a script's background programs are kept in its Env.
type background struct{}

type program struct {
	in       io.WriteCloser
	cmd      *exec.Cmd
	out, err *stream
	done     chan struct{}
	code     int
}

// stream keeps what a program writes and wakes those who wait for it.
type stream struct {
	mu   sync.Mutex
	file io.WriteCloser
	text bytes.Buffer
	more chan struct{} // closed and renewed at each write
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	close(s.more)
	s.more = make(chan struct{})
	return s.file.Write(p)
}

func (s *stream) read() (string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String(), s.more
}

func setup(e *testscript.Env) error {
	// A workspace that holds the home folder or belay's own is a case of its own.
	own, err := os.MkdirTemp(filepath.Dir(e.WorkDir), "own-")
	if err != nil {
		return err
	}
	e.Defer(func() { _ = os.RemoveAll(own) })
	settings := filepath.Join(own, "config.toml")
	text, err := os.ReadFile(filepath.Join(e.WorkDir, "config.toml"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(settings, text, 0o600); err != nil {
		return err
	}
	e.Setenv("HOME", filepath.Join(own, "home"))
	e.Setenv("BELAY_HOME", filepath.Join(own, "data"))
	e.Setenv("BELAY_CONFIG", settings)
	e.Setenv("OPENAI_API_KEY", "sk-of-the-script")
	e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		e.Setenv("GIT_"+who+"_NAME", "A Climber")
		e.Setenv("GIT_"+who+"_EMAIL", "climber@example.com")
	}
	e.Vars = append(e.Vars, relaxed...)
	e.Values[background{}] = map[string]*program{}
	return os.MkdirAll(e.Getenv("HOME"), 0o700)
}

func condition(cond string) (bool, error) {
	switch cond {
	case "root":
		return os.Getuid() == 0, nil
	case "tmpfs": // a file system of a few kilobytes can be mounted
		return runtime.GOOS == "linux" && os.Getuid() == 0 && exec.Command("unshare", "-m", "true").Run() == nil, nil
	case "bash-completion":
		_, err := os.Stat("/usr/share/bash-completion/bash_completion")
		return err == nil, nil
	case "unshare": // a place without a network can be had
		return runtime.GOOS == "linux" && exec.Command("unshare", "-rn", "true").Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

func programs(ts *testscript.TestScript) map[string]*program {
	return ts.Value(background{}).(map[string]*program)
}

func launch(ts *testscript.TestScript, name string, words ...string) *program {
	path, err := exec.LookPath(words[0])
	ts.Check(err)
	p := &program{cmd: exec.Command(path, words[1:]...), done: make(chan struct{})}
	p.cmd.Dir = ts.MkAbs(".")
	for _, s := range []struct {
		to   **stream
		into *io.Writer
		ext  string
	}{{&p.out, &p.cmd.Stdout, ".out"}, {&p.err, &p.cmd.Stderr, ".err"}} {
		f, err := os.Create(filepath.Join(ts.Getenv("WORK"), name+s.ext))
		ts.Check(err)
		*s.to = &stream{file: f, more: make(chan struct{})}
		*s.into = *s.to
	}
	p.cmd.Env = environment(ts)
	p.in, err = p.cmd.StdinPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // the state says more than the error
		p.code = p.cmd.ProcessState.ExitCode()
		_, _ = p.out.file.Close(), p.err.file.Close()
		close(p.done)
	}()
	ts.Defer(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	programs(ts)[name] = p
	return p
}

// environment is the script's own. TestScript does not hand out the list.
func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{
		"PATH", "HOME", "TMPDIR", "WORK", "BELAY_HOME", "BELAY_CONFIG", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GOCOVERDIR",
		"GORACE",
		"GIT_CONFIG_NOSYSTEM", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
	} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func (p *program) await(ts *testscript.TestScript, re *regexp.Regexp) []string {
	limit := time.After(patience)
	for ended := false; ; {
		out, moreOut := p.out.read()
		errs, moreErr := p.err.read()
		for _, text := range []string{out, errs} {
			if m := re.FindStringSubmatch(text); m != nil {
				return m
			}
		}
		if ended {
			ts.Fatalf("ended with %d before it said %q\n[stdout]\n%s\n[stderr]\n%s", p.code, re, out, errs)
		}
		select {
		case <-moreOut:
		case <-moreErr:
		case <-p.done:
			ended = true // look once more
		case <-limit:
			ts.Fatalf("did not say %q\n[stdout]\n%s\n[stderr]\n%s", re, out, errs)
		}
	}
}

func (p *program) end(ts *testscript.TestScript) int {
	select {
	case <-p.done:
	case <-time.After(patience):
		out, _ := p.out.read()
		errs, _ := p.err.read()
		ts.Fatalf("does not end\n[stdout]\n%s\n[stderr]\n%s", out, errs)
	}
	return p.code
}

func typeLine(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "type NAME TEXT")
	_, err := fmt.Fprintln(named(ts, args[0]).in, args[1])
	ts.Check(err)
}

func want(ts *testscript.TestScript, neg bool, args []string, least int, usage string) {
	if neg || len(args) < least {
		ts.Fatalf("usage: %s", usage)
	}
}

func named(ts *testscript.TestScript, name string) *program {
	p := programs(ts)[name]
	if p == nil {
		ts.Fatalf("there is no program %q", name)
	}
	return p
}

var line = regexp.MustCompile(`(\S+)\n`)

func serve(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "serve SCRIPT [NAME]")
	name := "server"
	if len(args) > 1 {
		name = args[1]
	}
	p := launch(ts, name, "belay", "rehearse", ts.MkAbs(args[0]), "--addr", "127.0.0.1:0", "--log",
		filepath.Join(ts.Getenv("WORK"), name+".log"))
	url := p.await(ts, line)[1]
	if len(args) == 1 {
		ts.Setenv("OPENAI_BASE_URL", url)
		return
	}
	settings := strings.ReplaceAll(ts.ReadFile(ts.Getenv("BELAY_CONFIG")), name+"_URL", url)
	ts.Check(os.WriteFile(ts.Getenv("BELAY_CONFIG"), []byte(settings), 0o600))
}

func stopServer(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 0, "stopserver")
	p := named(ts, "server")
	ts.Check(p.cmd.Process.Signal(os.Interrupt))
	if got := p.end(ts); got != 0 {
		ts.Fatalf("the server ended with %d", got)
	}
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "start NAME PROGRAM ...")
	launch(ts, args[0], args[1:]...)
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "await NAME REGEXP")
	re, err := regexp.Compile(`(?m)` + args[1])
	ts.Check(err)
	if m := named(ts, args[0]).await(ts, re); len(m) > 1 {
		ts.Setenv("1", m[1])
	}
}

func signalTo(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "signal NAME INT|KILL")
	s := map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill, "TERM": syscall.SIGTERM}[args[1]]
	if s == nil {
		ts.Fatalf("unknown signal %s", args[1])
	}
	ts.Check(named(ts, args[0]).cmd.Process.Signal(s))
}

// ends accepts "killed" as the code of a program that a signal ended.
func ends(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "ends NAME CODE")
	p := named(ts, args[0])
	if got := p.end(ts); strconv.Itoa(got) != args[1] && (args[1] != "killed" || got != -1) {
		out, _ := p.out.read()
		errs, _ := p.err.read()
		ts.Fatalf("%s ended with %d, want %s\n[stdout]\n%s\n[stderr]\n%s", args[0], got, args[1], out, errs)
	}
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "code CODE PROGRAM ...")
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

func field(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "field REGEXP VAR")
	re, err := regexp.Compile(`(?m)` + args[0])
	ts.Check(err)
	for _, name := range []string{"stdout", "stderr"} {
		if m := re.FindStringSubmatch(ts.ReadFile(name)); len(m) > 1 {
			ts.Setenv(args[1], m[1])
			return
		}
	}
	ts.Fatalf("nothing matches %s", args[0])
}

// overwrite damages a file: from a byte offset on, with so many bytes of noise.
func overwrite(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3, "overwrite FILE OFFSET LENGTH")
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	length, err := strconv.Atoi(args[2])
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR, 0)
	ts.Check(err)
	_, err = f.WriteAt(bytes.Repeat([]byte("noise"), length/5+1)[:length], offset)
	ts.Check(errors.Join(err, f.Close()))
}

// alter puts other words in the place of those that a file holds, as many bytes long.
func alter(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3, "alter FILE OLD NEW")
	file := ts.MkAbs(args[0])
	data, err := os.ReadFile(file)
	ts.Check(err)
	if n := bytes.Count(data, []byte(args[1])); n == 0 || len(args[1]) != len(args[2]) {
		ts.Fatalf("%s holds %q %d times, in whose place %q is to stand", file, args[1], n, args[2])
	}
	ts.Check(os.WriteFile(file, bytes.ReplaceAll(data, []byte(args[1]), []byte(args[2])), 0o600))
}

// drafted waits for what another process saves, so it has to look again and
// again.
func drafted(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "drafted ID REGEXP")
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	st, err := store.Open(context.Background(), ts.Getenv("BELAY_HOME"), store.Options{ReadOnly: true})
	ts.Check(err)
	defer func() { ts.Check(st.Close()) }()
	for began := time.Now(); time.Since(began) < patience; time.Sleep(10 * time.Millisecond) {
		d, _, err := st.Draft(context.Background(), session.ID(args[0]))
		ts.Check(err)
		if re.MatchString(d.Text) {
			return
		}
	}
	ts.Fatalf("no draft says %q", re)
}

// jsonLines checks a file of belay's JSON lines: each an object with the
// fields that every line has, its type known, its own fields there.
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "jsonlines FILE TYPE ...")
	types, err := checkLines(ts.ReadFile(args[0]))
	ts.Check(err)
	if got, want := strings.Join(types, " "), strings.Join(args[1:], " "); got != want {
		ts.Fatalf("types of the lines:\n got %s\nwant %s", got, want)
	}
}
