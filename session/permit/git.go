package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readSubcommands are the sub-commands that only look, with the flags that some of
// them need.
var readSubcommands = map[string][]string{
	"git": strings.Fields(`status log diff show rev-parse ls-files blame annotate describe shortlog cat-file ls-tree
		merge-base rev-list grep diff-tree diff-index diff-files for-each-ref show-ref name-rev count-objects cherry
		range-diff whatchanged check-ignore check-attr show-branch version
		branch tag remote stash config reflog worktree symbolic-ref`),
	"go": strings.Fields("version list doc env vet help mod"),
}

// gitFlags let git write, or run a program that its settings name.
var gitFlags = []string{
	"--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--filters", "--show-signature", "--help",
}

// refuseGit looks at the flags in front of the sub-command, at the sub-command, and at
// what is asked of it.
func refuseGit(args []string, at Place) string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case slices.Contains([]string{"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"}, args[0]):
			args = args[1:]
		case args[0] == "-C" && len(args) > 1:
			to, ok := changedFolder([]string{"cd", args[1]}, at)
			if !ok {
				return reasonOutside
			}
			at.Dir, args = to, args[2:]
		case args[0] == "--version" && len(args) == 1:
			return ""
		default:
			return reasonChanges
		}
	}
	if len(args) == 0 || !slices.Contains(readSubcommands["git"], args[0]) {
		return reasonChanges
	}
	name, rest := args[0], args[1:]
	refused := gitFlags
	if name == "grep" {
		refused = append(slices.Clone(refused), "-O")
	}
	switch {
	case hasFlag(rest, refused), slices.ContainsFunc(rest, asksForSignature), !listing(name, rest):
		return reasonChanges
	}
	return program{pattern: name == "grep"}.check(rest, at)
}

// showsChanges are the sub-commands for which git runs programs of a repository's
// settings to show a change, unless it is told not to.
var showsChanges = strings.Fields(`diff show log blame annotate whatchanged diff-tree diff-index diff-files stash reflog`)

// OwnPrograms gives the words of a command that only looks as they are run: a git obeys
// nothing of the repository that starts a program.
func OwnPrograms(words []string) []string {
	if filepath.Base(words[0]) != "git" {
		return words
	}
	harmless := []string{words[0], "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}
	rest := words[1:]
	at := slices.IndexFunc(rest, func(w string) bool { return slices.Contains(readSubcommands["git"], w) })
	if at >= 0 && slices.Contains(showsChanges, rest[at]) {
		flags := []string{"--no-ext-diff", "--no-textconv"}
		if nested := rest[at] == "stash" || rest[at] == "reflog"; nested && len(rest) > at+1 && !strings.HasPrefix(rest[at+1], "-") {
			at++
		}
		rest = slices.Insert(slices.Clone(rest), at+1, flags...)
	}
	return append(harmless, rest...)
}

// LeaveOut gives the words of a search through folders with some files left out, which
// the kernel would refuse it: it would complain of each, and end as if it had failed.
func LeaveOut(words, files []string) []string {
	flag := ""
	switch filepath.Base(words[0]) {
	case "grep", "egrep", "fgrep":
		if hasFlag(words[1:], []string{"-r", "-R", "--recursive", "--dereference-recursive"}) {
			flag = "--exclude="
		}
	case "rg":
		flag = "--glob=!"
	}
	if flag == "" {
		return words
	}
	list := []string{words[0]}
	for _, file := range files {
		list = append(list, flag+literalGlob.Replace(filepath.Base(file)))
	}
	return append(list, words[1:]...)
}

var literalGlob = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// asksForSignature reports a format that has git run gpg.
func asksForSignature(arg string) bool {
	return strings.Contains(arg, "%G") || strings.Contains(arg, "(signature")
}

// listingFlags are the flags of sub-commands that list without them, and change
// something with others. Those with a dash at the end take a word.
var listingFlags = map[string][]string{
	"branch": strings.Fields(`-a -r -v -vv -av -avv --all --remotes --list --show-current --verbose --no-color --column
		--contains- --no-contains- --merged- --no-merged- --points-at- --sort- --format- -i --ignore-case`),
	"tag": strings.Fields(`-l --list -n --contains- --no-contains- --merged- --no-merged- --points-at- --sort- --format-
		-i --ignore-case --column`),
	"remote":   strings.Fields("-v --verbose"),
	"worktree": strings.Fields("--porcelain -v --verbose"),
	"config": strings.Fields(`-l --list --get- --get-all- --get-regexp- --local --worktree --show-origin --show-scope
		--name-only --type- --bool --int --path -z --null --includes`),
	"symbolic-ref": strings.Fields("-q --quiet --short"),
}

// listing reports whether a sub-command that can change something is asked for a list.
func listing(name string, args []string) bool {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case name == "stash":
		return first == "list" || first == "show"
	case name == "reflog":
		return first == "" || first == "show" || strings.HasPrefix(first, "-")
	case name == "worktree" && first != "list":
		return false
	case name == "worktree":
		args = args[1:]
	case name == "remote" && first == "get-url":
		return len(args) == 2 && !strings.HasPrefix(args[1], "-")
	case name == "config" && (first == "list" || first == "get"):
		return len(args) == 1 || first == "get" && len(args) == 2
	}
	if _, ok := listingFlags[name]; !ok {
		return true
	}
	words, filters, ok := listingWords(name, args)
	switch {
	case !ok:
		return false
	case name == "symbolic-ref":
		return words == 1
	case name == "config":
		return filters && words == 0 || len(args) == 1 && words == 1
	case words > 0: // a name is a pattern only where a list is asked for
		return slices.Contains(args, "--list") || name == "tag" && slices.Contains(args, "-l")
	}
	return true
}

// listingWords counts the arguments that are not flags and not their values, and says
// whether a flag asks for a list; not ok: there is a flag that is not known to.
func listingWords(name string, args []string) (words int, filters, ok bool) {
	flags := listingFlags[name]
	for i := 0; i < len(args); i++ {
		flag, _, attached := strings.Cut(args[i], "=")
		switch {
		case !strings.HasPrefix(flag, "-"):
			words++
		case slices.Contains(flags, flag+"-"):
			filters = true
			if !attached && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
			}
		case slices.Contains(flags, flag):
			filters = filters || flag == "--list" || flag == "-l"
		default:
			return 0, false, false
		}
	}
	return words, filters, true
}
