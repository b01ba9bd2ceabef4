package permit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"belay/session"
)

// shellLine is a shell line, taken apart.
type shellLine struct {
	calls       [][]*syntax.Word // the words of each simple command
	unjudgeable string           // why it cannot be judged by its words; empty if it can
	writes      bool             // output goes to a file
	redirects   bool             // something goes elsewhere, or comes from there
}

// parse takes a shell line apart. Whatever is more than simple commands side
// by side (substitutions, variables, tests, loops) makes it opaque: the shell
// evaluates text in more places than anybody can list.
func parse(command string) shellLine {
	if !utf8.ValidString(command) ||
		strings.ContainsFunc(command, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return shellLine{unjudgeable: "it holds control characters"} // shells do not agree on them
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return shellLine{unjudgeable: "it cannot be read as a shell command"}
	}
	var line shellLine
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.File, *syntax.Stmt, *syntax.BinaryCmd, *syntax.Subshell, *syntax.Block, *syntax.IfClause,
			*syntax.TimeClause, *syntax.Comment, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
		case *syntax.Word:
			line.word(n)
		case *syntax.Redirect:
			line.redirect(n)
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				line.calls = append(line.calls, n.Args)
			}
		case *syntax.Assign:
			line.unjudgeable = "it sets variables"
		case *syntax.CmdSubst, *syntax.ProcSubst:
			line.unjudgeable = "it runs a command inside another"
		case *syntax.ParamExp, *syntax.ArithmExp:
			line.unjudgeable = "it uses variables"
		default:
			line.unjudgeable = "it does more than call programs"
		}
		return true
	})
	return line
}

// word notes what turns one word into others that can only be guessed.
func (l *shellLine) word(w *syntax.Word) {
	braces := *w // SplitBraces changes what it is given
	if syntax.SplitBraces(&braces) {
		l.unjudgeable = "it uses braces"
	}
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok &&
			(strings.HasPrefix(lit.Value, "~") || strings.Contains(lit.Value, "=~") || strings.Contains(lit.Value, ":~")) {
			l.unjudgeable = "it uses a home folder"
		}
	}
}

func (l *shellLine) redirect(r *syntax.Redirect) {
	l.redirects = true
	if r.N != nil && !digits(r.N.Value) {
		l.unjudgeable = "it sets variables"
	}
	if r.Word == nil {
		return
	}
	to, err := expand.Literal(nil, r.Word)
	if err != nil {
		l.unjudgeable = "it uses variables"
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
	case syntax.RdrIn:
		l.calls = append(l.calls, []*syntax.Word{{Parts: []syntax.WordPart{&syntax.Lit{Value: "cat"}}}, r.Word})
	case syntax.DplIn, syntax.DplOut:
		l.writes = l.writes || to != "-" && !digits(to) // >&name is a file
	default:
		l.writes = l.writes || to != os.DevNull
	}
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// The bounds of what a pattern may become before it is asked about.
const (
	maxWords   = 2000
	maxFolders = 2000
)

var errTooMuch = errors.New("too much to look at")

// fields gives the words of a simple command as the shell will pass them on in
// a folder, patterns expanded.
func fields(words []*syntax.Word, dir string) ([]string, error) {
	folders := 0
	cfg := &expand.Config{
		Env: expand.FuncEnviron(func(name string) string {
			if name == "PWD" {
				return dir
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
		return Decision{Verdict: Ask, Reason: "it writes to a file", Grants: exact}
	}
	missing, granted, ok := line.missing(call, grants)
	switch {
	case !ok:
		return Decision{Verdict: Ask, Reason: "it can change things", Grants: exact}
	case len(missing) > 0:
		return Decision{Verdict: Ask, Reason: "it can change things", Grants: missing}
	case granted:
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
	if len(l.calls) != 1 || l.redirects {
		return nil
	}
	words, err := fields(l.calls[0], c.Path)
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

// missing lists the rules for beginnings that the line still needs; !ok means
// that no such rule can cover it. Granted says that a person's rule covers a part.
// After a cd the line is judged in the folder
// before and in the one after, because who knows whether the cd is reached.
func (l shellLine) missing(c Call, grants []string) (rules []string, granted, ok bool) {
	dirs := []string{c.Path}
	for _, call := range l.calls {
		for _, dir := range slices.Clone(dirs) {
			words, err := fields(call, dir)
			if err != nil || len(words) == 0 {
				return nil, false, false
			}
			if words[0] == "cd" {
				to, ok := changedFolder(words, dir, c.Root)
				if !ok {
					return nil, false, false
				}
				dirs = append(dirs, to)
				continue
			}
			covers := func(rule string) bool { return hasPrefix(words, strings.Fields(rule)) }
			if readOnly(words, dir, c.Root) {
				continue
			}
			if anyGrant(grants, rulePrefix, covers) {
				granted = true
				continue
			}
			rule, prefixed := prefix(words)
			if !prefixed {
				return nil, false, false
			}
			rules = append(rules, rulePrefix+":"+rule)
		}
		dirs = distinct(dirs)
	}
	return distinct(rules), granted, true
}

// changedFolder is the folder after a cd, if that is known and in the workspace.
// Without an argument, or with a dash, it goes who knows where.
func changedFolder(words []string, dir, root string) (string, bool) {
	if len(words) != 2 || words[1] == "" || words[1][0] == '-' || !allInside(words[1:], dir, root) {
		return "", false
	}
	return absolute(words[1], dir), true
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
	if strings.ContainsAny(name, "*?[{") || runsPrograms(name) || onlyReads(words) {
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
