package sandbox

import (
	"fmt"
	"os/exec"
	"strings"
)

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

func (s *Sandbox) start(cmd *exec.Cmd, temp string) error {
	cmd.Args = append([]string{seatbelt, "-p", s.profile(temp), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = seatbelt
	return cmd.Start()
}

// profile is what the kernel holds the command to. Later rules come before earlier
// ones.
func (s *Sandbox) profile(temp string) string {
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
	fmt.Fprintf(&b, "(allow file-write* (subpath %s))\n", quoted(temp))
	for _, path := range s.secrets {
		fmt.Fprintf(&b, "(deny file-read* (subpath %s))\n", quoted(path))
	}
	return b.String()
}

func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

func otherHomes(string) []string { return nil } // permissions keep them apart
