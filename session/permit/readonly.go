package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// talkers open no file, whatever they are told, except with the flags named.
var talkers = map[string][]string{
	"pwd": nil, "echo": nil, "printf": {"-v"}, "true": nil, "false": nil, "which": nil, "type": nil, "whoami": nil, "id": nil, "uname": nil,
	"basename": nil, "dirname": nil, "seq": nil, "expr": nil, "tr": nil, "sleep": nil, "test": {"-v", "-R"}, "[": {"-v", "-R"},
}

// readers only look, whatever their flags, except for the flags named: those
// write, run a program, follow links, or change the shell.
var readers = map[string][]string{
	"ls": nil, "cat": nil, "head": nil, "tail": {"-f", "-F", "--follow"}, "wc": nil, "file": {"-C", "--compile"}, "stat": nil, "du": nil, "df": nil,
	"tree": {"-o", "-R"}, "sort": {"-o", "--output", "--compress-program"}, "uniq": nil, "cut": nil, "nl": nil, "od": nil,
	"hexdump": nil, "diff": {"-r", "--recursive", "-l", "--paginate"}, "cmp": nil, "comm": nil, "date": {"-s", "--set"},
	"hostname": {"-F", "-b", "--file", "--boot"}, "realpath": nil, "readlink": nil, "column": nil,
	"md5sum": nil, "sha1sum": nil, "sha256sum": nil, "cksum": nil,
	"grep": {"-R", "--dereference-recursive"}, "egrep": {"-R", "--dereference-recursive"}, "fgrep": {"-R", "--dereference-recursive"},
	"rg":   {"--pre", "--hostname-bin", "-z", "--search-zip", "-L", "--follow"},
	"find": {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"},
	"git":  {"--output", "--ext-diff", "--textconv", "-O", "--open-files-in-pager", "--filters"},
	"go":   nil,
}

// operands bounds the arguments that are not flags: one more is a file to
// write to, or a clock or a name to set.
var operands = map[string]int{"uniq": 1, "hostname": 0, "date": 0}

// reading are the sub-commands that only look.
var reading = map[string][]string{
	"git": {"status", "log", "diff", "show", "rev-parse", "ls-files", "blame", "describe", "shortlog", "cat-file", "ls-tree", "merge-base", "rev-list", "grep"},
	"go":  {"version", "list", "doc"},
}

// goFlags are the flags with which go only looks. Others build, run programs
// of the project's choice, or ask the network.
var goFlags = strings.Fields("m json f deps e test find all short src c cmd tags v")

// looks reports whether a command is one that only looks, apart from where and
// with which flags.
func looks(words []string) bool {
	if subs, ok := reading[words[0]]; ok {
		return len(words) > 1 && slices.Contains(subs, words[1])
	}
	_, reads := readers[words[0]]
	_, talks := talkers[words[0]]
	return reads || talks
}

// readOnly reports whether a command only looks, and only inside the
// workspace.
func readOnly(words []string, dir, root string) bool {
	name, args := words[0], words[1:]
	if !looks(words) {
		return false
	}
	if flags, ok := talkers[name]; ok {
		return !flagged(args, flags)
	}
	if most, ok := operands[name]; ok && others(args) > most {
		return false
	}
	if name == "go" && slices.ContainsFunc(args, reaches) {
		return false
	}
	return !flagged(args, readers[name]) && inside(args, dir, root)
}

// others counts the arguments that are not flags; a format of date is one.
func others(args []string) int {
	n := 0
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+") {
			n++
		}
	}
	return n
}

// reaches reports an argument with which go does more than look here: a flag
// that is not known to be harmless, or a module that would be fetched.
func reaches(arg string) bool {
	if !strings.HasPrefix(arg, "-") {
		return strings.Contains(arg, "@")
	}
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return !slices.Contains(goFlags, name)
}

// flagged reports whether one of the flags is among the arguments, also joined
// with others, shortened as getopt allows, or with its value attached.
func flagged(args, flags []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return len(a) > 1 && a[0] == '-' && slices.ContainsFunc(flags, func(f string) bool {
			switch {
			case strings.HasPrefix(f, "--"):
				return len(name) > 2 && strings.HasPrefix(f, name)
			case len(f) == 2:
				return a[1] != '-' && strings.Contains(a[1:], f[1:])
			}
			return name == f
		})
	})
}

// longestFlag bounds the flags that are searched for a path.
const longestFlag = 256

// inside reports whether every argument that may be a path stays inside the
// workspace. A short flag may have a path attached at any place.
func inside(args []string, dir, root string) bool {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			if !stays(a, dir, root) {
				return false
			}
			continue
		}
		if _, value, ok := strings.Cut(a, "="); ok && !stays(value, dir, root) {
			return false
		}
		if strings.HasPrefix(a, "--") {
			continue
		}
		if len(a) > longestFlag {
			return false
		}
		for i := 2; i < len(a); i++ {
			if !stays(a[i:], dir, root) {
				return false
			}
		}
	}
	return true
}

// stays reports whether a word, should it be a path, stays inside. What is no
// file (a pattern, a revision, plain words) does.
func stays(word, dir, root string) bool {
	if word == "" || word == os.DevNull {
		return true
	}
	climbs := slices.Contains(strings.FieldsFunc(word, func(r rune) bool { return r == '/' || r == filepath.Separator }), "..")
	path := word
	if !filepath.IsAbs(path) {
		path = dir + string(filepath.Separator) + path // not joined: what .. means is for the links to say
	}
	found, err := filepath.EvalSymlinks(path)
	if err != nil {
		return !climbs && within(root, filepath.Clean(path))
	}
	return within(root, found)
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
