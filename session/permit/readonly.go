package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readers only look, whatever their flags, except for the flags named.
var readers = map[string][]string{
	"ls": nil, "cat": nil, "head": nil, "tail": {"-f", "-F", "--follow"}, "wc": nil, "pwd": nil, "echo": nil, "printf": nil,
	"true": nil, "false": nil, "test": nil, "[": nil, "cd": nil, "which": nil, "type": nil, "file": {"-C", "--compile"}, "stat": nil, "du": nil, "df": nil,
	"tree": {"-o"}, "sort": {"-o", "--output", "--compress-program"}, "uniq": nil, "cut": nil, "tr": nil, "nl": nil, "od": nil,
	"hexdump": nil, "diff": nil, "cmp": nil, "comm": nil, "date": {"-s", "--set"}, "whoami": nil, "id": nil, "uname": nil,
	"hostname": nil, "basename": nil, "dirname": nil, "realpath": nil, "readlink": nil, "seq": nil, "expr": nil, "column": nil,
	"md5sum": nil, "sha1sum": nil, "sha256sum": nil, "cksum": nil, "jq": nil, "sleep": nil,
	"grep": nil, "egrep": nil, "fgrep": nil, "rg": {"--pre", "--hostname-bin", "-z", "--search-zip"},
	"find": {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"},
}

// reading are the sub-commands that only look.
var reading = map[string][]string{
	"git": {"status", "log", "diff", "show", "rev-parse", "ls-files", "blame", "describe", "shortlog", "cat-file", "ls-tree", "merge-base", "rev-list", "grep"},
	"go":  {"version", "list", "doc"},
}

// readOnly reports whether a command only looks, and only inside the
// workspace or at the system's own folders of programs.
func readOnly(words []string, dir, root string) bool {
	name, args := words[0], words[1:]
	if subs, ok := reading[name]; ok {
		if len(args) == 0 || !slices.Contains(subs, args[0]) {
			return false
		}
		// Flags that write a file, or run a program of the repository's choice.
		if flagged(args, []string{"--output", "-o", "--ext-diff", "--textconv", "-O", "--open-files-in-pager", "-exec", "-toolexec", "-mod", "-modfile", "-overlay", "--filters"}) {
			return false
		}
		return inside(args[1:], dir, root)
	}
	flags, ok := readers[name]
	return ok && !flagged(args, flags) && inside(args, dir, root)
}

// flagged reports whether one of the flags is among the arguments, also with
// its value attached.
func flagged(args, flags []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return slices.ContainsFunc(flags, func(f string) bool {
			if len(f) == 2 && f[0] == '-' && len(a) > 1 && a[0] == '-' && a[1] != '-' {
				return strings.Contains(a[1:], f[1:]) // flags may be joined: -no
			}
			return a == f || strings.HasPrefix(a, f+"=")
		})
	})
}

// inside reports whether every argument that may be a path stays inside. The
// shell would expand ~ and patterns, so these count as what they may become.
func inside(args []string, dir, root string) bool {
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			_, a, _ = strings.Cut(a, "=")
		}
		if a == "" || a == "/dev/null" {
			continue
		}
		if strings.HasPrefix(a, "~") || strings.Contains(a, "{") && strings.Contains(a, ",") {
			return false
		}
		if strings.ContainsAny(a, "*?[") {
			// What it expands to may be links that lead out.
			found, _ := filepath.Glob(absolute(a, dir))
			if len(found) > 0 && !inside(found, dir, root) {
				return false
			}
		}
		if !filepath.IsAbs(a) && !strings.Contains(a, "..") {
			if _, err := os.Lstat(filepath.Join(dir, a)); err != nil {
				continue // not a file: a pattern, a revision, plain words
			}
		}
		a = absolute(a, dir)
		real, err := filepath.EvalSymlinks(a)
		if err != nil {
			real = filepath.Clean(a)
		}
		if !within(root, real) {
			return false
		}
	}
	return true
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
