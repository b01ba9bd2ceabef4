package permit

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"belay/session"
)

// The reasons for which a better one is looked for.
var vague = []string{reasonChanges, reasonWrites}

// explain names what a command that asks would do, and leaves "always" away where that
// is dangerous.
func explain(d Decision, call Call) Decision {
	if d.Verdict != Ask || call.Class != session.Run {
		return d
	}
	reason, danger := parse(call.Command).risk(call)
	if danger {
		d.Danger, d.Grants = true, nil
	}
	if reason != "" && (danger || slices.Contains(vague, d.Reason)) {
		d.Reason = reason
	}
	return d
}

// risk is the gravest that the commands of a line do.
func (l shellLine) risk(call Call) (reason string, danger bool) {
	feeds := false
	if l.file != nil {
		syntax.Walk(l.file, func(n syntax.Node) bool {
			feeds = feeds || n != nil && feedsShell(n)
			return !feeds
		})
	}
	if feeds {
		return "it feeds text that nobody has read to a shell", true
	}
	commands := l.commands(maxHiddenLines)
	for _, r := range risks {
		if r.danger && slices.ContainsFunc(commands, r.is) {
			return r.reason, true
		}
	}
	if l.writesOutside(commands, Place{Dir: call.Path, Root: call.Root}) {
		return "it writes outside the workspace", false
	}
	for _, r := range risks {
		if slices.ContainsFunc(commands, r.is) {
			return r.reason, false
		}
	}
	for _, c := range commands {
		if _, known := programs[c.name]; !known {
			return "belay does not know what " + c.name + " does", false
		}
	}
	return "", false
}

// maxHiddenLines bounds the lines within lines that are looked at.
const maxHiddenLines = 8

// commands lists the commands of a line and, one by one, what they start in turn.
func (l shellLine) commands(deep int) []command {
	var list []command
	for _, call := range l.calls {
		var words []string
		for _, w := range call.words {
			words = append(words, wordText(w.Parts))
		}
		if len(words) == 0 || words[0] == "" {
			continue
		}
		name := filepath.Base(words[0])
		list = append(list, newCommand(words))
		if slices.Contains(wrapperCommands, name) {
			for i := range words[1:] {
				if inner := words[1+i:]; startsCommand(inner[0]) {
					list = append(list, newCommand(inner))
					break
				}
			}
		}
		if slices.Contains(lineReaders, name) && deep > 0 {
			for _, arg := range words[1:] {
				if strings.Contains(arg, " ") {
					list = append(list, parse(arg).commands(deep-1)...)
				}
			}
		}
	}
	return list
}

// startsCommand reports a word behind a wrapper that is no flag, no number and no
// variable: the program.
func startsCommand(word string) bool {
	return word != "" && !strings.ContainsAny(word[:1], "-0123456789") && !strings.Contains(word, "=")
}

// writers are programs whose arguments are files that they write to.
var writers = strings.Fields("cp mv touch mkdir tee ln install rsync rm rmdir chmod chown truncate")

// writesOutside reports a redirection or an argument of a program that writes, which
// leads out of the workspace.
func (l shellLine) writesOutside(commands []command, at Place) bool {
	outside := false
	if l.file != nil {
		syntax.Walk(l.file, func(n syntax.Node) bool {
			redirect, ok := n.(*syntax.Redirect)
			if ok && writesFile(redirect) {
				target := wordText(redirect.Word.Parts)
				outside = outside || !staysInside(target, at) && !strings.HasPrefix(target, "/dev/")
			}
			return true
		})
	}
	return outside || slices.ContainsFunc(commands, func(c command) bool {
		return slices.Contains(writers, c.name) && !allInside(operands(c.args, ""), at)
	})
}

func writesFile(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
		return r.Word != nil
	}
	return false
}
