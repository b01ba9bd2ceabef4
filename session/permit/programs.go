package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Place is where a command looks from, and what it may look at: folders, absolute,
// links resolved.
type Place struct{ Dir, Root string }

// Why a command asks.
const (
	reasonChanges = "it can change things"
	reasonWrites  = "it writes to a file"
	reasonOutside = "it looks outside the workspace, or at a secret"
	reasonShell   = "it changes the shell"
)

// program is what is known of a program that only looks.
type program struct {
	// Refused are flags with which it writes, runs a program, follows links, takes the
	// names of files from a file, or never ends.
	refused []string
	// Valued are the short flags that take the next word. They are told where operands
	// are counted.
	valued string
	// Most is how many operands it may have: one more is a file to write to, or a clock
	// or a name to set. Zero: any number.
	most int
	// Pattern says that its first operand may be text that only looks like a path.
	pattern bool
	// Quiet says that it opens no file, whatever it is told.
	quiet bool
	// Refuse takes the place of all that.
	refuse func(args []string, at Place) string
}

var (
	looks     = program{}
	quiet     = program{quiet: true}
	checksums = program{refused: []string{"-c", "--check", "--files0-from"}}
	greps     = program{refused: []string{"-R", "--dereference-recursive"}, pattern: true}
	finds     = program{refused: []string{"-x", "-X", "-L", "--exec", "--exec-batch", "--follow"}, pattern: true}
	awks      = program{refuse: refuseAwk}
)

// programs only look, apart from where and with which flags. Nothing else runs
// without a question.
var programs map[string]program

// A table that is used by what it names cannot be written where it is declared.
func init() {
	programs = map[string]program{
		"arch": quiet, "basename": quiet, "dirname": quiet, "expr": quiet, "free": quiet, "groups": quiet, "id": quiet,
		"nproc": quiet, "seq": quiet, "sleep": quiet, "tr": quiet, "uname": quiet, "uptime": quiet, "which": quiet,
		"whoami": quiet,

		"cat": looks, "cmp": looks, "column": looks, "comm": looks, "cut": looks, "df": looks, "expand": looks,
		"fmt": looks, "fold": looks, "head": looks, "hexdump": looks, "join": looks, "nl": looks, "numfmt": looks,
		"od": looks, "paste": looks, "readlink": looks, "realpath": looks, "rev": looks, "stat": looks, "strings": looks,
		"tac": looks, "unexpand": looks, "base32": looks, "base64": looks,

		"cksum": checksums, "md5sum": checksums, "sha1sum": checksums, "sha224sum": checksums, "sha256sum": checksums,
		"sha384sum": checksums, "sha512sum": checksums, "b2sum": checksums, "shasum": checksums, "sum": looks,

		"grep": greps, "egrep": greps, "fgrep": greps, "fd": finds, "fdfind": finds, "awk": awks, "gawk": awks, "mawk": awks,

		"date":     {refused: []string{"-s", "--set", "-f", "--file"}, valued: "drI", refuse: refuseDate},
		"diff":     {refuse: refuseDiff},
		"du":       {refused: []string{"-L", "-D", "-H", "--dereference", "--dereference-args", "--files0-from"}},
		"file":     {refused: []string{"-C", "--compile", "-f", "--files-from"}},
		"find":     {refuse: refuseFind},
		"git":      {refuse: refuseGit},
		"go":       {refuse: refuseGo},
		"gofmt":    {refuse: refuseGofmt},
		"hostname": {refused: []string{"-F", "-b", "--file", "--boot"}, refuse: refuseHostname},
		"jq":       {refuse: refuseJq},
		"ls":       {refused: []string{"-L", "-H", "--dereference"}},
		"rg":       {refused: []string{"--pre", "--hostname-bin", "-z", "--search-zip", "-L", "--follow"}, pattern: true},
		"sed":      {refuse: refuseSed},
		"shuf":     {refused: []string{"-o", "--output"}},
		"sort":     {refused: []string{"-o", "--output", "--compress-program", "--files0-from"}},
		"tail":     {refused: []string{"-f", "-F", "--follow", "--retry"}},
		"tree":     {refused: []string{"-o", "-R", "-l", "--fromfile", "--fromtabfile"}},
		"uniq":     {valued: "fsw", most: 1},
		"wc":       {refused: []string{"--files0-from"}},
		"xargs":    {refuse: refuseXargs},
		"xxd":      {valued: "cglos", most: 1},

		":": quiet, "true": quiet, "false": quiet, "echo": quiet, "pwd": quiet,
		"[":        {refuse: refuseTest},
		"break":    {refuse: refuseNumber},
		"cd":       {refuse: refuseCd},
		"command":  {refuse: refuseWrapper("command")},
		"continue": {refuse: refuseNumber},
		"env":      {refuse: refuseWrapper("env")},
		"exit":     {refuse: refuseNumber},
		"nice":     {refuse: refuseWrapper("nice")},
		"printf":   {refuse: refusePrintf},
		"read":     {refuse: refuseRead},
		"set":      {refuse: refuseSet},
		"stdbuf":   {refuse: refuseWrapper("stdbuf")},
		"test":     {refuse: refuseTest},
		"timeout":  {refuse: refuseWrapper("timeout")},
		"type":     {refuse: refuseType},
	}
}

// directCommands run where nothing holds a command, without a shell: they read what
// they are given and start no program.
var directCommands = strings.Fields("ls cat head wc stat du df file pwd grep cut nl od cmp realpath readlink uname")

// versionFlags are what a program is asked for its version with, and versionPrograms
// run nothing of the project's when they are.
var (
	versionFlags    = strings.Fields("--version -version -V -v")
	versionPrograms = strings.Fields("python python3 node npm ruby java javac gcc g++ clang make cmake php perl")
)

// Refuse says why a command may not run without a question; empty: it only looks, and
// only inside the workspace. Words are as they will be passed on, with nothing left to
// expand.
func Refuse(words []string, at Place) string {
	name, args := words[0], words[1:]
	if slices.Contains(versionPrograms, name) && len(args) == 1 && slices.Contains(versionFlags, args[0]) {
		return ""
	}
	if shell, ok := InnerShell(words); ok {
		_, reason := Parse(shell.Line)
		return reason // what its commands do is decided when they run
	}
	known, ok := programs[name]
	switch {
	case !ok:
		return reasonChanges
	case known.refuse != nil:
		return known.refuse(args, at)
	}
	return known.check(args, at)
}

// check looks at the arguments of a program by what the table says of it.
func (p program) check(args []string, at Place) string {
	switch {
	case hasFlag(args, p.refused):
		return reasonChanges
	case p.most > 0 && len(operands(args, p.valued)) > p.most:
		return reasonChanges
	case p.quiet:
		return ""
	}
	pattern := ""
	if words := operands(args, p.valued); p.pattern && len(words) > 0 {
		pattern = words[0]
	}
	for _, arg := range args {
		if !allInside([]string{arg}, at) && (arg != pattern || pattern == "" || exists(arg, at)) {
			return reasonOutside
		}
	}
	return ""
}

// knownToLook reports whether a program is one that only looks, apart from where and
// with which flags.
func knownToLook(words []string) bool {
	if subs, ok := readSubcommands[words[0]]; ok {
		return len(words) > 1 && slices.Contains(subs, words[1])
	}
	_, known := programs[words[0]]
	return known
}

// operands are the arguments that are not flags. Valued are the short flags that take
// the next word.
func operands(args []string, valued string) []string {
	var list []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return append(list, args[i+1:]...)
		case len(arg) < 2 || arg[0] != '-':
			list = append(list, arg)
		case arg[1] != '-' && strings.Contains(valued, arg[len(arg)-1:]):
			i++
		}
	}
	return list
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
// workspace. A short flag may have a path attached at any place, and behind two dashes
// it may be none.
func allInside(args []string, at Place) bool {
	for _, arg := range args {
		if !staysInside(arg, at) {
			return false
		}
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		if _, value, ok := strings.Cut(arg, "="); ok && !staysInside(value, at) {
			return false
		}
		if strings.HasPrefix(arg, "--") {
			continue
		}
		if len(arg) > maxFlagLength {
			return false
		}
		for i := 2; i < len(arg); i++ {
			if !staysInside(arg[i:], at) {
				return false
			}
		}
	}
	return true
}

// staysInside reports whether a word, should it be a path, stays inside. What is no
// file (a pattern, a revision, plain words) does.
func staysInside(word string, at Place) bool {
	if word == "" || word == os.DevNull {
		return true
	}
	climbs := slices.Contains(
		strings.FieldsFunc(word, func(r rune) bool { return r == '/' || r == filepath.Separator }),
		"..",
	)
	path := word
	if !filepath.IsAbs(path) {
		path = at.Dir + string(filepath.Separator) + path // not joined: what .. means is for the links to say
	}
	found, err := filepath.EvalSymlinks(path)
	if err != nil {
		return !climbs && nearestInside(filepath.Clean(path), at.Root)
	}
	return within(at.Root, found) && !HoldsSecrets(found)
}

// nearestInside reports whether the first folder above a path that is there lies
// inside.
func nearestInside(path, root string) bool {
	for within(root, path) {
		if found, err := filepath.EvalSymlinks(path); err == nil {
			return within(root, found)
		}
		path = filepath.Dir(path)
	}
	return false
}

// exists reports whether there is a file of that name, or might be.
func exists(word string, at Place) bool {
	if !filepath.IsAbs(word) {
		word = at.Dir + string(filepath.Separator) + word
	}
	_, err := os.Lstat(word)
	return !os.IsNotExist(err)
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
