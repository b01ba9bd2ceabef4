package permit

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Shell is a line that a command gives to another shell.
type Shell struct {
	Line    string
	Options []string // as its set takes them
	Params  []string // $1 and on
}

// innerShells are the names of shells whose lines are judged as ours are.
var innerShells = strings.Fields("bash sh /bin/bash /bin/sh /usr/bin/bash /usr/bin/sh")

// InnerShell takes bash -c 'line' apart, in all its forms.
func InnerShell(words []string) (Shell, bool) {
	if len(words) < 3 || !slices.Contains(innerShells, words[0]) {
		return Shell{}, false
	}
	var shell Shell
	line := false
	args := words[1:]
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		flag := args[0]
		args = args[1:]
		if flag == "--" {
			break
		}
		if strings.HasPrefix(flag, "--") {
			if !slices.Contains([]string{"--norc", "--noprofile", "--login"}, flag) {
				return Shell{}, false
			}
			continue
		}
		for _, letter := range flag[1:] {
			switch letter {
			case 'c':
				line = true
			case 'l': // what a person's own files set, the environment has
			case 'e', 'u', 'x':
				shell.Options = append(shell.Options, "-"+string(letter))
			case 'o':
				if len(args) == 0 || refuseSet([]string{"-o", args[0]}, Place{}) != "" {
					return Shell{}, false
				}
				shell.Options = append(shell.Options, "-o", args[0])
				args = args[1:]
			default:
				return Shell{}, false
			}
		}
	}
	if !line || len(args) == 0 {
		return Shell{}, false
	}
	shell.Line = args[0]
	if len(args) > 2 {
		shell.Params = args[2:] // the first is $0
	}
	return shell, true
}

// Wrapped is a command behind a word that only says how it is run.
type Wrapped struct {
	Words []string
	Env   []string      // that is set for it
	Limit time.Duration // after which it is ended; 0: none
}

// Unwrap takes env, timeout, nice, stdbuf and command off a command, if nothing is
// asked of them but the plain thing.
func Unwrap(words []string) (Wrapped, bool) {
	w := Wrapped{Words: words[1:]}
	switch words[0] {
	case "command":
	case "env":
		for len(w.Words) > 0 && strings.Contains(w.Words[0], "=") {
			name, value, _ := strings.Cut(w.Words[0], "=")
			if !PassedOn(name, value) {
				return Wrapped{}, false
			}
			w.Env, w.Words = append(w.Env, w.Words[0]), w.Words[1:]
		}
	case "nice":
		if len(w.Words) > 2 && w.Words[0] == "-n" && isNumber(w.Words[1]) {
			w.Words = w.Words[2:]
		}
	case "stdbuf":
		for len(w.Words) > 0 && len(w.Words[0]) == 3 && w.Words[0][0] == '-' && strings.Contains("ioe", w.Words[0][1:2]) {
			w.Words = w.Words[1:]
		}
	case "timeout":
		for len(w.Words) > 2 && (w.Words[0] == "-k" || w.Words[0] == "-s") {
			w.Words = w.Words[2:]
		}
		if len(w.Words) == 0 || !isDuration(w.Words[0]) {
			return Wrapped{}, false
		}
		w.Limit, w.Words = seconds(w.Words[0]), w.Words[1:]
	default:
		return Wrapped{}, false
	}
	return w, len(w.Words) > 0 && w.Words[0] != "" && w.Words[0][0] != '-'
}

// seconds reads a time as timeout does: a number, with a unit or without.
func seconds(text string) time.Duration {
	unit := time.Second
	switch text[len(text)-1] {
	case 'm':
		unit = time.Minute
	case 'h':
		unit = time.Hour
	}
	n, _ := strconv.ParseFloat(strings.TrimRight(text, "smh"), 64)
	return time.Duration(min(n, 1e6) * float64(unit))
}

// Xargs is what xargs was told: the command that gets the words of its input, and how
// they are told apart.
type Xargs struct {
	Words     []string
	Null      bool   // words end with a NUL
	Delimiter byte   // words end with it; 0: with white space, quoted or not
	Lines     int    // at most so many lines a command; 0: any number
	Most      int    // at most so many words a command; 0: any number
	Replace   string // stands for the words; empty: they come last
	NotEmpty  bool   // nothing is run for no words
}

// ParseXargs takes the words behind xargs apart. What it knows no flag of is not ok.
func ParseXargs(args []string) (x Xargs, ok bool) {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		flag, value := args[0], ""
		args = args[1:]
		if flag == "--" {
			break
		}
		if long := strings.HasPrefix(flag, "--"); long {
			flag, value, _ = strings.Cut(flag, "=")
		} else if len(flag) > 2 && strings.Contains("nIdLPs", flag[1:2]) {
			flag, value = flag[:2], flag[2:]
		}
		if value == "" && slices.Contains([]string{"-n", "-I", "-d", "-L", "-P", "-s"}, flag) {
			if len(args) == 0 {
				return x, false
			}
			value, args = args[0], args[1:]
		}
		if !x.set(flag, value) {
			return x, false
		}
	}
	if x.Words = args; len(args) == 0 {
		x.Words = []string{"echo"}
	}
	return x, true
}

// set takes one flag of xargs.
func (x *Xargs) set(flag, value string) bool {
	number, err := strconv.Atoi(value)
	counts := err == nil && number > 0
	switch flag {
	case "-0", "--null":
		x.Null = true
	case "-r", "--no-run-if-empty":
		x.NotEmpty = true
	case "-0r", "-r0":
		x.Null, x.NotEmpty = true, true
	case "-n", "--max-args":
		x.Most = number
		return counts
	case "-L", "--max-lines":
		x.Lines = number
		return counts
	case "-P", "--max-procs", "-s", "--max-chars":
		return err == nil
	case "-I", "--replace":
		x.Replace = value
		return value != ""
	case "-d", "--delimiter":
		switch {
		case value == `\n`:
			x.Delimiter = '\n'
		case value == `\t`:
			x.Delimiter = '\t'
		case value == `\0`:
			x.Null = true
		case len(value) == 1:
			x.Delimiter = value[0]
		default:
			return false
		}
	default:
		return false
	}
	return true
}

// refuseXargs judges what can be judged before the input is there. Each command is
// judged again with its words.
func refuseXargs(args []string, at Place) string {
	x, ok := ParseXargs(args)
	if !ok {
		return reasonChanges
	}
	known, ok := programs[x.Words[0]]
	if !ok || x.Words[0] == "xargs" || x.Words[0] == "find" || isBuiltin(x.Words[0]) {
		return reasonChanges
	}
	if known.refuse != nil {
		// What it needs may come with the input.
		if words := append(slices.Clone(x.Words), "-"); Refuse(words, at) != "" && Refuse(x.Words, at) != "" {
			return reasonChanges
		}
		return ""
	}
	return Refuse(x.Words, at)
}

// isBuiltin reports a word that only means something inside a shell.
func isBuiltin(name string) bool {
	return slices.Contains(strings.Fields("break cd command continue exit read set type"), name)
}
