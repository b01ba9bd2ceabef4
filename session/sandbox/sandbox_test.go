package sandbox

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// place is a folder with a secret in it, and what else an attack needs.
type place struct {
	*Sandbox
	root, secret, outside string
}

func newPlace(t testing.TB) place {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip(err)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{
		root:    filepath.Join(base, "work"),
		secret:  filepath.Join(base, "home", ".ssh"),
		outside: filepath.Join(base, "other"),
	}
	for name, content := range map[string]string{
		"work/a.txt": "in the open\n", "home/.ssh/id": "SECRET\n", "home/notes": "a note\n", "other/b.txt": "other\n",
	} {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.Sandbox = New(Options{Secrets: []string{p.secret, ""}, Root: p.root})
	t.Cleanup(p.Close)
	return p
}

// run gives what a shell line says, and its exit.
func (p place) run(t testing.TB, line string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.root, &out, &out
	cmd.Env = append(os.Environ(), "SECRET_PLACE="+p.secret, "OUTSIDE="+p.outside)
	code, err := p.Run(t.Context(), cmd, Profile{Reading: true}, func(int) {})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status %d", code)
	}
	return out.String(), err
}

func TestReadingWorks(t *testing.T) {
	p := newPlace(t)
	for line, want := range map[string]string{
		"cat a.txt":                              "in the open",
		"cat $OUTSIDE/../home/notes":             "a note",
		"ls -a $OUTSIDE/../home":                 ".ssh",
		"ls / | grep -c .":                       "",
		"cat a.txt | tr a-z A-Z":                 "IN THE OPEN",
		"echo x > /dev/null && echo fine":        "fine",
		"echo x > $TMPDIR/t && cat $TMPDIR/t":    "x",
		"sort -T $TMPDIR a.txt":                  "in the open",
		"head -c 4 /dev/zero | wc -c":            "4",
		"(sleep 0; echo child) & wait; echo end": "child\nend",
		"cat /proc/self/status | head -1":        "Name:",
		"test -r a.txt && echo readable":         "readable",
		"kill -0 $$ && echo itself":              "itself",
	} {
		if got, err := p.run(t, line); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v; want %q", line, got, err, want)
		}
	}
}

func TestNothingElseDoes(t *testing.T) {
	p := newPlace(t)
	for name, line := range map[string]string{
		"a file that is there":       "echo x > a.txt",
		"appending":                  "echo x >> a.txt",
		"a new file":                 "echo x > new.txt",
		"a file outside":             "echo x > $OUTSIDE/b.txt",
		"emptying":                   ": > a.txt",
		"truncating":                 "truncate -s 0 a.txt",
		"removing":                   "rm -f a.txt; test ! -e a.txt",
		"renaming":                   "mv a.txt b.txt",
		"moving it to where one may": "mv a.txt $TMPDIR/",
		"a link to a file":           "ln a.txt hard",
		"a symbolic link":            "ln -s a.txt soft",
		"a folder":                   "mkdir d",
		"a pipe":                     "mkfifo f",
		"permissions":                "chmod 777 a.txt",
		"an owner":                   "chown 1:1 a.txt",
		"times":                      "touch -d 2001-01-01 a.txt",
		"a secret":                   "cat $SECRET_PLACE/id",
		"a secret by ..":             "cd $SECRET_PLACE/../.ssh/./ && cat id",
		"a secret by a link":         "ln -s $SECRET_PLACE/id $TMPDIR/l && cat $TMPDIR/l",
		"a secret by a hard link":    "ln $SECRET_PLACE/id $TMPDIR/l && cat $TMPDIR/l",
		"a secret by /proc":          "cat /proc/self/root$SECRET_PLACE/id",
		"a secret, running it":       ". $SECRET_PLACE/id",
		"another's environment":      fmt.Sprintf("cat /proc/%d/environ", os.Getpid()),
		"another's memory":           fmt.Sprintf("head -c1 /proc/%d/mem", os.Getpid()),
		"another's files":            fmt.Sprintf("cat /proc/%d/root%s/id", os.Getpid(), p.secret),
		"a signal to another":        fmt.Sprintf("kill -0 %d", os.Getpid()),
		"the terminal":               "echo x > /dev/tty",
		"a disk":                     "head -c1 /dev/vda || head -c1 /dev/sda",
		"the kernel's settings":      "cat /proc/sys/kernel/hostname > $TMPDIR/h && cat $TMPDIR/h > /proc/sys/kernel/hostname",
		"a namespace":                "unshare -r true",
		"a mount":                    "mount -t tmpfs none $TMPDIR",
	} {
		if got, err := p.run(t, line); err == nil || strings.Contains(got, "SECRET") {
			t.Errorf("%s: %s went through: %q", name, line, got)
		}
	}
	for path, want := range map[string]string{
		filepath.Join(p.root, "a.txt"): "in the open\n", filepath.Join(p.outside, "b.txt"): "other\n",
		filepath.Join(p.secret, "id"): "SECRET\n",
	} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s is %q, %v", path, b, err)
		}
	}
	if entries, err := os.ReadDir(p.root); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v are in the workspace", entries, err)
	}
}

func TestThereIsNoNetwork(t *testing.T) {
	p := newPlace(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to open sockets with")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket := filepath.Join(t.TempDir(), "s")
	unixListener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer unixListener.Close()
	for name, code := range map[string]string{
		"tcp":     fmt.Sprintf("import socket; socket.create_connection(('127.0.0.1', %d))", listener.Addr().(*net.TCPAddr).Port),
		"udp":     "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53))",
		"unix":    fmt.Sprintf("import socket; socket.socket(socket.AF_UNIX).connect(%q)", socket),
		"names":   "import socket; socket.getaddrinfo('localhost.example', 80)",
		"raw":     "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
		"a ring":  "import ctypes,sys; sys.exit(0 if ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120)) >= 0 else 1)",
		"tracing": fmt.Sprintf("import ctypes,sys; sys.exit(0 if ctypes.CDLL(None).ptrace(16, %d, 0, 0) == 0 else 1)", os.Getpid()),
	} {
		if got, err := p.run(t, python+" -c \""+strings.ReplaceAll(code, `"`, `\"`)+"\""); err == nil {
			t.Errorf("%s went through: %s", name, got)
		}
	}
}

// The rules end with the thread that they were made for.
func TestOnlyTheCommandIsHeld(t *testing.T) {
	p := newPlace(t)
	for range 20 {
		if _, err := p.run(t, "true"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.root, "mine"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(filepath.Join(p.secret, "id")); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("/bin/sh", "-c", "cat "+filepath.Join(p.secret, "id")).Output(); err != nil {
			t.Fatal(string(out), err)
		}
	}
}

func TestItsFolderGoesWithIt(t *testing.T) {
	p := newPlace(t)
	out, err := p.run(t, "echo x > $TMPDIR/t; echo $TMPDIR")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSpace(out)); !os.IsNotExist(err) {
		t.Errorf("%s: %v", out, err)
	}
}

// What a command costs more than one that nothing holds.
func BenchmarkRun(b *testing.B) {
	p := newPlace(b)
	for name, profile := range map[string]Profile{
		"reading": {Reading: true}, "working": {}, "with the network": {Network: true}, "outside": {Outside: true},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, code := p.work(b, profile, "true"); code != 0 {
					b.Fatal(code)
				}
			}
		})
	}
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
