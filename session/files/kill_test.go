//go:build unix

package files

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestMain is also the process that a test kills: it writes a file in place, with one
// content and then the other, for as long as it lives.
func TestMain(m *testing.M) {
	dir := os.Getenv("FILES_TEST_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	root, err := os.OpenRoot(dir)
	w := Writer{Aside: os.Getenv("FILES_TEST_ASIDE"), NewID: func() string { return "id" }, Relaxed: true}
	for i := 1; err == nil; i++ {
		err = w.Replace(root, "file", filepath.Join(dir, "file"), large(i))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// large are contents of different length.
func large(i int) []byte {
	return bytes.Repeat([]byte{byte('a' + i%2)}, 24<<20+i%2<<20)
}

func TestAFileIsWholeThoughItsWriterIsKilled(t *testing.T) {
	torn, rounds := 0, 3
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		dir, aside := t.TempDir(), t.TempDir()
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, large(0), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(path, path+"2"); err != nil {
			t.Skip(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FILES_TEST_DIR="+dir, "FILES_TEST_ASIDE="+aside)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		old := Writer{Aside: aside}.unfinishedWrite(path).old
		for info, err := os.Stat(old); err != nil || info.Size() < 24<<20; info, err = os.Stat(old) {
			runtime.Gosched()
		}
		for now := first(path); now == 'a'; now = first(path) { // until it is being written
			runtime.Gosched()
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if mixed(t, path) {
			torn++
		}
		for i := range 2 { // the log tells which it was
			w := Writer{Aside: aside, Relaxed: true}
			left, err := os.ReadFile(w.unfinishedWrite(path).old)
			if err == nil && Hash(left) == Hash(large(i)) {
				if _, err := w.RestoreUnfinished(path, Hash(left)); err != nil {
					t.Error(err)
				}
			}
		}
		if mixed(t, path) {
			t.Error("the file is neither as it was nor as it was to become")
		}
	}
	t.Logf("%d of %d were torn", torn, rounds)
}

// first is the byte that a file begins with.
func first(path string) byte {
	b := []byte{'a'}
	if f, err := os.Open(path); err == nil {
		_, _ = f.Read(b)
		f.Close()
	}
	return b[0]
}

// mixed reports whether a file is neither of the contents.
func mixed(t *testing.T, path string) bool {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return !bytes.Equal(content, large(0)) && !bytes.Equal(content, large(1))
}
