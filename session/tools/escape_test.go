package tools

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func TestOwnGrepFollowsNoLinkThatTheRepositoryHolds(t *testing.T) {
	s := workspace(t, map[string]string{"a.txt": "word\n", "dir/b.txt": "word\n"})
	outside := t.TempDir()
	for _, name := range []string{"b.txt", "secret"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte("word outside\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(s.o.Root, "link")); err != nil {
		t.Skip(err)
	}
	run(t, s.o.Root, "git", "init", "-q")
	run(t, s.o.Root, "git", "add", ".")
	// The folder that git knows becomes a link.
	if err := os.RemoveAll(filepath.Join(s.o.Root, "dir")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.o.Root, "dir")); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{".", "a.txt"} {
		p, err := s.resolve(what)
		if err != nil {
			t.Fatal(err)
		}
		var h hits
		if err := s.goGrep(t.Context(), p, "", regexp.MustCompile("word"), &h); err != nil {
			t.Fatal(err)
		}
		if got, want := h.b.String(), "a.txt:1:word\n"; got != want {
			t.Errorf("grep in %s gave %q, want %q", what, got, want)
		}
	}
}

func TestAFolderThatLooksLikeARepositoryRunsNothing(t *testing.T) {
	s := workspace(t, map[string]string{
		"sub/HEAD":      "ref: refs/heads/main\n",
		"sub/objects/x": "",
		"sub/refs/x":    "",
		"sub/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n" +
			"\tfsmonitor = \"touch ../ran; false\"\n",
	})
	for _, c := range [][2]string{
		{"shell", `{"command":"git status; git ls-files -o; git diff","dir":"sub"}`},
		{"glob", `{"pattern":"*","path":"sub"}`},
	} {
		call(t, s, c[0], c[1])
		if _, err := os.Stat(filepath.Join(s.o.Root, "ran")); err == nil {
			t.Errorf("%s ran what the folder's settings name", c[0])
		}
	}
}

func TestALongLineIsSearchedAndCanBeStopped(t *testing.T) {
	line := []byte(strings.Repeat("a", 4*longLine) + "b")
	ctx, cancel := context.WithCancel(t.Context())
	if re := regexp.MustCompile("ab$"); !matches(ctx, re, line) {
		t.Error("the end of a long line was not found")
	}
	cancel()
	read := &stoppable{ctx: ctx, Reader: bytes.NewReader(line)}
	if regexp.MustCompile("(a{1,500}){1,2}c").MatchReader(read) || read.Len() < 3*longLine {
		t.Errorf("all but %d bytes were searched after the stop", read.Len())
	}
}

func TestCharactersAreShownWhole(t *testing.T) {
	text := strings.Repeat("aé漢🙂", 50) + "\xff\xfe"
	for size := 1; size < 8; size++ {
		var shown strings.Builder
		o := newOutput("", nil, nil, func(piece string) {
			if strings.HasPrefix(text, shown.String()+piece) && !utf8.ValidString(piece) && !strings.Contains(piece, "\xff") &&
				!strings.Contains(piece, "\xfe") {
				t.Errorf("in pieces of %d a character was cut: %q", size, piece)
			}
			shown.WriteString(piece)
		})
		for b := []byte(text); len(b) > 0; b = b[min(size, len(b)):] {
			if _, err := o.Write(b[:min(size, len(b))]); err != nil {
				t.Fatal(err)
			}
		}
		if got := shown.String(); got != text {
			t.Errorf("in pieces of %d shown was %q", size, got)
		}
	}
}

func TestAnEndlessOutputTakesLittleRoom(t *testing.T) {
	o := newOutput(t.TempDir(), func() string { return "1" }, nil, nil)
	piece := []byte(strings.Repeat("y\n", 16<<10))
	for range 4 << 10 { // 128 MB
		if _, err := o.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if held := cap(o.head) + cap(o.tail); held > 256<<10 {
		t.Errorf("%d bytes are held", held)
	}
	text, file := o.close()
	info, err := os.Stat(file)
	if err != nil || info.Size() > maxOutputFile || len(text) > 64<<10 ||
		!strings.Contains(text, "the first 64 MB are in") {
		t.Errorf("kept %d bytes on disk, told %d, %v", info.Size(), len(text), err)
	}
}

func TestAMissInALargeFileIsFoundQuickly(t *testing.T) {
	line := "some line of a long file\n"
	s := workspace(t, map[string]string{"a": strings.Repeat(line, 200_000)})
	old := strings.ReplaceAll(strings.Repeat(line, 400)+"other", "\n", `\n`)
	if _, r := call(t, s, "edit", `{"path":"a","edits":[{"old":"`+old+`","new":"x"}]}`); !r.Error {
		t.Error("an edit of what is not there was made")
	}
}
