// Package scratch decides how tests get a PostgreSQL server of their own: it starts the
// one that the system has, in a folder that is deleted, on a Unix socket.
package scratch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// ErrNone is a system without a PostgreSQL server that can be started.
var ErrNone = errors.New("no PostgreSQL server is installed here")

// Start starts a server in a new folder and returns the address of its database, and
// what ends it. A server does not run as root: then it runs as the user postgres.
func Start(ctx context.Context) (address string, stop func() error, err error) {
	bin := programs()
	if bin == "" {
		return "", nil, ErrNone
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return "", nil, err
	}
	s := server{bin: bin, dir: dir}
	if err := s.start(ctx); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	query := url.Values{"host": {dir}, "sslmode": {"disable"}}
	return "postgres://belay@/postgres?" + query.Encode(), s.stop, nil
}

// programs is the folder of the newest server's programs; empty: there is none.
func programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") //nolint:errcheck // the pattern is right
	if len(found) > 0 {
		return filepath.Dir(slices.Max(found))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "initdb")); err == nil {
			return filepath.Dir(path)
		}
	}
	return ""
}

type server struct {
	bin, dir string
	cmd      *exec.Cmd
	said     bytes.Buffer
}

func (s *server) command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	return cmd, asPostgres(cmd, s.dir)
}

func (s *server) start(ctx context.Context) error {
	data := filepath.Join(s.dir, "data")
	initdb, err := s.command(ctx, "initdb", "--auth=trust", "--username=belay", "--no-sync", "--pgdata", data)
	if err != nil {
		return err
	}
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	s.cmd, err = s.command(context.WithoutCancel(ctx), "postgres", "-D", data, "-k", s.dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=60")
	if err != nil {
		return err
	}
	s.cmd.Stdout, s.cmd.Stderr = &s.said, &s.said
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for range 200 {
		ready, err := s.command(ctx, "pg_isready", "-q", "-h", s.dir)
		if err != nil {
			return err
		}
		if ready.Run() == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.Join(fmt.Errorf("the server does not answer: %s", s.said.String()), s.stop())
}

func (s *server) stop() error {
	_ = s.cmd.Process.Signal(os.Interrupt) // "fast": it ends what is connected
	_ = s.cmd.Wait()                       // how it ended is nobody's concern
	return os.RemoveAll(s.dir)
}
