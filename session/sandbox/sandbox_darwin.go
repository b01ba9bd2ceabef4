package sandbox

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"belay/session/sandbox/hold"
)

// endsAll: a process that leaves its group outlives its command unless it is looked
// for.
const endsAll = false

// begin starts a command in its place.
func (s *Sandbox) begin(cmd *exec.Cmd, p Profile) (process, error) {
	if !p.Outside && Available() == nil {
		cmd = wrapped(cmd, s.workingProfile(p))
	}
	return s.runHeld(cmd, hold.Setup{}, ownSession, hold.Command{})
}

// spaces: there are none.
func spaces() bool { return false }

// endMarked ends what carries a mark in its environment, as far as the system shows
// it: that of Apple's own programs is hidden.
func endMarked(mark string) {
	out, err := exec.Command("/bin/ps", "-axEww", "-o", "pid=,command=").Output()
	if err != nil {
		return
	}
	for line := range strings.Lines(string(out)) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(number); err == nil && strings.Contains(rest, mark) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

const seatbelt = "/usr/bin/sandbox-exec"

// Available says why commands cannot be held on this system; nil: they can.
func Available() error {
	if _, err := exec.LookPath(seatbelt); err != nil {
		return fmt.Errorf("%w: there is no %s", ErrUnavailable, seatbelt)
	}
	return nil
}

// Mechanism names what holds commands on this system.
func Mechanism() string { return "the seatbelt" }

// beginReading starts a command that writes to one folder, and changes nothing else.
func (s *Sandbox) beginReading(cmd *exec.Cmd, own, closed []string) (process, error) {
	return s.runHeld(wrapped(cmd, s.profile(own, closed)), hold.Setup{}, ownSession, hold.Command{})
}

// wrapped has a command run under a profile of the seatbelt.
func wrapped(cmd *exec.Cmd, profile string) *exec.Cmd {
	held := *cmd
	held.Args = append([]string{seatbelt, "-p", profile, cmd.Path}, cmd.Args[1:]...)
	held.Path = seatbelt
	return &held
}

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// profile is what the kernel holds a reading command to. Later rules come before
// earlier ones.
func (s *Sandbox) profile(own, closed []string) string {
	var b strings.Builder
	b.WriteString(`(version 1)
(allow default)
(deny network*)
(deny signal (target others))
(deny process-info* (target others))
(deny mach-lookup)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(deny file-write*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero"))
`)
	for _, path := range own {
		fmt.Fprintf(&b, "(allow file-write* (subpath %s))\n", quoted(path))
	}
	for _, path := range closed {
		fmt.Fprintf(&b, "(deny file-read* (subpath %s))\n", quoted(path))
	}
	return b.String()
}

// workingProfile is what the kernel holds a command to that somebody allowed.
func (s *Sandbox) workingProfile(p Profile) string {
	var b strings.Builder
	b.WriteString(`(version 1)
(allow default)
(deny file-write*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/ptmx") (regex #"^/dev/ttys"))
(deny signal (target others))
(allow signal (target children) (target same-sandbox))
`)
	if !p.Network {
		b.WriteString(`(deny network*)
(allow network* (local ip "localhost:*") (remote ip "localhost:*"))
(deny mach-lookup (global-name "com.apple.dnssd.service"))
`)
	}
	b.WriteString("(deny network-outbound (remote unix-socket))\n")
	for _, path := range p.Sockets {
		fmt.Fprintf(&b, "(allow network-outbound (subpath %s))\n", quoted(path))
	}
	for _, path := range s.writable(p) {
		fmt.Fprintf(&b, "(allow file-write* (subpath %s))\n", quoted(path))
		fmt.Fprintf(&b, "(allow network-outbound (subpath %s))\n", quoted(path))
	}
	for _, path := range s.closedTo(p) {
		fmt.Fprintf(&b, "(deny file-read* file-write* (subpath %s))\n", quoted(path))
	}
	return b.String()
}

func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

func otherHomes(string) []string { return nil } // permissions keep them apart

// Detect says how well commands are held.
func Detect() Grip {
	if Available() != nil {
		return None
	}
	return Parts
}

// partText is what the seatbelt leaves.
const partText = "what they start is looked for when they end, and found unless it hides its environment"
