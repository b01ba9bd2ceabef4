//go:build unix

package tools

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"belay/session"
	"belay/session/permit"
	"belay/session/sandbox"
)

// attacked is a workspace with a home folder, belay's data and a folder outside, none
// of which is among what is temporary.
type attacked struct {
	*Set
	home, data, outside string
}

func newAttacked(t *testing.T, files map[string]string) attacked {
	t.Helper()
	if sandbox.Detect() != sandbox.Full {
		t.Skip("this system does not hold commands whole")
	}
	a := attacked{Set: workspace(t, files)}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a.home, a.data, a.outside = filepath.Join(base, "home"), filepath.Join(base, "data"), filepath.Join(base, "outside")
	temp := filepath.Join(base, "temp")
	for path, content := range map[string]string{
		filepath.Join(a.home, ".ssh/id"): "SECRET", filepath.Join(a.home, ".npmrc"): "SECRET",
		filepath.Join(a.home, ".bashrc"): "mine", filepath.Join(a.home, ".cache/go-build/x"): "x",
		filepath.Join(a.data, "belay.db"): "SECRET", filepath.Join(a.outside, "file"): "mine",
		filepath.Join(temp, "data/belay.db"): "SECRET",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"TMPDIR": temp, "FAKE_HOME": a.home, "DATA": a.data, "OUTSIDE": a.outside, "MY_PID": fmt.Sprint(os.Getpid()),
	} {
		t.Setenv(name, value)
	}
	secrets := slices.DeleteFunc(sandbox.Secrets(a.home), func(path string) bool {
		return !strings.HasPrefix(path, a.home) // the real home may hold the programs
	})
	a.sandbox = sandbox.New(sandbox.Options{
		Root: a.o.Root, Home: a.home, Own: []string{a.data, filepath.Join(temp, "data")}, Secrets: secrets, Temp: []string{temp},
	})
	t.Cleanup(a.sandbox.Close)
	return a
}

// shell runs a command as a person allowed it.
func (a attacked) run(t *testing.T, command string) Result {
	t.Helper()
	call, err := a.Prepare("shell", `{"command":`+quote(command)+`}`)
	if err != nil {
		t.Fatal(err)
	}
	return call.Run(t.Context(), func(string) {})
}

func TestWhatAPersonAllowedStaysInside(t *testing.T) {
	a := newAttacked(t, map[string]string{"a.txt": "mine\n"})
	for name, command := range map[string]string{
		"a file outside":            `echo x > $OUTSIDE/file`,
		"appending outside":         `echo x >> $OUTSIDE/file`,
		"a new file outside":        `touch $OUTSIDE/new`,
		"a folder outside":          `mkdir $OUTSIDE/d`,
		"removing outside":          `rm -rf $OUTSIDE/file`,
		"renaming outside":          `mv $OUTSIDE/file $OUTSIDE/b`,
		"moving it in":              `mv $OUTSIDE/file .`,
		"moving over it":            `mv a.txt $OUTSIDE/file`,
		"modes outside":             `chmod 600 $OUTSIDE/file`,
		"an owner outside":          `chown 1 $OUTSIDE/file`,
		"times outside":             `touch -d 2001-01-01 $OUTSIDE/file`,
		"truncating outside":        `truncate -s 0 $OUTSIDE/file`,
		"by ..":                     `echo x > sub/../../../$(basename $(dirname $OUTSIDE))/outside/file`,
		"by a link":                 `ln -s $OUTSIDE/file l && echo x > l`,
		"by a linked folder":        `ln -s $OUTSIDE d && echo x > d/file`,
		"by a hard link":            `ln $OUTSIDE/file h && echo x > h`,
		"by /proc":                  `echo x > /proc/self/root$OUTSIDE/file`,
		"by /proc/self/cwd":         `cd $OUTSIDE && echo x > /proc/self/cwd/file`,
		"by another process":        `echo x > /proc/1/root$OUTSIDE/file`,
		"a shell's settings":        `echo x >> $FAKE_HOME/.bashrc`,
		"a program of the cache's":  `mkdir -p $FAKE_HOME/.cargo/bin && echo x > $FAKE_HOME/.cargo/bin/cargo`,
		"a key":                     `cat $FAKE_HOME/.ssh/id`,
		"a token":                   `cat $FAKE_HOME/.npmrc`,
		"a key by a link":           `ln -s $FAKE_HOME/.ssh/id k && cat k`,
		"a key by a hard link":      `ln $FAKE_HOME/.ssh/id k2 && cat k2`,
		"a key by a copy":           `cp -r $FAKE_HOME/.ssh copied && cat copied/id`,
		"a key by /proc":            `cat /proc/self/root$FAKE_HOME/.ssh/id`,
		"a key by a program's name": `printf '#!/bin/sh\ncat $FAKE_HOME/.ssh/id\n' > git; chmod +x git; ./git push`,
		"belay's data":              `cat $DATA/belay.db`,
		"belay's data, writing":     `echo x > $DATA/belay.db`,
		"belay's data among temp":   `cat $TMPDIR/data/belay.db`,
		"the same, writing":         `echo x > $TMPDIR/data/new`,
		"the same, moving it":       `mv $TMPDIR/data $TMPDIR/data2 && cat $TMPDIR/data2/belay.db`,
		"belay's environment":       `cat /proc/$MY_PID/environ`,
		"the holder's environment":  `grep -z HOME /proc/1/environ`,
		"belay's memory":            `head -c1 /proc/$MY_PID/mem`,
		"a signal to belay":         `kill -0 $MY_PID`,
		"a signal to the holder":    `kill -9 $PPID; kill -0 $PPID`,
		"a disk":                    `head -c1 /dev/vda || head -c1 /dev/sda`,
		"the terminal":              `echo x > /dev/tty`,
		"another terminal":          `for t in /dev/pts/[0-9]*; do echo x > $t && exit 0; done; exit 1`,
		"the kernel's settings":     `echo x > /proc/sys/kernel/hostname`,
		"a mount":                   `mount -t tmpfs none $TMPDIR`,
		"taking one away":           `umount $TMPDIR/data && cat $TMPDIR/data/belay.db`,
		"having it writable again":  `mount -o remount,rw /`,
		"a namespace":               `unshare -r true`,
		"another's namespace":       `nsenter -t 1 -m true`,
		"root by a program":         `sudo -n true`,
	} {
		if r := a.run(t, command); !r.Error || strings.Contains(r.Output, "SECRET") {
			t.Errorf("%s: %s went through: %q", name, command, r.Output)
		}
	}
	for path, want := range map[string]string{
		filepath.Join(a.outside, "file"): "mine", filepath.Join(a.home, ".bashrc"): "mine",
		filepath.Join(a.data, "belay.db"): "SECRET",
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o644 {
			t.Fatalf("%v, %v", info, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s is %q, %v", path, b, err)
		}
	}
	if entries, err := os.ReadDir(a.outside); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v are outside", entries, err)
	}
}

func TestWhatAPersonAllowedWorksAsOutside(t *testing.T) {
	a := newAttacked(t, map[string]string{
		"go.mod": "module a\n\ngo 1.20\n",
		"a_test.go": "package a\n\nimport (\n\t\"net/http\"\n\t\"net/http/httptest\"\n\t\"os\"\n\t\"testing\"\n)\n\n" +
			"func TestServer(t *testing.T) {\n" +
			"\ts := httptest.NewServer(http.NotFoundHandler())\n\tdefer s.Close()\n\tr, err := http.Get(s.URL)\n" +
			"\tif err != nil || r.StatusCode != 404 {\n\t\tt.Fatal(err)\n\t}\n" +
			"\tif err := os.WriteFile(t.TempDir()+\"/x\", nil, 0o600); err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n",
		"main/main.go": "package main\n\nfunc main() { println(`built`) }\n",
		"script.sh":    "echo made > made.txt; echo t > $TMPDIR/t; cat made.txt $TMPDIR/t\n",
	})
	a.home = os.Getenv("HOME")
	a.sandbox = sandbox.New(sandbox.Options{Root: a.o.Root, Home: a.home, Temp: []string{os.Getenv("TMPDIR")}})
	t.Cleanup(a.sandbox.Close)
	for _, tt := range [][2]string{
		{"go test ./...", "ok"},
		{"go build -o out ./main && ./out", "built"},
		{"git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm first && git log --oneline", "first"},
		{"sh script.sh", "made\nt"},
		{"(sleep 0.05; echo late) & wait; echo done", "late\ndone"},
		{"mkdir -p x/y && mv script.sh x/y/ && cp x/y/script.sh . && rm -r x && ls script.sh", "script.sh"},
		{"chmod 700 script.sh && touch -d 2001-01-01 script.sh && ln script.sh hard && ln -s hard soft && cat soft", "made"},
		{"echo x > /dev/shm/belay-test && cat /dev/shm/belay-test && ls /dev/shm | wc -l", "x\n1"},
		{"cat /etc/passwd | head -1", "root"},
		{"sleep 100 & kill $! && echo ended", "ended"},
		{"seq 1 100000 | tail -1", "100000"},
		{"echo a >&2; exec 2>&1; echo b", "b"},
		{"cat; echo end of input", "end of input"},
	} {
		if r := a.run(t, tt[0]); r.Error || !strings.Contains(r.Output, tt[1]) {
			t.Errorf("%s: %+v; want %q", tt[0], r, tt[1])
		}
	}
}

func TestWithoutTheNetworkNothingGetsOut(t *testing.T) {
	a := newAttacked(t, nil)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to open sockets with")
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	socket := filepath.Join(a.o.Root, "engine.sock")
	local, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	const abstract = "@belay-test-abstract"
	hidden, err := net.Listen("unix", abstract)
	if err != nil {
		t.Fatal(err)
	}
	defer hidden.Close()
	if r := a.run(t, python+" -c 'print(1)'"); r.Error {
		t.Fatal(r.Output)
	}
	connect := func(to string) string { return "import socket; " + to }
	port := tcp.Addr().(*net.TCPAddr).Port
	for name, code := range map[string]string{
		"tcp here":      connect(fmt.Sprintf("socket.create_connection(('127.0.0.1', %d), 2)", port)),
		"tcp there":     connect("socket.create_connection(('192.0.2.1', 80), 2)"),
		"udp":           connect("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))"),
		"names":         connect("socket.getaddrinfo('belay.example', 80)"),
		"raw":           connect("socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
		"another world": connect("socket.socket(40, socket.SOCK_STREAM)"),
		"unix":          connect("socket.socket(socket.AF_UNIX).connect('" + socket + "')"),
		"unix by proc":  connect("socket.socket(socket.AF_UNIX).connect('/proc/self/root" + socket + "')"),
		"abstract":      connect("socket.socket(socket.AF_UNIX).connect('\\0" + abstract[1:] + "')"),
		"a ring": "import ctypes,sys; " +
			"sys.exit(0 if ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120)) >= 0 else 1)",
		"tracing": fmt.Sprintf("import ctypes,sys; sys.exit(0 if ctypes.CDLL(None).ptrace(16, %d, 0, 0) == 0 else 1)",
			os.Getpid()),
		"the kernel's keys": "import ctypes,sys; sys.exit(0 if ctypes.CDLL(None).syscall(250, 0, -3, 0) >= 0 else 1)",
	} {
		if r := a.run(t, python+" -c \""+strings.ReplaceAll(code, `"`, `\"`)+"\""); !r.Error {
			t.Errorf("%s went through: %s", name, r.Output)
		}
	}
	a.o.Network = networkAllow
	if r := a.run(t, python+` -c "`+connect(fmt.Sprintf("socket.create_connection(('127.0.0.1', %d), 2)", port))+`"`); r.Error {
		t.Errorf("with the network: %s", r.Output)
	}
	if r := a.run(t, python+` -c "`+connect("socket.socket(socket.AF_UNIX).connect('"+socket+"')")+`"`); !r.Error {
		t.Errorf("the network brings sockets with it: %s", r.Output)
	}
}

// What a program says when it is refused something becomes a word to the model and a
// setting, and the same call asks.
func TestARefusalNamesTheSettingThatAllowsIt(t *testing.T) {
	a := newAttacked(t, map[string]string{"a.txt": "mine\n"})
	outside := a.outside
	for _, tt := range []struct {
		network, output, note, why string
		gets                       bool // the network, when it is asked for again
	}{
		{"", "curl: (6) Could not resolve host: example.com", "without the network", "gets it now", true},
		{"", "dial tcp: lookup proxy.golang.org: no such host", "without the network", "gets it now", true},
		{"", "getaddrinfo EAI_AGAIN registry.npmjs.org", "without the network", "gets it now", true},
		{"", "ping: connect: Network is unreachable", "without the network", "gets it now", true},
		{"", "psql: could not connect to server: Connection refused", "without the network", "gets it now", true},
		{"deny", "Temporary failure in name resolution", `network = "deny"`, "as the settings say", false},
		{"allow", "curl: (6) Could not resolve host: example.org", "", "", false},
		{"", "touch: cannot touch '" + outside + "/new': Read-only file system", `write = ["` + outside + `"]`, outside, false},
		{"", "open " + outside + "/file: permission denied", `write = ["` + outside + `"]`, outside, false},
		{"", "cat: " + a.home + "/.ssh/id: Permission denied", `read = ["~/.ssh"]`, `read = ["~/.ssh"]`, false},
		{"", "cat: ~/.npmrc: Permission denied", `read = ["~/.npmrc"]`, `read = ["~/.npmrc"]`, false},
		{"", "cat: " + a.data + "/belay.db: Permission denied", "which no setting opens", a.data, false},
		{"", "EROFS: read-only file system, mkdir", "read-only", "outside the workspace", false},
		{"", "sudo: /etc/sudo.conf is owned by uid 65534, should be 0", "rights of another user", "another user", false},
		{"", "bash: ./script.sh: Permission denied", "", "", false},
		{"", a.o.Root + "/locked: Permission denied", "", "", false},
		{"", "assertion failed: got 1, want 2", "", "", false},
	} {
		a.o.Network = tt.network
		line := "printf '%s\\n' \"" + tt.output + "\" >&2; exit 1"
		r := a.run(t, line)
		if !r.Error || (tt.note == "") != strings.HasSuffix(r.Output, "(exit status 1)") || !strings.Contains(r.Output, tt.note) {
			t.Errorf("%s: %q, want %q", tt.output, r.Output, tt.note)
		}
		call, err := a.Prepare("shell", `{"command":`+quote(line)+`}`)
		if err != nil {
			t.Fatal(err)
		}
		grants := []string{"exact:" + line}
		decision := permit.Judge(session.Ask, call.Describe("shell", a.o.Root), grants)
		if asks := decision.Verdict == permit.Ask; asks != (tt.why != "") || !strings.Contains(decision.Reason, tt.why) {
			t.Errorf("%s: again %+v, want %q", tt.output, decision, tt.why)
		}
		if gets := strings.Contains(call.Reach, "and the network"); gets != (tt.gets || tt.network == "allow") {
			t.Errorf("%s: it reaches %q", tt.output, call.Reach)
		}
		if all := permit.Judge(session.All, call.Describe("shell", a.o.Root), nil); all.Verdict != permit.Allow {
			t.Errorf("%s: in mode all %+v", tt.output, all)
		}
	}
}

func TestProgramsGetWhatTheyNeed(t *testing.T) {
	a := newAttacked(t, nil)
	t.Setenv("SSH_AUTH_SOCK", "/run/agent")
	for line, want := range map[string]struct {
		network     bool
		reads, sock string
	}{
		"git push":                        {true, ".ssh", "/run/agent"},
		"git -C x fetch origin":           {true, ".ssh", "/run/agent"},
		"git commit -m x":                 {false, ".gnupg", "/run/agent"},
		"cd x && npm ci":                  {true, ".npmrc", ""},
		"npm test":                        {false, ".npmrc", ""},
		"yarn":                            {true, ".yarnrc.yml", ""},
		"go test ./...":                   {false, ".netrc", ""},
		"go get x@latest":                 {true, ".netrc", ""},
		"/usr/bin/curl http://x":          {true, ".netrc", ""},
		"sudo env A=b pip install x":      {true, ".pypirc", ""},
		"bash -c 'docker ps'":             {true, ".docker", "/var/run/docker.sock"},
		"timeout 5 ssh host true":         {true, ".ssh", "/run/agent"},
		"for i in 1 2; do wget $i; done":  {true, ".netrc", ""},
		"echo $(aws s3 ls)":               {true, ".aws", ""},
		"./git push":                      {},
		a.o.Root + "/curl http://x":       {},
		os.Getenv("TMPDIR") + "/git push": {},
		"make deploy":                     {},
		"echo git push":                   {},
		"node -e 'x'":                     {},
		"'unterminated":                   {},
		"./gradlew build":                 {true, ".gradle/gradle.properties", ""},
	} {
		got := a.sandbox.Needs(line)
		if got.Network != want.network {
			t.Errorf("%s: network %v", line, got.Network)
		}
		if reads := slices.Contains(got.Reads, filepath.Join(a.home, want.reads)); reads != (want.reads != "") {
			t.Errorf("%s: reads %v, want %q", line, got.Reads, want.reads)
		}
		if sock := slices.Contains(got.Sockets, want.sock); sock != (want.sock != "") {
			t.Errorf("%s: sockets %v, want %q", line, got.Sockets, want.sock)
		}
	}
}

func TestAProgramReadsItsOwnSecretsAlone(t *testing.T) {
	a := newAttacked(t, nil)
	for line, want := range map[string]bool{
		"git --version && cat $FAKE_HOME/.ssh/id":      true, // it is what the person saw and allowed
		"cat $FAKE_HOME/.ssh/id":                       false,
		"npm --version; cat $FAKE_HOME/.ssh/id":        false,
		"git --version && cat $FAKE_HOME/.npmrc":       false,
		"git --version && echo x > $FAKE_HOME/.ssh/id": false,
		"git --version && cat $DATA/belay.db":          false,
	} {
		if r := a.run(t, line); r.Error == want || strings.Contains(r.Output, "SECRET") != want {
			t.Errorf("%s: %q", line, r.Output)
		}
	}
}

func TestAQuestionNamesTheSecretsThatAProgramGets(t *testing.T) {
	a := newAttacked(t, nil)
	for line, want := range map[string]string{
		"git push":      "this folder, caches and the network; secrets: ~/.ssh",
		"git commit":    "this folder and caches; no network; secrets: ~/.ssh",
		"npm ci":        "this folder, caches and the network; secrets: ~/.npmrc",
		"go test ./...": "this folder and caches; no network", // none of its own is there
		"make deploy":   "this folder and caches; no network",
	} {
		call, err := a.Prepare("shell", `{"command":`+quote(line)+`}`)
		if err != nil || call.Reach != want {
			t.Errorf("%s reaches %q, %v, want %q", line, call.Reach, err, want)
		}
	}
	for _, name := range []string{".netrc", ".gnupg/x", ".git-credentials", ".config/gh/x"} {
		path := filepath.Join(a.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	many := a.reach(sandbox.Profile{Reads: a.sandbox.Needs("git push").Reads})
	if names := strings.Count(many, "~/"); names != maxKeys || !strings.HasSuffix(many, " and 1 more") {
		t.Errorf("many are said as %q", many)
	}
}

func TestOutsideTheSandboxNothingIsHeld(t *testing.T) {
	a := newAttacked(t, nil)
	call, err := a.Prepare("shell", `{"command":"echo x > $OUTSIDE/new && cat $FAKE_HOME/.ssh/id"}`)
	if err != nil {
		t.Fatal(err)
	}
	outside := permit.Decision{Verdict: permit.Allow, Outside: true}
	if r := call.Runner(outside)(t.Context(), func(string) {}); r.Error || r.Output != "SECRET" {
		t.Errorf("%+v", r)
	}
	a.o.Open = true // the sandbox is off, and there is nothing to leave
	call, err = a.Prepare("shell", `{"command":"cat $FAKE_HOME/.ssh/id"}`)
	if err != nil || call.RunOutside != nil || !strings.Contains(call.Reach, "sandbox is off") {
		t.Errorf("%+v, %v", call, err)
	}
	if r := call.Run(t.Context(), func(string) {}); r.Error || r.Output != "SECRET" {
		t.Errorf("%+v", r)
	}
}

// What steers programs that run outside later stays as it is, unless a person has
// allowed the program that is there to change it.
func TestHooksAndSettingsOfTheRepositoryStay(t *testing.T) {
	a := newAttacked(t, map[string]string{"a.txt": "mine\n"})
	if r := a.run(t, "git init -q && git config user.name a && mkdir -p .git/hooks && echo x > .git/hooks/mine"); r.Error {
		t.Fatal(r.Output)
	}
	for name, line := range map[string]string{
		"a hook":              "echo evil > .git/hooks/pre-commit",
		"settings":            "echo evil >> .git/config",
		"new settings":        "mv a.txt .git/config",
		"another repository":  "mv .git .g && mkdir .git",
		"another hook folder": "mv .git/hooks .git/h && mkdir .git/hooks",
		"none":                "rm -rf .git/hooks",
		"modes":               "chmod 777 .git/hooks",
	} {
		if r := a.run(t, line); !r.Error {
			t.Errorf("%s: %s went through: %s", name, line, r.Output)
		}
	}
	for _, line := range []string{
		"git config user.email a@b && git commit --allow-empty -qm first", "echo x > .git/description", "cat .git/config",
	} {
		if r := a.run(t, line); r.Error {
			t.Errorf("%s: %s", line, r.Output)
		}
	}
}

func TestGitWorksInAWorktreeAndBelow(t *testing.T) {
	a := newAttacked(t, map[string]string{"sub/a.txt": "mine\n"})
	const commit = "git -c user.name=a -c user.email=a@b commit --allow-empty -qm next"
	other := filepath.Join(filepath.Dir(a.outside), "worktree")
	made := exec.Command("sh", "-c", "git init -q && "+commit+" && git worktree add -q "+other)
	made.Dir = a.o.Root
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatal(string(out), err)
	}
	forged := filepath.Join(filepath.Dir(a.outside), "forged")
	if err := os.MkdirAll(forged, 0o755); err != nil {
		t.Fatal(err)
	}
	gitdir := filepath.Join(a.o.Root, ".git", "worktrees", "worktree")
	if err := os.WriteFile(filepath.Join(forged, ".git"), []byte("gitdir: "+gitdir+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for root, want := range map[string]bool{other: true, filepath.Join(a.o.Root, "sub"): true, forged: false} {
		s := a.Set
		s.o.Root = root
		s.sandbox = sandbox.New(sandbox.Options{Root: root, Home: a.home, Temp: []string{os.Getenv("TMPDIR")}})
		t.Cleanup(s.sandbox.Close)
		if r := a.run(t, commit); r.Error == want {
			t.Errorf("%s: %s", root, r.Output)
		}
	}
}

func TestShellsStayAsTheyAreInAHomeThatIsTheWorkspace(t *testing.T) {
	a := newAttacked(t, nil)
	a.o.Root = a.home
	a.sandbox = sandbox.New(sandbox.Options{
		Root: a.home, Home: a.home, Secrets: []string{filepath.Join(a.home, ".ssh")}, Temp: []string{os.Getenv("TMPDIR")},
	})
	t.Cleanup(a.sandbox.Close)
	for line, want := range map[string]bool{
		"echo x > notes.txt": true, "echo evil >> .bashrc": false, "mv notes.txt .bashrc": false,
		"cat .ssh/id": false, "echo x > .ssh/authorized_keys": false, "mv .ssh .s && cat .s/id": false,
	} {
		if r := a.run(t, line); r.Error == want || strings.Contains(r.Output, "SECRET") {
			t.Errorf("%s: %s", line, r.Output)
		}
	}
}
