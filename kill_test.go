package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"belay/models/rehearsal"
	"belay/session"
	"belay/session/store"
)

// killSteps is how many steps the plan has that is killed again and again.
const killSteps = 5

// killScript answers by what the newest tool output says, so that it says the
// same however often it is asked.
func killScript() string {
	var b strings.Builder
	b.WriteString("speed = { chunk = 6, delay = \"2ms\" }\n")
	reply := func(step int, output, rest string) {
		fmt.Fprintf(&b, "[[reply]]\ntimes = -1\nuser = \": part %d\"\n", step)
		if output != "" {
			fmt.Fprintf(&b, "output = %q\n", output)
		}
		b.WriteString(rest)
	}
	call := func(name, args string) string {
		return fmt.Sprintf("text = \"I go on with it now.\"\n[[reply.calls]]\nname = %q\narguments = { %s }\n", name,
			args)
	}
	for i := 1; i <= killSteps; i++ {
		reply(i, fmt.Sprintf("appended %d", i),
			"text = \"That part is done, and here are a few words on it for the next one.\"\n")
		reply(i, "outcome unknown", "text = \"I looked: what matters is there. That part is done.\"\n")
		reply(i, "count.txt", call("shell", fmt.Sprintf(`command = "echo %d >> log; echo appended %d"`, i, i)))
		reply(i, fmt.Sprintf("count %d", i-1),
			call("edit", fmt.Sprintf(`path = "count.txt", edits = [{ old = "count %d", new = "count %d" }]`, i-1, i)))
		reply(i, fmt.Sprintf("count %d", i),
			call("shell", fmt.Sprintf(`command = "echo %d >> log; echo appended %d"`, i, i)))
		reply(i, fmt.Sprintf("f%d", i), call("read", `path = "count.txt"`))
		reply(i, "", call("write", fmt.Sprintf(`path = "f%d", content = "part %d\n"`, i, i)))
	}
	return b.String()
}

func killPlan() string {
	var b strings.Builder
	b.WriteString("task = \"count\"\n")
	for i := 1; i <= killSteps; i++ {
		fmt.Fprintf(&b, "[[step]]\ntitle = \"part %d\"\ndo = \"do it\"\ncheck = \"test -f f%d\"\n", i, i)
	}
	return b.String()
}

// killed is a belay in a home of its own that is killed and goes on.
type killed struct {
	t    *testing.T
	dir  string
	env  []string
	id   string
	ends []int // lines that an event on the disk is behind
}

func newKilled(t *testing.T, url string) *killed {
	t.Helper()
	k := &killed{t: t, dir: t.TempDir()}
	put := func(name, content string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(k.dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(k.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("work/count.txt", "count 0\n")
	put("plan.toml", killPlan())
	put("config.toml", "")
	k.env = append(os.Environ(), "HOME="+k.dir, "BELAY_HOME="+filepath.Join(k.dir, "data"),
		"BELAY_CONFIG="+filepath.Join(k.dir, "config.toml"), "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+url+"/v1",
		"GIT_CONFIG_NOSYSTEM=1")
	k.env = append(k.env, relaxed...)
	return k
}

// run starts or resumes the plan, and kills it after so many lines and a while
// more. It reports whether it ended by itself, and how many lines it wrote.
func (k *killed) run(lines int, more time.Duration) (ended bool, n int) {
	k.t.Helper()
	args := []string{"run", "--json", "--approve", "all", "--plan", filepath.Join(k.dir, "plan.toml")}
	if k.id != "" {
		args = []string{"resume", "--json", k.id}
	}
	cmd := exec.Command("belay", args...)
	cmd.Dir, cmd.Env = filepath.Join(k.dir, "work"), k.env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	in := bufio.NewReader(out)
	var last string
	for lines <= 0 || n < lines {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		n++
		last = line
		if !strings.Contains(line, `"type":"request"`) && !strings.Contains(line, `"type":"attempt.started"`) {
			k.ends = append(k.ends, n)
		}
		k.note(line)
	}
	if lines > 0 && n == lines {
		time.Sleep(more)
		_ = cmd.Process.Kill() // it may have ended meanwhile
		rest, _ := io.ReadAll(in)
		for line := range strings.Lines(string(rest)) {
			k.note(line)
		}
	}
	err = cmd.Wait()
	if cmd.ProcessState.Exited() {
		if strings.Contains(said.String(), "there is nothing to go on with") {
			return true, n // it was killed when all was done
		}
		if err != nil {
			k.t.Fatalf("belay %s: %v\n%s\n%s", strings.Join(args, " "), err, said.String(), last)
		}
		return true, n
	}
	return false, n
}

func (k *killed) note(line string) {
	var l struct{ Session string }
	if json.Unmarshal([]byte(line), &l) == nil && k.id == "" { // otherwise it was cut off by the kill
		k.id = l.Session
	}
}

// told counts the commands of which the model was told that nobody knows
// whether they ran.
func (k *killed) told() int {
	k.t.Helper()
	st, err := store.Open(k.t.Context(), filepath.Join(k.dir, "data"), store.Options{ReadOnly: true})
	if err != nil {
		k.t.Fatal(err)
	}
	defer st.Close()
	s, err := st.Load(k.t.Context(), session.ID(k.id))
	if err != nil {
		k.t.Fatal(err)
	}
	n := 0
	for _, step := range s.Plan.Steps {
		records, err := st.EventsOfType(k.t.Context(), step.Session, "tool.ended")
		if err != nil {
			k.t.Fatal(err)
		}
		for _, r := range records {
			if e := r.Event.(session.ToolEnded); e.Tool == "shell" && e.Unknown {
				n++
			}
		}
	}
	return n
}

// right checks that everything was done, and nothing twice.
func (k *killed) right(how string) {
	k.t.Helper()
	want := map[string]string{"count.txt": fmt.Sprintf("count %d\n", killSteps)}
	for i := 1; i <= killSteps; i++ {
		want[fmt.Sprintf("f%d", i)] = fmt.Sprintf("part %d\n", i)
	}
	entries, err := os.ReadDir(filepath.Join(k.dir, "work"))
	if err != nil {
		k.t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(k.dir, "work", entry.Name()))
		if err != nil {
			k.t.Fatal(err)
		}
		text, known := want[entry.Name()]
		switch {
		case entry.Name() == "log":
			missing := 0
			for i := 1; i <= killSteps; i++ {
				n := strings.Count("\n"+string(data), fmt.Sprintf("\n%d\n", i))
				if n > 1 {
					k.t.Errorf("%s: command %d ran %d times", how, i, n)
				}
				if n == 0 {
					missing++
				}
			}
			if told := k.told(); missing > told {
				k.t.Errorf("%s: %d commands never ran, and the model was told of %d", how, missing, told)
			}
		case !known || string(data) != text:
			k.t.Errorf("%s: %s holds %q, want %q", how, entry.Name(), data, text)
		}
		delete(want, entry.Name())
	}
	for name := range want {
		k.t.Errorf("%s: %s is missing", how, name)
	}
}

// killStride is how many boundaries there are from one that is tried to the next.
// BELAY_KILL_MATRIX=all tries every one, which takes minutes.
func killStride() int {
	switch {
	case os.Getenv("BELAY_KILL_MATRIX") == "all":
		return 1
	case testing.Short() || raceEnabled:
		return 12
	}
	return 7 // no divisor of the events of a step, so that all kinds are met
}

// TestAPlanThatIsKilledAnywhereEndsTheSame kills the real program with SIGKILL
// at the boundaries of its events, in the middle of streams, and again while it
// goes on: with BELAY_KILL_MATRIX=all at every boundary, a few hundred times in
// all.
func TestAPlanThatIsKilledAnywhereEndsTheSame(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the plan uses a Unix shell")
	}
	script, err := rehearsal.Parse("kill.toml", []byte(killScript()))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(rehearsal.New(script, rehearsal.Options{}))
	defer server.Close()
	whole := newKilled(t, server.URL)
	if ended, _ := whole.run(0, 0); !ended {
		t.Fatal("it did not end")
	}
	whole.right("never killed")
	stride := killStride()
	kills := make(chan int, len(whole.ends))
	t.Run("at", func(t *testing.T) {
		for i := 0; i < len(whole.ends); i += stride {
			first := whole.ends[i]
			t.Run(fmt.Sprint(first), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(uint64(first), 7))
				k := newKilled(t, server.URL)
				how := ""
				for lines := first; ; lines = 3 + random.IntN(20) {
					more := time.Duration(random.IntN(3)) * time.Duration(random.IntN(12)) * time.Millisecond
					how += fmt.Sprintf(" %d lines and %s;", lines, more)
					if strings.Count(how, ";") > 2 {
						lines = 0 // now it may end
					}
					if ended, _ := k.run(lines, more); ended {
						break
					}
				}
				kills <- strings.Count(how, ";") - 1
				k.right("killed after" + how)
			})
		}
	})
	n := 0
	for close(kills); len(kills) > 0; {
		n += <-kills
	}
	t.Logf("killed %d times, at %d boundaries", n, len(whole.ends))
}
