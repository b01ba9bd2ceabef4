package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gitPrograms change repositories: their settings and hooks too, if they are told to.
var gitPrograms = strings.Fields("git gh glab hub git-lfs pre-commit lefthook husky")

// repository is the folder of git's own for the workspace where that lies elsewhere:
// in a folder above, or, for one of several worktrees, beside the first. Empty: there
// is none.
func (s *Sandbox) repository() string {
	for dir := s.o.Root; dir != s.o.Home; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".git")
		info, err := os.Lstat(path)
		switch {
		case err == nil && info.IsDir():
			return path
		case err == nil && info.Mode().IsRegular():
			return mainRepository(path)
		case err == nil || filepath.Dir(dir) == dir:
			return ""
		}
	}
	return ""
}

// mainRepository follows the file that a worktree has in the place of a repository. A
// repository that does not know of the worktree is not its own: anybody may write such
// a file.
func mainRepository(path string) string {
	dir, ok := strings.CutPrefix(oneLine(path), "gitdir: ")
	if !ok || !filepath.IsAbs(dir) || oneLine(filepath.Join(dir, "gitdir")) != path {
		return ""
	}
	main := filepath.Join(dir, oneLine(filepath.Join(dir, "commondir")))
	if filepath.Base(main) != ".git" {
		return ""
	}
	return main
}

// maxLine bounds a path that stands in a file.
const maxLine = 8 << 10

// oneLine reads a small regular file; empty: it is none.
func oneLine(path string) string {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxLine {
		return ""
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// steering are files below the home folder that programs obey which nothing holds.
var steering = strings.Fields(`
	.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .inputrc
	.gitconfig .config/git .config/fish .config/autostart .config/systemd .config/environment.d .local/bin bin
	.tmux.conf .vimrc .config/nvim .emacs .emacs.d .xprofile .pam_environment .cargo/bin .cargo/config.toml go/bin`)

// pinned lists what stays as it is in writable places, though it may be read: what
// steers programs that run outside later. The first ones only stay where they are.
func (s *Sandbox) pinned(p Profile, writable []string) (inPlace, readOnly []string) {
	if git := filepath.Join(s.o.Root, ".git"); !p.Git {
		if info, err := os.Lstat(git); err == nil && info.IsDir() {
			inPlace = append(inPlace, git)
			readOnly = append(readOnly, filepath.Join(git, "hooks"), filepath.Join(git, "config"))
		}
	}
	isWritable := func(path string) bool {
		return slices.ContainsFunc(writable, func(dir string) bool { return below(dir, path) && dir != path })
	}
	for _, name := range steering {
		if path := filepath.Join(s.o.Home, name); s.o.Home != "" && isWritable(path) {
			readOnly = append(readOnly, path)
		}
	}
	return inPlace, readOnly
}
