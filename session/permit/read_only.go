package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// quietCommands open no file, whatever they are told, except with the flags named.
var quietCommands = map[string][]string{
	"pwd":      nil,
	"echo":     nil,
	"printf":   {"-v"},
	"true":     nil,
	"false":    nil,
	"which":    nil,
	"type":     nil,
	"whoami":   nil,
	"id":       nil,
	"uname":    nil,
	"basename": nil,
	"dirname":  nil,
	"seq":      nil,
	"expr":     nil,
	"tr":       nil,
	"sleep":    nil,
	"test":     {"-v", "-R"},
	"[":        {"-v", "-R"},
}

// directCommands run where nothing holds a command, without a shell: they read what
// they are given and start no program.
var directCommands = strings.Fields("ls cat head wc stat du df file pwd grep cut nl od cmp realpath readlink uname")

// readCommands only look, whatever their flags, except for the flags named: those
// write, run a program, follow links, or change the shell.
var readCommands = map[string][]string{
	"ls":        nil,
	"cat":       nil,
	"head":      nil,
	"tail":      {"-f", "-F", "--follow"},
	"wc":        nil,
	"file":      {"-C", "--compile"},
	"stat":      nil,
	"du":        nil,
	"df":        nil,
	"tree":      {"-o", "-R"},
	"sort":      {"-o", "--output", "--compress-program"},
	"uniq":      nil,
	"cut":       nil,
	"nl":        nil,
	"od":        nil,
	"hexdump":   nil,
	"diff":      {"-r", "--recursive", "-l", "--paginate"},
	"cmp":       nil,
	"comm":      nil,
	"date":      {"-s", "--set"},
	"hostname":  {"-F", "-b", "--file", "--boot"},
	"realpath":  nil,
	"readlink":  nil,
	"column":    nil,
	"md5sum":    nil,
	"sha1sum":   nil,
	"sha256sum": nil,
	"cksum":     nil,
	"grep": {
		"-R",
		"--dereference-recursive",
	},
	"egrep": {"-R", "--dereference-recursive"},
	"fgrep": {"-R", "--dereference-recursive"},
	"rg":    {"--pre", "--hostname-bin", "-z", "--search-zip", "-L", "--follow"},
	"find":  {"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"},
	"git":   {"--output", "--ext-diff", "--textconv", "-O", "--open-files-in-pager", "--filters"},
	"go":    nil,
}

// maxOperands bounds the arguments that are not flags: one more is a file to
// write to, or a clock or a name to set.
var maxOperands = map[string]int{"uniq": 1, "hostname": 0, "date": 0}

// readSubcommands are the sub-commands that only look.
var readSubcommands = map[string][]string{
	"git": {
		"status",
		"log",
		"diff",
		"show",
		"rev-parse",
		"ls-files",
		"blame",
		"describe",
		"shortlog",
		"cat-file",
		"ls-tree",
		"merge-base",
		"rev-list",
		"grep",
	},
	"go": {"version", "list", "doc"},
}

// goFlags are the flags with which go only looks. Others build, run programs
// of the project's choice, or ask the network.
var goFlags = strings.Fields("m json f deps e test find all short src c cmd tags v")

// onlyReads reports whether a command is one that only looks, apart from where and
// with which flags.
func onlyReads(words []string) bool {
	if subs, ok := readSubcommands[words[0]]; ok {
		return len(words) > 1 && slices.Contains(subs, words[1])
	}
	_, reads := readCommands[words[0]]
	_, talks := quietCommands[words[0]]
	return reads || talks
}

// readOnly reports whether a command only looks, and only inside the
// workspace.
func readOnly(words []string, dir, root string) bool {
	name, args := words[0], words[1:]
	if !onlyReads(words) {
		return false
	}
	if flags, ok := quietCommands[name]; ok {
		return !hasFlag(args, flags)
	}
	if most, ok := maxOperands[name]; ok && countOperands(args) > most {
		return false
	}
	if name == "go" && slices.ContainsFunc(args, goReachesOut) {
		return false
	}
	return !hasFlag(args, readCommands[name]) && allInside(args, dir, root)
}

// countOperands counts the arguments that are not flags; a format of date is one.
func countOperands(args []string) int {
	n := 0
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+") {
			n++
		}
	}
	return n
}

// goReachesOut reports an argument with which go does more than look here: a flag
// that is not known to be harmless, or a module that would be fetched.
func goReachesOut(arg string) bool {
	if !strings.HasPrefix(arg, "-") {
		return strings.Contains(arg, "@")
	}
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return !slices.Contains(goFlags, name)
}

// hasFlag reports whether one of the flags is among the arguments, also joined
// with others, shortened as getopt allows, or with its value attached.
func hasFlag(args, flags []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return len(arg) > 1 && arg[0] == '-' && slices.ContainsFunc(flags, func(flag string) bool {
			switch {
			case strings.HasPrefix(flag, "--"):
				return len(name) > 2 && strings.HasPrefix(flag, name)
			case len(flag) == 2:
				return arg[1] != '-' && strings.Contains(arg[1:], flag[1:])
			}
			return name == flag
		})
	})
}

// maxFlagLength bounds the flags that are searched for a path.
const maxFlagLength = 256

// allInside reports whether every argument that may be a path stays inside the
// workspace. A short flag may have a path attached at any place.
func allInside(args []string, dir, root string) bool {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") {
			if !staysInside(arg, dir, root) {
				return false
			}
			continue
		}
		if _, value, ok := strings.Cut(arg, "="); ok && !staysInside(value, dir, root) {
			return false
		}
		if strings.HasPrefix(arg, "--") {
			continue
		}
		if len(arg) > maxFlagLength {
			return false
		}
		for i := 2; i < len(arg); i++ {
			if !staysInside(arg[i:], dir, root) {
				return false
			}
		}
	}
	return true
}

// staysInside reports whether a word, should it be a path, stays inside. What is no
// file (a pattern, a revision, plain words) does.
func staysInside(word, dir, root string) bool {
	if word == "" || word == os.DevNull {
		return true
	}
	climbs := slices.Contains(
		strings.FieldsFunc(word, func(r rune) bool { return r == '/' || r == filepath.Separator }),
		"..",
	)
	path := word
	if !filepath.IsAbs(path) {
		path = dir + string(filepath.Separator) + path // not joined: what .. means is for the links to say
	}
	found, err := filepath.EvalSymlinks(path)
	if err != nil {
		return !climbs && within(root, filepath.Clean(path))
	}
	return within(root, found) && !HoldsSecrets(found)
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
