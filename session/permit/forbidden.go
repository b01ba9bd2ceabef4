package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// forbidden names the few commands that no mode and no person's hurry should
// run: they destroy more than a project.
func (l shellLine) forbidden() string {
	for _, call := range l.calls {
		var words []string
		for _, w := range call {
			words = append(words, wordText(w.Parts))
		}
		if reason := destruction(words); reason != "" {
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
var wrapperCommands = strings.Fields("sudo doas env command exec nohup nice time timeout xargs")

func destruction(words []string) string {
	name, args := filepath.Base(words[0]), words[1:]
	if slices.Contains(wrapperCommands, name) {
		for i := range args {
			if reason := destruction(args[i:]); reason != "" {
				return reason
			}
		}
	}
	if at := slices.IndexFunc(
		args,
		func(w string) bool { return strings.HasPrefix(w, "-") && strings.HasSuffix(w, "c") },
	); slices.Contains([]string{"sh", "bash", "dash", "zsh"}, name) && at >= 0 &&
		at+1 < len(args) {
		return parse(args[at+1]).forbidden()
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
