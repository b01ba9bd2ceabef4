package snapshot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// around is what the user's own git, if there is one, says of the workspace:
// where its ignore rules are. Nothing of it is ever written to.
type around struct {
	top      string // the folder that rules are relative to: of the user's repository, or the workspace
	prefix   string // of the workspace in top, with a slash at its end; empty when it is top
	excludes string // the user's own file of ignore rules, for all repositories; possibly empty
	index    string // of the user's repository; possibly empty
}

// look asks the user's git about the workspace, and returns the rules that
// stand in no file of the tree. What cannot be found out is taken as absent.
func (s *Store) look(ctx context.Context, root, home string) (around, []byte) {
	var a around
	var rules []byte
	var set string
	var wait sync.WaitGroup
	wait.Go(func() { a, rules = s.repository(ctx, root, home) })
	wait.Go(func() {
		out, _ := run(ctx, s.users(ctx, root, "config", "--type=path", "-z", "--get", "core.excludesFile"))
		set = strings.TrimSuffix(string(out), "\x00")
	})
	wait.Wait()
	if set == "" {
		if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
			set = filepath.Join(dir, "git", "ignore")
		} else if dir, err := os.UserHomeDir(); err == nil {
			set = filepath.Join(dir, ".config", "git", "ignore")
		}
	} else if !filepath.IsAbs(set) {
		set = filepath.Join(a.top, set)
	}
	if readable(set) {
		a.excludes = set
	}
	top, err1 := filepath.EvalSymlinks(a.top)
	dir, err2 := filepath.EvalSymlinks(s.o.Dir)
	if rel, err := filepath.Rel(top, dir); errors.Join(err1, err2, err) == nil && filepath.IsLocal(rel) {
		rules = append(rules, "\n/"+literal(filepath.ToSlash(rel))+"/\n"...)
	}
	return a, rules
}

// repository finds the user's repository and reads its info/exclude.
func (s *Store) repository(ctx context.Context, root, home string) (around, []byte) {
	none := around{top: root}
	out, err := run(ctx, s.users(ctx, root, "rev-parse", "--show-toplevel", "--show-prefix", "--git-path", "info/exclude", "--git-path", "index"))
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || len(lines) != 4 {
		return none, nil
	}
	a := around{top: filepath.FromSlash(lines[0]), prefix: lines[1], index: absolute(root, lines[3])}
	here, err1 := os.Stat(root)
	there, err2 := os.Stat(filepath.Join(a.top, filepath.FromSlash(a.prefix)))
	if err1 != nil || err2 != nil || !os.SameFile(here, there) {
		return none, nil
	}
	exclude := read(absolute(root, lines[2]))
	if a.prefix == "" {
		a.top = root
		return a, exclude
	}
	// A workspace that the repository around it ignores as a whole, such as one
	// in a home folder that is a repository, stands alone.
	rule := filepath.Join(home, "info", "exclude")
	if os.WriteFile(rule, exclude, 0o600) != nil {
		return none, nil
	}
	cmd := s.git.bare(ctx, home, "check-ignore", "-q", "--no-index", "--", "./"+strings.TrimSuffix(a.prefix, "/"))
	cmd.Dir, cmd.Env = a.top, append(cmd.Env, "GIT_WORK_TREE="+a.top, "GIT_LITERAL_PATHSPECS=0")
	if _, err := run(ctx, cmd); status(err) != 1 {
		return none, nil
	}
	return a, exclude
}

// users is a git that asks for settings of the user and of the user's
// repository. None of the commands it is used for runs a program.
func (s *Store) users(ctx context.Context, root string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.git.path, append([]string{"-c", "safe.directory=*", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Dir = root
	for _, v := range os.Environ() {
		if !strings.HasPrefix(strings.ToUpper(v), "GIT_") && !strings.HasPrefix(v, "LC_ALL=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat")
	return cmd
}

func absolute(root, name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(root, name)
}

// most is the size in bytes up to which a file of rules is read.
const most = 1 << 20

// readable tells a file of rules from what would make its reader hang.
func readable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() <= most
}

func read(name string) []byte {
	if !readable(name) {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, most))
	return bytes.TrimRight(b, "\n")
}

// literal writes a path as a rule that matches it alone.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, ` `, `\ `).Replace(path)
}
