package permit

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"belay/session"
)

// line is a shell line, taken apart.
type line struct {
	calls  [][]string // the words of each simple command, quotes removed
	opaque string     // why it cannot be judged by its words; empty if it can
	writes bool       // output goes to a file
}

// parse takes a shell line apart. What only the shell can know when it runs
// (substitutions, variables as commands, sourced files) makes it opaque.
func parse(command string) line {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return line{opaque: "it cannot be read as a shell command"}
	}
	var l line
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			l.opaque = "it runs a command inside another"
		case *syntax.FuncDecl:
			l.opaque = "it defines a function"
		case *syntax.Redirect:
			l.redirect(n)
		case *syntax.CallExpr:
			l.call(n)
		case *syntax.DeclClause, *syntax.LetClause, *syntax.CoprocClause:
			l.opaque = "it changes the shell itself"
		}
		return true
	})
	return l
}

func (l *line) redirect(r *syntax.Redirect) {
	switch r.Op {
	case syntax.RdrIn, syntax.WordHdoc, syntax.Hdoc, syntax.DashHdoc, syntax.DplIn, syntax.DplOut:
		if r.Op == syntax.RdrIn {
			l.calls = append(l.calls, []string{"cat", word(r.Word, &l.opaque)})
		}
		return
	}
	if to := word(r.Word, &l.opaque); to != "/dev/null" {
		l.writes = true
	}
}

func (l *line) call(c *syntax.CallExpr) {
	if len(c.Assigns) > 0 {
		l.opaque = "it sets variables"
	}
	var words []string
	for _, w := range c.Args {
		words = append(words, word(w, &l.opaque))
	}
	if len(words) > 0 {
		l.calls = append(l.calls, words)
	}
}

// word gives a word's text, and notes when it has parts that only the shell
// can know.
func word(w *syntax.Word, opaque *string) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	var add func(parts []syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, p := range parts {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				add(p.Parts)
			default:
				*opaque = "it uses variables"
			}
		}
	}
	add(w.Parts)
	return b.String()
}

// judgeCommand decides about a shell line: each of its commands must be
// read-only or remembered.
func judgeCommand(mode session.Mode, c Call, grants []string) Decision {
	l := parse(c.Command)
	for _, words := range l.calls {
		if reason := forbidden(words); reason != "" {
			return Decision{Verdict: Deny, Reason: reason}
		}
	}
	if mode == session.All || granted(grants, ruleExact, func(exact string) bool { return exact == c.Command }) {
		return Decision{Verdict: Allow}
	}
	exact := []string{ruleExact + ":" + c.Command}
	switch {
	case c.Outside:
		return Decision{Verdict: Ask, Reason: "it runs outside the workspace"}
	case l.opaque != "":
		return Decision{Verdict: Ask, Reason: l.opaque, Grants: exact}
	case l.writes:
		return Decision{Verdict: Ask, Reason: "it writes to a file", Grants: exact}
	}
	var missing []string
	for _, words := range l.calls {
		if readOnly(words, c.Path, c.Root) {
			continue
		}
		rule, prefixed := prefix(words)
		if !prefixed {
			return Decision{Verdict: Ask, Reason: "it can change things", Grants: exact}
		}
		if !granted(grants, rulePrefix, func(p string) bool { return begins(words, strings.Fields(p)) }) {
			missing = append(missing, rulePrefix+":"+rule)
		}
	}
	if len(missing) == 0 {
		return Decision{Verdict: Allow}
	}
	slices.Sort(missing)
	return Decision{Verdict: Ask, Reason: "it can change things", Grants: slices.Compact(missing)}
}

func begins(words, prefix []string) bool {
	return len(prefix) > 0 && len(words) >= len(prefix) && slices.Equal(words[:len(prefix)], prefix)
}

// forbidden names the few commands that no mode and no person's hurry should
// run: they destroy more than a project.
func forbidden(words []string) string {
	name := filepath.Base(words[0])
	if name == "sudo" && len(words) > 1 {
		return forbidden(words[1:])
	}
	switch {
	case name == "rm" && slices.ContainsFunc(words[1:], func(w string) bool {
		return slices.Contains([]string{"/", "/*", "~", "~/", "$HOME", "--no-preserve-root"}, w)
	}):
		return "it would delete the whole disk or home folder"
	case strings.HasPrefix(name, "mkfs"):
		return "it would erase a disk"
	case name == "dd" && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "of=/dev/") && w != "of=/dev/null" }):
		return "it would overwrite a device"
	case slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff"}, name):
		return "it would stop the computer"
	}
	return ""
}

// prefix is the beginning of a command that "always" remembers: the program,
// and its sub-command if it is of the kind that has them. Programs that run
// whatever they are given have none.
func prefix(words []string) (string, bool) {
	name := words[0]
	if strings.ContainsAny(name, "*?[") || slices.Contains(runners, filepath.Base(name)) {
		return "", false
	}
	n := 1
	if slices.Contains(families, name) {
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

// runners run what they are given, or change what cannot be changed back.
var runners = strings.Fields(`sh bash zsh dash fish ksh python python2 python3 node deno bun ruby perl php lua Rscript osascript
powershell pwsh cmd env xargs parallel sudo doas su ssh scp rsync eval exec source . command builtin nohup timeout time nice watch
awk gawk sed find rm rmdir mv cp dd chmod chown ln tee curl wget nc telnet kill pkill killall crontab at systemctl docker podman kubectl terraform`)

// families have sub-commands that differ in what they do.
var families = strings.Fields(`go git npm pnpm yarn npx cargo make just task mvn gradle gradlew ./gradlew dotnet pip pip3 uv poetry bundle rake rails composer mix apt apt-get brew gh helm hg svn jj`)
