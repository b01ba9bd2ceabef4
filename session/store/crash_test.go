package store

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"belay/session"
)

// TestMain lets this binary run again as a program that uses the store.
func TestMain(m *testing.M) {
	switch os.Getenv("STORE_TEST_CHILD") {
	case "append":
		childAppends()
	case "herd":
		childOfHerd()
	case "hold":
		childHoldsTheLock()
	case "list":
		childLists()
	default:
		os.Exit(m.Run())
	}
}

// childAppends appends notes to a session and says each number that is saved.
func childAppends() {
	s, err := Open(ctx, os.Getenv("DIR"), Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	id := session.ID(os.Getenv("ID"))
	limit, _ := strconv.Atoi(os.Getenv("COUNT"))
	for n := 0; n < limit; n++ {
		if err := s.SaveDraft(ctx, id, session.Draft{Turn: 1, Text: fmt.Sprint(n)}); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		_, head, err := s.Append(ctx, id, 1, session.Noted{Text: "a" + strings.Repeat("x", n%3000)},
			session.Noted{Text: "b"})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println(head.LastSeq)
	}
	if err := s.Close(); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func childLists() {
	s, err := Open(ctx, os.Getenv("DIR"), Options{ReadOnly: true})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	heads, err := s.List(ctx, session.Filter{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for _, h := range heads {
		fmt.Println(h.ID, h.LastSeq)
	}
	_, err = s.Create(ctx, session.Created{})
	fmt.Println("create:", err)
	if err := s.Close(); err != nil {
		fmt.Println("error", err)
	}
	os.Exit(0)
}

func child(what string, env ...string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), "STORE_TEST_CHILD="+what), env...)
	return c
}

func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := create(t, s, "/p").ID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		c := child("append", "DIR="+dir, "ID="+string(id), "COUNT=100000")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		acked, lines := int64(0), bufio.NewScanner(out)
		for range 1 + random.IntN(40) {
			if !lines.Scan() {
				break
			}
			if acked, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
				t.Fatal(lines.Text())
			}
		}
		if err := c.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			if acked, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
				break // cut in the middle of a number
			}
		}
		_ = c.Wait() // killed, as wanted
		s, err := Open(ctx, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		head, err := s.Load(ctx, id)
		if err != nil || head.LastSeq < acked || head.LastSeq%2 != 1 {
			t.Errorf("after the kill Events = %d, %v; want at least %d and no half of a pair", head.LastSeq, err, acked)
		}
		log, err := s.Records(ctx, id, 0, 0, 0)
		if err != nil || int64(len(log)) != head.LastSeq {
			t.Errorf("Records() = %d, %v; want %d", len(log), err, head.LastSeq)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoProgramsAppendAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := create(t, s, "/p").ID
	const each = 100
	var running []*exec.Cmd
	for range 2 {
		c := child("append", "DIR="+dir, "ID="+string(id), "COUNT="+fmt.Sprint(each))
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, c)
	}
	for _, c := range running {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	head, err := s.Load(ctx, id)
	if want := int64(1 + 2*2*each); err != nil || head.LastSeq != want {
		t.Errorf("Events = %d, %v; want %d", head.LastSeq, err, want)
	}
}

func TestRepairWaitsForNoOne(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	id := create(t, s, "/p").ID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c := child("append", "DIR="+dir, "ID="+string(id), "COUNT=1000000")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	bufio.NewScanner(out).Scan() // it has the database open
	_, err = Repair(ctx, dir)
	if !errors.Is(err, ErrLocked) && runtime.GOOS != "windows" {
		t.Errorf("Repair() beside a running program = %v, want ErrLocked", err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed, as wanted
}

// TestAFolderThatCannotBeWrittenToIsRead needs a user for whom modes count.
func TestAFolderThatCannotBeWrittenToIsRead(t *testing.T) {
	for _, tt := range []struct {
		name string
		wal  bool
	}{{"at rest", false}, {"with a log left by a crash", true}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			id := create(t, s, "/p").ID
			add(t, s, id, prompt("x"))
			if tt.wal {
				saved := readFile(t, dir, File+"-wal")
				data := readFile(t, dir, File)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, File), data)
				write(t, filepath.Join(dir, File+"-wal"), saved)
			} else if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			c := child("list", "DIR="+dir)
			readable(t, c, dir)
			out, err := c.CombinedOutput()
			want := fmt.Sprintf("%s 2\n", id)
			if err != nil || !strings.HasPrefix(string(out), want) ||
				!strings.Contains(string(out), "cannot be written to") {
				t.Errorf("list says %s (%v), want %s and a refusal to create", out, err, want)
			}
		})
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadingWhatIsNotThereIsReadingNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	s, err := Open(ctx, dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if heads, err := s.List(ctx, session.Filter{}); err != nil || len(heads) != 0 {
		t.Errorf("List() = %v, %v", heads, err)
	}
	if _, err := s.Search(ctx, "x", session.Filter{}); err != nil {
		t.Error(err)
	}
	if _, err := s.Create(ctx, session.Created{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Create() = %v, want ErrReadOnly", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestReadersSeeWhatAWriterWrites(t *testing.T) {
	dir := t.TempDir()
	w := open(t, dir)
	id := create(t, w, "/p").ID
	r, err := Open(ctx, dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if changed, err := r.Changed(ctx); err != nil {
		t.Fatal(changed, err)
	}
	add(t, w, id, prompt("x"))
	if head, err := r.Load(ctx, id); err != nil || head.LastSeq != 2 {
		t.Errorf("Load() = %+v, %v; want two events", head, err)
	}
}

func TestFilesAreForTheUserAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b c?d%#")
	s := open(t, dir)
	create(t, s, "/p")
	for name, want := range map[string]os.FileMode{"": 0o700, File: 0o600, File + "-wal": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %q = %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}
