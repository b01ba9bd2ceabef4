package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Profile is how a command is held. The zero one is that of commands that somebody
// allowed.
type Profile struct {
	Reading bool     // nobody was asked: it only reads; the rest does not matter then
	Outside bool     // it is not held; what it starts still ends with it
	Git     bool     // it may change the settings and hooks of the repository
	Closed  []string // what a reading command does not read beside the secrets
	Network bool     // it reaches the network, not only what it starts itself
	Reads   []string // secret places that it may read
	Writes  []string // places that it may write, beside those of all commands
	Sockets []string // sockets of other programs that it may talk to, and folders of them
	Caches  []string // folders that its programs make if they are missing
}

// writable lists where a working command may write: the workspace, folders for what is
// temporary, the caches of daily tools, and what the settings and the profile add.
func (s *Sandbox) writable(p Profile) []string {
	list := slices.Concat([]string{s.o.Root}, s.o.Temp, s.o.Write, p.Writes, caches(s.o.Home))
	var found []string
	for _, path := range list {
		if resolved, err := filepath.EvalSymlinks(path); path != "" && err == nil && !s.isOwn(resolved) {
			found = append(found, resolved)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return slices.DeleteFunc(slices.Clone(found), func(path string) bool {
		return slices.ContainsFunc(found, func(outer string) bool { return outer != path && below(outer, path) })
	})
}

// isOwn reports a place that is belay's own, or that holds nothing else.
func (s *Sandbox) isOwn(path string) bool {
	return slices.ContainsFunc(s.own, func(own string) bool { return below(own, path) })
}

// closedTo lists the secrets that a profile leaves closed.
func (s *Sandbox) closedTo(p Profile) []string {
	open := resolveAll(slices.Concat(p.Reads, s.o.Read))
	closed := slices.DeleteFunc(slices.Clone(s.secrets), func(secret string) bool {
		return !slices.Contains(s.own, secret) &&
			slices.ContainsFunc(open, func(path string) bool { return below(path, secret) })
	})
	return closed
}

// Opens lists the secret places that a profile opens and that are there, named as
// settings do.
func (s *Sandbox) Opens(p Profile) (list []string) {
	closed := s.closedTo(p)
	for _, secret := range s.closedTo(Profile{}) {
		if _, err := os.Stat(secret); err == nil && !slices.Contains(closed, secret) {
			list = append(list, s.short(secret))
		}
	}
	return list
}

// Rule reports whether a profile closes a place to reading or writing, and the
// setting that opens it; empty: none does.
func (s *Sandbox) Rule(p Profile, path string) (closed bool, rule string) {
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		path = s.o.Home + rest
	}
	path = resolveExisting(path)
	contains := func(dir string) bool { return below(dir, path) }
	secrets := s.closedTo(p)
	switch {
	case s.isOwn(path):
		return true, ""
	case slices.ContainsFunc(secrets, contains):
		return true, "read = [" + strconv.Quote(s.short(secrets[slices.IndexFunc(secrets, contains)])) + "]"
	case slices.ContainsFunc(s.writable(p), contains), below("/proc", path), below("/dev", path), path == "/":
		return false, ""
	}
	dir := path
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		dir = filepath.Dir(path)
	}
	if dir == s.o.Home || dir == "/" {
		dir = path // not all of the home folder for one file
	}
	return true, "write = [" + strconv.Quote(s.short(dir)) + "]"
}

// short names a place as settings do.
func (s *Sandbox) short(path string) string {
	if rest, ok := strings.CutPrefix(path, s.o.Home+string(filepath.Separator)); ok && s.o.Home != "" {
		return "~/" + filepath.ToSlash(rest)
	}
	return path
}

// resolveExisting follows the links of as much of a path as is there.
func resolveExisting(path string) string {
	path = filepath.Clean(path)
	for rest, dir := "", path; ; {
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(resolved, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return path
		}
		rest, dir = filepath.Join(filepath.Base(dir), rest), parent
	}
}

// below reports whether a path is a folder, or below it.
func below(dir, path string) bool {
	return path == dir ||
		strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// resolveAll gives places by what they are, not by the links to them.
func resolveAll(paths []string) []string {
	var list []string
	for _, path := range paths {
		if path == "" {
			continue
		}
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		list = append(list, filepath.Clean(path))
	}
	return list
}

// caches lists the places of the table that are there.
func caches(home string) []string {
	var list []string
	for _, row := range cacheTable {
		list = append(list, places(home, row.places)...)
	}
	return list
}

// places reads a list of places of a table: below the home folder, or what the first
// variable that is set names.
func places(home, list string) []string {
	var found []string
	for entry := range strings.FieldsSeq(list) {
		for choice := range strings.SplitSeq(entry, "|") {
			if path := choicePath(home, choice); path != "" {
				found = append(found, path)
				break
			}
		}
	}
	return found
}

// choicePath is one place of a table; empty: its variable names none.
func choicePath(home, choice string) string {
	path := filepath.FromSlash(choice)
	if name, isVariable := strings.CutPrefix(choice, "$"); isVariable {
		name, rest, _ := strings.Cut(name, "/")
		value, _, _ := strings.Cut(strings.TrimPrefix(os.Getenv(name), "unix://"), string(filepath.ListSeparator))
		if !filepath.IsAbs(value) {
			return ""
		}
		return filepath.Join(value, filepath.FromSlash(rest))
	}
	switch {
	case filepath.IsAbs(path):
		return path
	case home == "":
		return ""
	}
	return filepath.Join(home, path)
}
