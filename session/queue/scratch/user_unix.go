//go:build unix

package scratch

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// asPostgres lets a command run as the user postgres where it would run as root.
func asPostgres(cmd *exec.Cmd, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return ErrNone
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return nil
}
