package repository

import (
	"io"
	"os"
	"os/exec"
	"testing"
)

// fakeBelay is the variable that makes this test a program that asks git.
const fakeBelay = "FAKE_BELAY"

func TestAGitEndsWithBelay(t *testing.T) {
	if os.Getenv(fakeBelay) != "" {
		// It waits for its input, which never comes.
		cmd := Command(t.Context(), "git", t.TempDir(), "hash-object", "--stdin")
		cmd.Stdin, cmd.Stdout = os.NewFile(3, "input"), os.Stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString("up\n")
		_ = cmd.Wait()
		t.Fatal("git has ended by itself")
	}
	theirs, input, err := os.Pipe() // open as long as this test
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAGitEndsWithBelay$")
	cmd.Env = append(os.Environ(), fakeBelay+"=1")
	cmd.ExtraFiles = []*os.File{theirs}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	if _, err := io.ReadFull(output, make([]byte, len("up\n"))); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(output); err != nil || len(rest) > 0 { // git has gone too
		t.Errorf("%q, %v", rest, err)
	}
	_ = cmd.Wait()
}
