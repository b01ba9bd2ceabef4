package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxHidden bounds the text that is read for what lines run within lines.
const maxHidden = 8 * maxLine

// forbidden names the few commands that no mode and no person's hurry should
// run: they destroy more than a project.
func (l shellLine) forbidden() string {
	d := destruction{left: maxHidden}
	return d.line(l)
}

// destruction looks for it in lines within lines.
type destruction struct{ left int }

func (d *destruction) line(l shellLine) string {
	for _, call := range l.calls {
		var words []string
		for _, w := range call.words {
			words = append(words, wordText(w.Parts))
		}
		if reason := d.command(words); reason != "" {
			return reason
		}
	}
	return ""
}

// wordText is a word without its quotes; variables stand by their names.
func wordText(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(wordText(p.Parts))
		case *syntax.ParamExp:
			if p.Param != nil {
				b.WriteString("$" + p.Param.Value)
			}
		}
	}
	return b.String()
}

// wrapperCommands run the command that follows their own flags.
var wrapperCommands = strings.Fields(`sudo doas env command exec builtin nohup nice ionice time timeout xargs setsid
	stdbuf busybox find watch su runuser script unshare chroot flock`)

// lineReaders read one of their arguments as a shell line.
var lineReaders = strings.Fields("sh bash dash zsh ksh ash fish eval su runuser watch script")

// command sees through what runs another command, in all its forms.
func (d *destruction) command(words []string) string {
	name := filepath.Base(words[0])
	if slices.Contains(wrapperCommands, name) || slices.Contains(lineReaders, name) {
		for i := range words[1:] {
			if reason := d.plain(words[1+i:]); reason != "" {
				return reason
			}
		}
	}
	return d.plain(words)
}

// hidden reads an argument as a line.
func (d *destruction) hidden(text string) string {
	if d.left -= len(text) + 1; d.left < 0 {
		return "it hides too much to see what it would destroy"
	}
	return d.line(parse(text))
}

// plain judges one command as it stands.
func (d *destruction) plain(words []string) string {
	name, args := filepath.Base(words[0]), words[1:]
	if slices.Contains(lineReaders, name) {
		if name == "eval" {
			args = []string{strings.Join(args, " ")}
		}
		for _, arg := range args {
			if reason := d.hidden(arg); reason != "" {
				return reason
			}
		}
	}
	switch {
	case name == "rm" && slices.ContainsFunc(args, isRootOrHome):
		return "it would delete the whole disk or home folder"
	case strings.HasPrefix(name, "mkfs"):
		return "it would erase a disk"
	case name == "dd" && slices.ContainsFunc(args, writesDevice):
		return "it would overwrite a device"
	case slices.Contains([]string{"shutdown", "reboot", "halt", "poweroff"}, name):
		return "it would stop the computer"
	}
	return ""
}

// isRootOrHome reports a path that holds the home folder, with or without the
// pattern for all that is in it.
func isRootOrHome(word string) bool {
	if word == "--no-preserve-root" {
		return true
	}
	path := filepath.Clean(strings.TrimRight(word, "*"))
	if word == "" || strings.HasPrefix(word, "*") {
		return false
	}
	if slices.Contains([]string{"~", "$HOME"}, path) {
		return true
	}
	home, err := os.UserHomeDir()
	return filepath.IsAbs(path) && (path == filepath.Dir(path) || err == nil && within(path, home))
}

func writesDevice(word string) bool {
	return strings.HasPrefix(word, "of=/dev/") && word != "of=/dev/null"
}
