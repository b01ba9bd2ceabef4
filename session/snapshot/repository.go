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

	"belay/context/repository"
)

// repoInfo is what the user's own git, if there is one, says of the workspace:
// where its ignore rules are. Nothing of it is ever written to.
type repoInfo struct {
	root     string // the folder that rules are relative to: of the user's repository, or the workspace
	prefix   string // of the workspace in top, with a slash at its end; empty when it is top
	excludes string // the user's own file of ignore rules, for all repositories; possibly empty
	index    string // of the user's repository; possibly empty
}

// inspectRepository asks the user's git about the workspace, and returns the rules that
// stand in no file of the tree. What cannot be found out is taken as absent.
func (s *Store) inspectRepository(ctx context.Context, root, home string) (repoInfo, []byte) {
	var repo repoInfo
	var rules []byte
	var userExcludes string
	var wait sync.WaitGroup
	wait.Go(func() { repo, rules = s.findRepository(ctx, root, home) })
	wait.Go(func() {
		out, _ := run(ctx, s.userGit(ctx, root, "config", "--type=path", "-z", "--get", "core.excludesFile"))
		userExcludes = strings.TrimSuffix(string(out), "\x00")
	})
	wait.Wait()
	if userExcludes == "" {
		if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
			userExcludes = filepath.Join(dir, "git", "ignore")
		} else if dir, err := os.UserHomeDir(); err == nil {
			userExcludes = filepath.Join(dir, ".config", "git", "ignore")
		}
	} else if !filepath.IsAbs(userExcludes) {
		userExcludes = filepath.Join(repo.root, userExcludes)
	}
	if isRulesFile(userExcludes) {
		repo.excludes = userExcludes
	}
	top, err1 := filepath.EvalSymlinks(repo.root)
	dir, err2 := filepath.EvalSymlinks(s.o.Dir)
	if rel, err := filepath.Rel(top, dir); errors.Join(err1, err2, err) == nil && filepath.IsLocal(rel) {
		rules = append(rules, "\n/"+literalPattern(filepath.ToSlash(rel))+"/\n"...)
	}
	return repo, rules
}

// findRepository finds the user's repository and reads its info/exclude.
func (s *Store) findRepository(ctx context.Context, root, home string) (repoInfo, []byte) {
	none := repoInfo{root: root}
	out, err := run(ctx, s.userGit(ctx, root, "rev-parse", "--show-toplevel", "--show-prefix",
		"--git-path", "info/exclude", "--git-path", "index"))
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || len(lines) != 4 {
		return none, nil
	}
	repo := repoInfo{root: filepath.FromSlash(lines[0]), prefix: lines[1], index: absolute(root, lines[3])}
	here, err1 := os.Stat(root)
	there, err2 := os.Stat(filepath.Join(repo.root, filepath.FromSlash(repo.prefix)))
	if err1 != nil || err2 != nil || !os.SameFile(here, there) {
		return none, nil
	}
	exclude := readRules(absolute(root, lines[2]))
	if repo.prefix == "" {
		repo.root = root
		return repo, exclude
	}
	// A workspace that the repository around it ignores as a whole, such as one
	// in a home folder that is a repository, stands alone.
	rule := filepath.Join(home, "info", "exclude")
	if os.WriteFile(rule, exclude, 0o600) != nil {
		return none, nil
	}
	cmd := s.git.storeGit(ctx, home, "check-ignore", "-q", "--no-index", "--",
		"./"+strings.TrimSuffix(repo.prefix, "/"))
	cmd.Dir, cmd.Env = repo.root, append(cmd.Env, "GIT_WORK_TREE="+repo.root, "GIT_LITERAL_PATHSPECS=0")
	if _, err := run(ctx, cmd); exitStatus(err) != 1 {
		return none, nil
	}
	return repo, exclude
}

// userGit is a git that asks for settings of the user and of the user's
// repository.
func (s *Store) userGit(ctx context.Context, root string, args ...string) *exec.Cmd {
	return repository.Command(ctx, s.git.path, root, args...)
}

func absolute(root, name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(root, name)
}

// maxRulesSize is the size in bytes up to which a file of rules is read.
const maxRulesSize = 1 << 20

// isRulesFile tells a file of rules from what would make its reader hang.
func isRulesFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() <= maxRulesSize
}

func readRules(name string) []byte {
	if !isRulesFile(name) {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxRulesSize))
	return bytes.TrimRight(b, "\n")
}

// literalPattern writes a path as a rule that matches it alone.
func literalPattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, ` `, `\ `).Replace(path)
}
