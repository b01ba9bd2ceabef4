package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"belay/models/rehearsal"
	"belay/session/queue/scratch"
)

// allBatch runs the bars of the queue whole: 200 tasks at the pace of real work, which
// takes some minutes.
var allBatch = os.Getenv("BELAY_BATCH") == "all"

// fullServer answers tasks, and has no room for every third request.
type fullServer struct {
	next http.Handler

	mu     sync.Mutex
	asked  int
	full   int
	starts []time.Time // of requests
}

func (s *fullServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked++
	s.starts = append(s.starts, time.Now())
	full := s.asked%3 == 0
	if full {
		s.full++
	}
	s.mu.Unlock()
	if !full {
		s.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(529)
	_, _ = io.WriteString(w, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`)
}

// batchHome is where belays of a batch live: a machine, as far as the queue can tell.
type batchHome struct {
	t   *testing.T
	dir string
	env []string
}

func newBatchHome(t *testing.T, url string, settings ...string) *batchHome {
	t.Helper()
	h := &batchHome{t: t, dir: t.TempDir()}
	put := func(name, content string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(h.dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("work/README", "here\n")
	put("config.toml", "[park]\nladder = [\"1s\", \"2s\", \"3s\", \"3s\", \"3s\", \"3s\"]\n"+strings.Join(settings, "\n"))
	h.env = append(os.Environ(), "HOME="+h.dir, "BELAY_HOME="+filepath.Join(h.dir, "data"),
		"BELAY_CONFIG="+filepath.Join(h.dir, "config.toml"), "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+url+"/v1",
		"GIT_CONFIG_NOSYSTEM=1")
	h.env = append(h.env, relaxed...)
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "begin"},
	} {
		cmd := h.command("git", args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git: %v: %s", err, out)
		}
	}
	return h
}

func (h *batchHome) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = filepath.Join(h.dir, "work"), h.env
	return cmd
}

// running is a belay that writes JSON lines of a batch.
type running struct {
	cmd   *exec.Cmd
	lines *bufio.Reader
	said  *strings.Builder
}

func (h *batchHome) start(args ...string) *running {
	h.t.Helper()
	r := &running{cmd: h.command("belay", args...), said: &strings.Builder{}}
	r.cmd.Stderr = r.said
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	r.lines = bufio.NewReader(out)
	return r
}

// until reads lines until so many tasks have ended, or the program has. It gives the id
// of the batch.
func (r *running) until(ended int) (id string, n int) {
	for n < ended {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			break
		}
		var e struct{ Type, Batch string }
		if json.Unmarshal([]byte(line), &e) == nil && e.Batch != "" {
			id = e.Batch
		}
		if e.Type == "task.ended" {
			n++
		}
	}
	return id, n
}

func (r *running) kill() {
	_ = r.cmd.Process.Kill() // it may have ended meanwhile
	_, _ = io.Copy(io.Discard, r.lines)
	_ = r.cmd.Wait()
}

// results checks that each task of a batch is done, once. It gives how many were begun
// anew.
func (h *batchHome) results(id string, want int) (restarts int) {
	h.t.Helper()
	out, err := h.command("belay", "batch", "status", "--json", id).Output()
	if err != nil {
		h.t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		var e struct {
			Name, State string
			Restarts    int
			Result      struct{ Text, Error string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			h.t.Fatal(err)
		}
		if e.State != "done" || e.Result.Text != "Done." || seen[e.Name] {
			h.t.Errorf("%s is %s: %q %s", e.Name, e.State, e.Result.Text, e.Result.Error)
		}
		seen[e.Name] = true
		restarts += e.Restarts
	}
	if len(seen) != want {
		h.t.Errorf("%d results, want %d", len(seen), want)
	}
	return restarts
}

func newFullServer(t *testing.T) (*fullServer, string) {
	t.Helper()
	script, err := rehearsal.Parse("batch.toml", []byte("[[reply]]\ntimes = -1\ntext = \"Done.\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	full := &fullServer{next: rehearsal.New(script, rehearsal.Options{})}
	server := httptest.NewServer(full)
	t.Cleanup(server.Close)
	return full, server.URL
}

func taskFile(t *testing.T, h *batchHome, n int, lane, repository string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "[defaults]\nlane = %q\nretries = 20\n", lane)
	if repository != "" {
		fmt.Fprintf(&b, "repository = %q\n", repository)
	} else {
		b.WriteString("worktree = true\n")
	}
	for i := range n {
		fmt.Fprintf(&b, "[[task]]\nprompt = \"task number %d\"\n", i+1)
	}
	name := filepath.Join(h.dir, "tasks.toml")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestABatchThatIsKilledAgainAndAgainHasEachResultOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it needs git and kill")
	}
	count, kills, lane := 15, 2, "interactive"
	if allBatch {
		count, kills, lane = 200, 5, "batch"
	}
	full, url := newFullServer(t)
	h := newBatchHome(t, url)
	args := []string{"batch", "--json", taskFile(t, h, count, lane, "")}
	var id string
	for range kills {
		r := h.start(args...)
		batch, ended := r.until(count / (kills + 2))
		if batch == "" {
			r.kill()
			t.Fatalf("it said nothing: %s", r.said)
		}
		id = batch
		r.kill()
		t.Logf("killed after %d tasks had ended", ended)
		args = []string{"batch", "--json", "--resume"}
	}
	r := h.start(args...)
	r.until(count + 1)
	if err := r.cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, r.said)
	}
	h.results(id, count)
	full.mu.Lock()
	defer full.mu.Unlock()
	if full.full == 0 {
		t.Error("the server was never full")
	}
	t.Logf("%d requests, %d of them found no room", full.asked, full.full)
	if lane == "batch" {
		checkPace(t, full.starts)
	}
}

// checkPace checks that requests keep their distance: half a second, less what passes
// between the decision and its arrival.
func checkPace(t *testing.T, starts []time.Time) {
	t.Helper()
	const least, slack = 500 * time.Millisecond, 150 * time.Millisecond
	early := 0
	for i := 1; i < len(starts); i++ {
		if starts[i].Sub(starts[i-1]) < least-slack {
			early++
		}
	}
	if early > len(starts)/50 {
		t.Errorf("%d of %d requests came less than half a second after the one before", early, len(starts))
	}
}

// newPostgres starts a server, or skips the test where there is none.
func newPostgres(t *testing.T) (address string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("it needs git and kill")
	}
	address, stop, err := scratch.Start(t.Context())
	if errors.Is(err, scratch.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return address
}

func TestEveryMachineOfAQueueSeesWhatItsWorkersKnowOfTheModels(t *testing.T) {
	address := newPostgres(t)
	const full = "[[reply]]\ntimes = -1\nfault = { how = \"status\", status = 529, type = \"overloaded_error\" }\n"
	script, err := rehearsal.Parse("full.toml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(rehearsal.New(script, rehearsal.Options{}))
	t.Cleanup(server.Close)
	setting := fmt.Sprintf("[queue]\nurl = %q\n[switch]\npolicy = \"never\"\n", address)
	worker, other := newBatchHome(t, server.URL, setting), newBatchHome(t, server.URL, setting)
	file := taskFile(t, worker, 1, "interactive", filepath.Join(worker.dir, "work"))
	if out, err := worker.command("belay", "batch", "submit", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := worker.start("worker", "--json")
	for failures := 0; failures < 2; {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, r.said)
		}
		if strings.Contains(line, `"attempt.failed"`) {
			failures++
		}
	}
	out, err := other.command("belay", "status").CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^workers\s+openai/gpt-5.6-sol\s.*no room`).Match(out) {
		t.Errorf("%v: another machine sees\n%s", err, out)
	}
	r.kill()
	if out, err := other.command("belay", "status", "--json").Output(); err != nil ||
		!strings.Contains(string(out), `"targets":[{"tier":"","target":{"provider":"openai","model":"gpt-5.6-sol"}`) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestTwoWorkersOnPostgreSQLOneOfThemKilled(t *testing.T) {
	address := newPostgres(t)
	count, lane := 12, "interactive"
	if allBatch {
		count, lane = 200, "batch"
	}
	full, url := newFullServer(t)
	setting := fmt.Sprintf("[queue]\nurl = %q\n", address)
	first := newBatchHome(t, url, setting)
	second := first // a worker of the same machine goes on with what the killed one had
	if allBatch {
		second = newBatchHome(t, url, setting) // one of another begins it anew
	}
	file := taskFile(t, first, count, lane, filepath.Join(first.dir, "work"))
	out, err := first.command("belay", "batch", "submit", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(out))
	workers := []*running{first.start("worker", "--json"), second.start("worker", "--json")}
	_, ended := workers[0].until(count / 6)
	workers[0].kill()
	t.Logf("killed one worker after it had ended %d tasks", ended)
	go func() { _, _ = io.Copy(io.Discard, workers[1].lines) }()
	wait := second.command("belay", "batch", "wait", "--json", "--timeout", "8m", id)
	if said, err := wait.CombinedOutput(); err != nil {
		t.Errorf("wait: %v: %s", err, said)
	}
	if err := workers[1].cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := workers[1].cmd.Wait(); err != nil {
		t.Errorf("the worker: %v: %s", err, workers[1].said)
	}
	restarts := first.results(id, count)
	t.Logf("%d of %d tasks were begun anew; %d requests, %d of them found no room",
		restarts, count, full.asked, full.full)
	if allBatch {
		checkPace(t, slices.Clone(full.starts))
	}
}
