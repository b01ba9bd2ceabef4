package permit

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// refuseAwk reads the program: awk writes files, reads others and runs programs by
// what it says.
func refuseAwk(args []string, at Place) string {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		flag := args[0]
		args = args[1:]
		switch {
		case flag == "--":
			return refuseAwkProgram(args, at)
		case (flag == "-F" || flag == "-v") && len(args) > 0:
			args = args[1:]
		case strings.HasPrefix(flag, "-F"), strings.HasPrefix(flag, "-v"):
		default:
			return reasonChanges
		}
	}
	return refuseAwkProgram(args, at)
}

func refuseAwkProgram(args []string, at Place) string {
	switch {
	case len(args) == 0:
		return ""
	case !awkLooks(args[0]):
		return reasonChanges
	case !allInside(args[1:], at):
		return reasonOutside
	}
	return ""
}

// awkWords reach out of a program: they run others, or name files.
var awkWords = strings.Fields("system getline close fflush ARGV ARGC ARGIND ENVIRON PROCINFO nextfile extension")

// awkLooks reports whether a program only prints. A pipe and an output to a file are
// told from comparisons by where they stand; what is not certain does not look.
func awkLooks(program string) bool {
	if strings.ContainsAny(program, "@`") {
		return false
	}
	printing, depth := false, 0
	operand := false // the last token was one, so that a slash divides
	for rest := program; rest != ""; {
		switch c := rest[0]; {
		case c == '"', c == '/' && !operand:
			n := awkQuoted(rest)
			if n < 0 {
				return false
			}
			rest, operand = rest[n:], true
			continue
		case c == '#':
			_, rest, _ = strings.Cut(rest, "\n")
			rest = "\n" + rest
			printing, operand = false, false
		case c == '_' || unicode.IsLetter(rune(c)):
			n := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			if n < 0 {
				n = len(rest)
			}
			word := rest[:n]
			if slices.Contains(awkWords, word) {
				return false
			}
			if word == "print" || word == "printf" {
				printing, depth = true, 0
			}
			rest = rest[n:]
			operand = !slices.Contains(strings.Fields("print printf return in if while for do else"), word)
			continue
		case c == '|':
			if !strings.HasPrefix(rest, "||") {
				return false
			}
			rest, operand = rest[2:], false
			continue
		case c == '>' && printing && depth == 0:
			return false
		case c == '(', c == '[':
			depth++
			operand = false
		case c == ')', c == ']':
			depth--
			operand = true
		case c == ';', c == '\n', c == '}', c == '{':
			printing, operand = false, false
		case c >= '0' && c <= '9', c == '$':
			operand = c != '$'
		case c == ' ', c == '\t':
		default:
			operand = (strings.HasPrefix(rest, "++") || strings.HasPrefix(rest, "--")) && operand
			if operand {
				rest = rest[1:]
			}
		}
		rest = rest[1:]
	}
	return true
}

// awkQuoted is the length of the string or expression that text begins with, or -1.
func awkQuoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\n':
			return -1
		case '[':
			if text[0] == '/' && strings.Contains(strings.SplitN(text[i:], "]", 2)[0], "/") {
				return -1 // awks do not agree where it ends
			}
		case text[0]:
			return i + 1
		}
	}
	return -1
}

// jqWords reach out of a filter: to the environment, and to files of modules.
var jqWords = regexp.MustCompile(`(^|[^.\w])(env|\$ENV|import|include|modulemeta|get_search_list|input_filename)($|\W)`)

// refuseJq knows the flags that say how to print, and those that name a value.
func refuseJq(args []string, at Place) string {
	var words []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			words = append(words, args[i+1:]...)
			i = len(args)
		case slices.Contains([]string{"--arg", "--argjson"}, arg):
			i += 2
		case arg == "--indent":
			i++
		case slices.Contains(strings.Fields(`--raw-output --compact-output --null-input --slurp --raw-input --sort-keys
			--monochrome-output --color-output --exit-status --join-output --ascii-output --tab --stream --args
			--jsonargs --version --help`), arg):
		case len(arg) > 1 && arg[0] == '-' && strings.Trim(arg[1:], "rcnsRSMCejah") == "":
		case strings.HasPrefix(arg, "-"):
			return reasonChanges
		default:
			words = append(words, arg)
		}
	}
	switch {
	case len(words) == 0:
		return ""
	case jqWords.MatchString(words[0]):
		return reasonChanges
	case !allInside(words[1:], at):
		return reasonOutside
	}
	return ""
}
