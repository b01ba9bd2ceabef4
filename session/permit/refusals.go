package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What some programs may be given is more than flags to leave out. Each function says
// why a question is needed; empty: none.

func refuseDate(args []string, at Place) string {
	words := operands(args, programs["date"].valued)
	if slices.ContainsFunc(words, func(w string) bool { return !strings.HasPrefix(w, "+") }) {
		return reasonChanges // it would set the clock
	}
	date := programs["date"]
	return program{refused: date.refused}.check(args, at)
}

func refuseHostname(args []string, at Place) string {
	if len(operands(args, "")) > 0 {
		return reasonChanges // it would set the name
	}
	return program{refused: programs["hostname"].refused}.check(args, at)
}

// refuseDiff leaves folders out: what lies in them is compared through links.
func refuseDiff(args []string, at Place) string {
	if reason := (program{refused: []string{"-r", "--recursive", "-l", "--paginate"}}).check(args, at); reason != "" {
		return reason
	}
	for _, arg := range args {
		if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "--") {
			arg = value
		}
		if info, err := os.Stat(absolute(arg, at.Dir)); err == nil && info.IsDir() {
			return reasonOutside
		}
	}
	return ""
}

// findActions are what find does other than to print names.
var findActions = strings.Fields(`-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from
	-L -H -follow`)

// refuseFind knows one action: a program that looks, at files that find itself has
// found to be files and no links.
func refuseFind(args []string, at Place) string {
	action := slices.Index(args, "-exec")
	if action < 0 {
		action = len(args)
	}
	conditions := args[:action]
	for _, arg := range conditions {
		if slices.Contains(findActions, arg) {
			return reasonChanges
		}
	}
	if !allInside(conditions, at) {
		return reasonOutside
	}
	if action == len(args) {
		return ""
	}
	rest := args[action+1:]
	end := slices.IndexFunc(rest, func(w string) bool { return w == ";" || w == "+" })
	files := slices.Index(conditions, "-type")
	if end < 1 || end != len(rest)-1 || files < 0 || files+1 >= len(conditions) || conditions[files+1] != "f" ||
		slices.ContainsFunc(conditions, func(w string) bool {
			return slices.Contains([]string{"-o", "-or", "!", "-not", "(", ")", ","}, w)
		}) {
		return reasonChanges
	}
	return refusePlain(slices.DeleteFunc(slices.Clone(rest[:end]), func(w string) bool { return w == "{}" }), at)
}

// refusePlain is Refuse for a command that another program starts: no part of the
// shell, and none that starts others in turn.
func refusePlain(words []string, at Place) string {
	if len(words) == 0 {
		return reasonChanges
	}
	known, ok := programs[words[0]]
	if !ok || known.refuse != nil && !slices.Contains([]string{"sed", "jq"}, words[0]) {
		return reasonChanges
	}
	return Refuse(words, at)
}

// goFlags are the flags with which go only looks. Others build, run programs
// of the project's choice, or ask the network.
var goFlags = strings.Fields("m json f deps e test find all short src c cmd tags v changed")

func refuseGo(args []string, at Place) string {
	if len(args) == 0 || !slices.Contains(readSubcommands["go"], args[0]) {
		return reasonChanges
	}
	if args[0] == "mod" && (len(args) < 2 || !slices.Contains([]string{"graph", "why", "verify"}, args[1])) {
		return reasonChanges
	}
	if slices.ContainsFunc(args, goReachesOut) {
		return reasonChanges
	}
	return looks.check(args, at)
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

func refuseGofmt(args []string, at Place) string {
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") && !slices.Contains([]string{"l", "d", "e", "s"}, strings.TrimLeft(arg, "-")) {
			return reasonChanges
		}
	}
	return looks.check(args, at)
}

// A word of the shell's own that is followed by another command.
func refuseWrapper(name string) func(args []string, at Place) string {
	return func(args []string, at Place) string {
		if name == "command" && len(args) > 0 && args[0] == "-v" {
			return ""
		}
		inner, ok := Unwrap(append([]string{name}, args...))
		if !ok {
			return reasonChanges
		}
		return Refuse(inner.Words, at)
	}
}

func refuseCd(args []string, at Place) string {
	if _, ok := changedFolder(append([]string{"cd"}, args...), at); !ok {
		return reasonOutside
	}
	return ""
}

// changedFolder is the folder after a cd, if that is known and in the workspace.
// Without an argument, or with a dash, it goes who knows where.
func changedFolder(words []string, at Place) (string, bool) {
	if len(words) == 3 && words[1] == "--" {
		words = words[1:]
	}
	if len(words) != 2 || words[1] == "" || words[1][0] == '-' || !staysInside(words[1], at) {
		return "", false
	}
	return absolute(words[1], at.Dir), true
}

func refuseNumber(args []string, _ Place) string {
	if len(args) > 1 || len(args) == 1 && (len(args[0]) > 3 || !isNumber(args[0])) {
		return reasonShell
	}
	return ""
}

// refuseTest leaves out the operators that evaluate their operand, and files outside.
func refuseTest(args []string, at Place) string {
	for i, arg := range args {
		if arg == "-v" || arg == "-R" {
			return reasonShell
		}
		if i > 0 && len(args[i-1]) == 2 && args[i-1][0] == '-' && !strings.Contains("zntao", args[i-1][1:]) &&
			!staysInside(arg, at) {
			return reasonOutside
		}
		if slices.Contains([]string{"-nt", "-ot", "-ef"}, arg) && i > 0 && i+1 < len(args) &&
			!allInside([]string{args[i-1], args[i+1]}, at) {
			return reasonOutside
		}
	}
	return ""
}

// maxPrinted bounds what one printf makes of its arguments.
const maxPrinted = 1 << 20

// refusePrintf leaves out what sets a variable, and widths that fill the memory.
func refusePrintf(args []string, _ Place) string {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return reasonShell
	}
	format := args[0]
	total := 0
	for _, arg := range args {
		total += len(arg)
	}
	if strings.Contains(format, "*") || wideNumber(format) || len(format)*len(args)+total > maxPrinted {
		return "it prints too much"
	}
	return ""
}

// wideNumber reports more than three digits in a row behind a percent sign.
func wideNumber(format string) bool {
	for part := range strings.SplitSeq(format, "%") {
		digits := 0
		for _, r := range part {
			switch {
			case r >= '0' && r <= '9':
				if digits++; digits > 3 {
					return true
				}
				continue
			case strings.ContainsRune("-+ #.'", r):
				digits = 0
				continue
			}
			break
		}
	}
	return false
}

func refuseRead(args []string, _ Place) string {
	for len(args) > 0 && args[0] == "-r" {
		args = args[1:]
	}
	unusable := func(name string) bool { return !syntax.ValidName(name) || steersPrograms(name) }
	if len(args) == 0 || slices.ContainsFunc(args, unusable) {
		return reasonShell
	}
	return ""
}

// refuseSet knows the options that make a line stop or tell more.
func refuseSet(args []string, _ Place) string {
	for i := 0; i < len(args); i++ {
		flag := args[i]
		if len(flag) < 2 || flag[0] != '-' && flag[0] != '+' || strings.Trim(flag[1:], "euxo") != "" {
			return reasonShell
		}
		if strings.HasSuffix(flag, "o") {
			if i++; i == len(args) || !slices.Contains([]string{"pipefail", "errexit", "nounset", "xtrace"}, args[i]) {
				return reasonShell
			}
		}
	}
	if len(args) == 0 {
		return reasonShell
	}
	return ""
}

func refuseType(args []string, _ Place) string {
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && !slices.Contains([]string{"-t", "-p", "-P"}, args[0]) {
		return reasonShell
	}
	return ""
}

// passedOn reports variables that a line may set for a program: they say how it
// writes, not what it does.
func passedOn(name string) bool {
	return strings.HasPrefix(name, "LC_") || slices.Contains(strings.Fields(
		"LANG LANGUAGE TZ NO_COLOR CLICOLOR TERM COLUMNS LINES GOOS GOARCH CGO_ENABLED GIT_OPTIONAL_LOCKS "+
			"GIT_TERMINAL_PROMPT"), name)
}

// PassedOn reports whether a line may set a variable for the programs it starts.
func PassedOn(name, value string) bool {
	if slices.Contains([]string{"PAGER", "GIT_PAGER", "MANPAGER"}, name) {
		return value == "cat" || value == ""
	}
	return passedOn(name) && len(value) < maxFlagLength && !strings.Contains(value, string(filepath.Separator)) ||
		name == "TZ" && !strings.HasPrefix(value, "/") && !strings.Contains(value, "..")
}

func isDuration(text string) bool {
	n, err := strconv.ParseFloat(strings.TrimRight(text, "smh"), 64)
	return err == nil && n >= 0 && len(text) < 10
}
