package sandbox

import (
	"bytes"
	"os/exec"
	"testing"
)

// work runs a shell line as somebody allowed it.
func (p place) work(t testing.TB, profile Profile, line string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.root, &out, &out
	cmd.Env = append(cmd.Environ(), "SECRET_PLACE="+p.secret, "OUTSIDE="+p.outside)
	code, err := p.Run(t.Context(), cmd, profile, func(int) {})
	if err != nil {
		t.Fatal(line, err)
	}
	return out.String(), code
}
