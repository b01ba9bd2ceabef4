package permit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"belay/session"
)

// The bounds of what a pattern may become before it is asked about.
const (
	maxWords   = 10_000
	maxFolders = 2000
)

var errTooMuch = errors.New("too much to look at")

// fields gives the words of a simple command as the shell will pass them on in
// a folder, patterns expanded.
func fields(words []*syntax.Word, dir string) ([]string, error) {
	folders := 0
	cfg := &expand.Config{
		Env: expand.FuncEnviron(func(name string) string {
			switch name {
			case "PWD":
				return dir
			case "HOME":
				home, _ := os.UserHomeDir()
				return home
			}
			return ""
		}),
		ReadDir2: func(path string) ([]fs.DirEntry, error) {
			if folders++; folders > maxFolders {
				return nil, errTooMuch
			}
			return os.ReadDir(path)
		},
	}
	var list []string
	for field, err := range expand.FieldsSeq(cfg, words...) {
		if err != nil {
			return nil, err
		}
		if list = append(list, field); len(list) > maxWords {
			return nil, errTooMuch
		}
	}
	return list, nil
}

// judgeCommand decides about a shell line: each of its commands must be
// read-only or remembered.
func judgeCommand(mode session.Mode, call Call, grants []string) Decision {
	line := parse(call.Command)
	if reason := line.forbidden(); reason != "" {
		return Decision{Verdict: Deny, Reason: reason}
	}
	if mode == session.All {
		return Decision{Verdict: Allow}
	}
	if call.Outside {
		return Decision{Verdict: Ask, Reason: "it runs outside the workspace"}
	}
	rule := ruleExact + ":" + exactCommand(call)
	exact := []string{rule}
	switch {
	case call.Refused != "":
		return Decision{Verdict: Ask, Reason: call.Refused}
	case slices.Contains(grants, rule):
		return Decision{Verdict: Allow}
	case call.Shell != "" && call.Shell != "bash" && call.Shell != "sh":
		return Decision{Verdict: Ask, Reason: "it is for " + call.Shell, Grants: exact}
	case line.unjudgeable != "":
		return Decision{Verdict: Ask, Reason: line.unjudgeable, Grants: exact}
	case line.writes:
		return Decision{Verdict: Ask, Reason: reasonWrites, Grants: exact}
	}
	needs := line.needs(call, grants)
	// Bash runs what a rule covers, a part of the line or all of it.
	guessed := line.guessed != "" && (needs.granted || len(needs.rules) > 0)
	switch {
	case needs.reason != "":
		return Decision{Verdict: Ask, Reason: needs.reason, Grants: exact}
	case guessed:
		return Decision{Verdict: Ask, Reason: line.guessed, Grants: exact}
	case len(needs.rules) > 0:
		return Decision{Verdict: Ask, Reason: reasonChanges, Grants: needs.rules}
	case needs.granted:
		return Decision{Verdict: Allow}
	case call.Unheld != "" && call.Direct:
		if words := line.directWords(call); words != nil {
			return Decision{Verdict: Allow, Direct: words}
		}
		return Decision{Verdict: Ask, Reason: call.Unheld, Grants: exact}
	case call.Unheld != "":
		return Decision{Verdict: Ask, Reason: call.Unheld, Grants: exact}
	}
	return Decision{Verdict: Allow, Held: true}
}

// directWords are the words of a line that is one command of a few that read and run
// no other program; nil: it is more, or another. Nothing but these words is run, so no
// shell can take them for something else.
func (l shellLine) directWords(c Call) []string {
	if !l.single || len(l.calls) != 1 || l.calls[0].expands {
		return nil
	}
	words, err := fields(l.calls[0].words, c.Path)
	if err != nil || !slices.Contains(directCommands, words[0]) {
		return nil
	}
	return words
}

// exactCommand is what a rule for exactly this command remembers: the same line in
// another folder is another command.
func exactCommand(c Call) string {
	if rel, err := filepath.Rel(c.Root, c.Path); err == nil && rel != "." {
		return "cd " + strconv.Quote(filepath.ToSlash(rel)) + " && " + c.Command
	}
	return c.Command
}

// needs is what a line lacks to be let through.
type needs struct {
	reason  string   // no rule for a beginning can cover it; empty: one can
	rules   []string // for beginnings that it still needs
	granted bool     // a person's rule covers a part
	dirs    []string // where the next command may run
}

// needs judges the commands of a line, as far as their words are known before it runs;
// the interpreter judges the others. After a cd the line is judged in the folder
// before and in the one after, because who knows whether the cd is reached.
func (l shellLine) needs(c Call, grants []string) needs {
	n := needs{dirs: []string{c.Path}}
	for _, call := range l.calls {
		if call.expands {
			n.reason = call.refuseKnown(Place{Dir: c.Path, Root: c.Root})
		} else {
			for _, dir := range slices.Clone(n.dirs) {
				n.add(call, Place{Dir: dir, Root: c.Root}, grants)
			}
			n.dirs = distinct(n.dirs)
		}
		if n.reason != "" {
			return needs{reason: n.reason}
		}
	}
	n.rules = distinct(n.rules)
	return n
}

// add judges a command in one of the folders where it may run.
func (n *needs) add(call shellCall, at Place, grants []string) {
	words, err := fields(call.words, at.Dir)
	if err != nil || len(words) == 0 || words[0] == "" {
		n.reason = reasonChanges
		return
	}
	reason := Refuse(words, at)
	if reason == "" {
		if to, ok := changedFolder(words, at); ok && words[0] == "cd" {
			n.dirs = append(n.dirs, to)
		}
		return
	}
	if anyGrant(grants, rulePrefix, func(rule string) bool { return hasPrefix(words, strings.Fields(rule)) }) {
		n.granted = true
		return
	}
	rule, ok := prefix(words)
	if !ok {
		n.reason = reason
		return
	}
	n.rules = append(n.rules, rulePrefix+":"+rule)
}

// refuseKnown judges a command by those of its words that are known before it runs.
func (c shellCall) refuseKnown(at Place) string {
	text := "1" // a number, a name, a file that is not there
	if c.words[0].Lit() == "sed" {
		text = "p" // a script
	}
	var words []*syntax.Word
	for _, w := range c.words {
		words = append(words, standIn(w, text))
	}
	known, err := fields(words, at.Dir)
	if err != nil || len(known) == 0 || known[0] == "" {
		return reasonChanges
	}
	return Refuse(known, at)
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func hasPrefix(words, prefix []string) bool {
	return len(prefix) > 0 && len(words) >= len(prefix) && slices.Equal(words[:len(prefix)], prefix)
}

// prefix is the beginning of a command that "always" remembers: the program,
// and its sub-command if it is of the kind that has them. Programs that run
// whatever they are given have none, nor have those that are asked about only
// because of where they look.
func prefix(words []string) (string, bool) {
	name := words[0]
	if strings.ContainsAny(name, "*?[{") || runsPrograms(name) || knownToLook(words) {
		return "", false
	}
	n := 1
	if slices.Contains(subcommandPrograms, name) {
		n = 2
		if len(words) > 2 && slices.Contains([]string{"run", "exec", "compose", "mod"}, words[1]) {
			n = 3
		}
		if len(words) < n || slices.ContainsFunc(words[1:n], func(w string) bool { return strings.HasPrefix(w, "-") }) {
			return "", false
		}
	}
	rule := strings.Join(words[:n], " ")
	// A rule is compared word by word: one with odd white space would not match.
	return rule, slices.Equal(strings.Fields(rule), words[:n])
}

// runsPrograms reports whether a program runs what it is given, whatever its version.
func runsPrograms(name string) bool {
	base := strings.TrimSuffix(strings.ToLower(filepath.Base(name)), ".exe")
	return slices.Contains(programRunners, base) ||
		slices.Contains(programRunners, strings.TrimRight(base, "0123456789.-"))
}

// programRunners run what they are given, or change what cannot be changed back.
var programRunners = strings.Fields(`
	sh bash zsh dash fish ksh tcsh busybox toybox python node deno bun ruby perl php lua tclsh julia rscript
	osascript powershell pwsh cmd env xargs parallel sudo doas su pkexec runuser ssh scp rsync eval exec source .
	command builtin nohup timeout time nice ionice watch setsid stdbuf script expect tmux screen flock chroot
	unshare nsenter strace gdb systemd-run start open xdg-open vi vim nvim emacs ed ex hash alias set unset shopt
	trap enable read mapfile export fd fdfind tar socat awk gawk mawk sed find rm rmdir mv cp dd install truncate
	shred chmod chown ln tee curl wget nc ncat telnet kill pkill killall crontab at systemctl docker podman
	kubectl terraform`)

// subcommandPrograms have sub-commands that differ in what they do.
var subcommandPrograms = strings.Fields(`
	go git npm pnpm yarn npx cargo make just task mvn gradle gradlew ./gradlew dotnet pip pip3 uv poetry bundle
	rake rails composer mix apt apt-get brew gh helm hg svn jj`)
