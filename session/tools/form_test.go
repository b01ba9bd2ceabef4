//go:build linux || darwin

package tools

import (
	"belay/session/files"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFileKeepsItsForm(t *testing.T) {
	edit := func(before, after string) [2]string {
		args, _ := json.Marshal(map[string]any{"path": "f", "edits": []any{map[string]string{"old": before, "new": after}}})
		return [2]string{"edit", string(args)}
	}
	write := func(content string) [2]string {
		args, _ := json.Marshal(map[string]string{"path": "f", "content": content})
		return [2]string{"write", string(args)}
	}
	patch := func(lines string) [2]string {
		args, _ := json.Marshal(map[string]string{"patch": "*** Begin Patch\n*** Update File: f\n" + lines + "\n*** End Patch"})
		return [2]string{"apply_patch", string(args)}
	}
	for _, tt := range []struct {
		name, before string
		call         [2]string
		want, says   string // says: the error
	}{
		{"CRLF in a write", "a\r\nb\r\n", write("a\nc\n"), "a\r\nc\r\n", ""},
		{"CRLF in a write that has it", "a\r\nb\r\n", write("a\r\nc\r\n"), "a\r\nc\r\n", ""},
		{"LF becomes CRLF where that is written", "a\nb\n", write("a\r\nb\r\n"), "a\r\nb\r\n", ""},
		{"mixed ends in an edit", "a\r\nb\nc\r\nd\n", edit("b\nc", "x\ny"), "a\r\nx\ny\r\nd\n", ""},
		{"mixed ends around a new line", "a\r\nb\nc\r\nd\n", edit("b\n", "b\nnew\n"), "a\r\nb\nnew\nc\r\nd\n", ""},
		{"mixed ends after a line that goes", "a\r\nb\nc\r\nd\n", edit("b\n", ""), "a\r\nc\r\nd\n", ""},
		{"mixed ends in a write", "a\r\nb\nc\r\nd\n", write("a\nb\nc\ne\n"), "a\r\nb\nc\r\ne\n", ""},
		{"mixed ends in a patch", "a\r\nb\nc\r\nd\n", patch(" a\n-b\n+x\n c"), "a\r\nx\nc\r\nd\n", ""},
		{"a return that is no line end", "a\rb\r\nc\r\n", edit("c", "d"), "a\rb\r\nd\r\n", ""},
		{"a byte order mark in an edit", bom + "a\nb\n", edit("a\nb", "c"), bom + "c\n", ""},
		{"a byte order mark in a write", bom + "a\r\nb\r\n", write("c\n"), bom + "c\r\n", ""},
		{"a byte order mark is not doubled", bom + "a\n", write(bom + "c\n"), bom + "c\n", ""},
		{"a byte order mark before mixed ends", bom + "a\r\nb\n", edit("a", "c"), bom + "c\r\nb\n", ""},
		{"no final line end in a write", "a\nb", write("a\nc\n"), "a\nc", ""},
		{"a final line end in a write", "a\nb\n", write("a\nc"), "a\nc\n", ""},
		{"no final line end in an edit", "a\nb", edit("a", "c"), "c\nb", ""},
		{"a final line end that is asked for", "a\nb", edit("b", "b\n"), "a\nb\n", ""},
		{"no final line end in a patch", "a\nb", patch("-a\n+c\n b"), "c\nb", ""},
		{"another encoding beside the change", "caf\xe9 au lait\nb is a longer line\n", edit("b is", "c was"),
			"caf\xe9 au lait\nc was a longer line\n", ""},
		{"what was read of another encoding", "caf\xe9 au lait\n", write("caf\ufffd au lait\n"), "caf\xe9 au lait\n", "not UTF-8"},
		{"other text for another encoding", "caf\xe9 au lait\nb\n", edit("b", "é"), "caf\xe9 au lait\nb\n", "not UTF-8"},
		{"a patch of another encoding", "caf\xe9 au lait\n", patch("-caf\ufffd au lait\n+x"), "caf\xe9 au lait\n", "not UTF-8"},
		{"UTF-16", "\xff\xfea\x00\n\x00", write("b\n"), "\xff\xfea\x00\n\x00", "would lose its encoding"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := workspace(t, map[string]string{"f": tt.before})
			r := calls(t, s, [2]string{"read", `{"path":"f"}`}, tt.call)
			if r.Error != (tt.says != "") || !strings.Contains(r.Output, tt.says) {
				t.Errorf("said %q, want %q", r.Output, tt.says)
			}
			if got := content(t, s, "f"); got != tt.want {
				t.Errorf("the file became %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReadTellsTheFormThatCannotBeSeen(t *testing.T) {
	s := workspace(t, map[string]string{"latin": "caf\xe9 au lait\n", "open": "a", "mark": bom + "a\n"})
	for path, want := range map[string]string{
		"latin": "(not UTF-8: ", "open": "     1\ta\n(no line end after the last line)\n", "mark": "     1\ta\n",
	} {
		if _, r := call(t, s, "read", `{"path":"`+path+`"}`); r.Error || !strings.Contains(r.Output, want) {
			t.Errorf("read of %s = %q, want %q", path, r.Output, want)
		}
	}
}

func TestAWriteKeepsWhatAFileIs(t *testing.T) {
	long := strings.Repeat("n", 255)
	for _, tt := range []struct {
		name, file string
		set        func(path string) error
		same       bool // the same inode
	}{
		{"a hard link", "f", func(path string) error { return os.Link(path, path+"2") }, true},
		{"its owner", "f", func(path string) error { return os.Chown(path, 12345, 23456) }, true},
		{"a special mode", "f", func(path string) error { return os.Chmod(path, 0o751|os.ModeSetgid) }, false},
		{"the longest name", long, func(string) error { return nil }, false},
		{"an attribute", "f", func(path string) error { return setAttribute(path, "user.belay", "kept") }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := workspace(t, map[string]string{tt.file: "old, and longer\n"})
			path := filepath.Join(s.o.Root, tt.file)
			if err := tt.set(path); err != nil {
				t.Skip(err)
			}
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			r := calls(t, s, [2]string{"read", `{"path":"` + tt.file + `"}`},
				[2]string{"write", `{"path":"` + tt.file + `","content":"new\n"}`})
			after, err := os.Stat(path)
			if err != nil || r.Error {
				t.Fatal(err, r)
			}
			was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
			if os.SameFile(before, after) != tt.same || before.Mode() != after.Mode() || was.Uid != is.Uid || was.Gid != is.Gid {
				t.Errorf("%+v became %+v", was, is)
			}
			if got := content(t, s, tt.file); got != "new\n" {
				t.Errorf("it holds %q", got)
			}
		})
	}
}

// What only looks like a file is never waited for.
func TestAPipeIsNoFile(t *testing.T) {
	s := workspace(t, map[string]string{"dir/a.txt": "word\n"})
	pipe := filepath.Join(s.o.Root, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := syscall.Mkfifo(filepath.Join(s.o.Root, "dir", ".gitignore"), 0o600); err != nil {
		t.Skip(err)
	}
	for _, c := range [][2]string{
		{"read", `{"path":"pipe"}`}, {"read", `{"path":"/dev/zero"}`}, {"grep", `{"pattern":"x","path":"pipe"}`},
		{"grep", `{"pattern":"x","path":"/dev/zero"}`}, {"write", `{"path":"pipe","content":"x"}`},
		{"edit", `{"path":"pipe","edits":[{"old":"x","new":"y"}]}`},
	} {
		if _, r := call(t, s, c[0], c[1]); !r.Error {
			t.Errorf("%s %s: %+v", c[0], c[1], r)
		}
	}
	if _, err := FileHash(pipe); err == nil {
		t.Error("a pipe has a hash")
	}
	if _, err := files.Read(files.At("/dev/zero"), 1<<10); err == nil {
		t.Error("a device was read")
	}
	names, err := walk(t.Context(), s.o.Root)
	if err != nil || strings.Join(names, " ") != "dir/a.txt" {
		t.Errorf("walk = %q, %v", names, err)
	}
}

func setAttribute(path, name, value string) error { return unix.Setxattr(path, name, []byte(value), 0) }
