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
	p := awkProgram{rest: program}
	for p.rest != "" {
		if !p.token() {
			return false
		}
	}
	return true
}

// awkProgram is read token by token.
type awkProgram struct {
	rest     string
	printing bool // in the arguments of print
	depth    int  // of parentheses in them
	operand  bool // the last token was one, so that a slash divides
}

// token passes one token, if it is one that only prints.
func (p *awkProgram) token() bool {
	c := p.rest[0]
	switch {
	case c == '"', c == '/' && !p.operand:
		n := awkQuoted(p.rest)
		if n < 0 {
			return false
		}
		p.pass(n, true)
	case c == '_' || unicode.IsLetter(rune(c)):
		return p.word()
	case c == '|':
		if !strings.HasPrefix(p.rest, "||") {
			return false
		}
		p.pass(2, false)
	case c == '>' && p.printing && p.depth == 0:
		return false
	case c == '#':
		n := strings.IndexByte(p.rest+"\n", '\n')
		p.pass(min(n, len(p.rest)), p.operand)
	case c == ' ', c == '\t':
		p.pass(1, p.operand)
	default:
		p.sign(c)
	}
	return true
}

func (p *awkProgram) pass(n int, operand bool) {
	p.rest, p.operand = p.rest[n:], operand
}

func (p *awkProgram) word() bool {
	n := strings.IndexFunc(p.rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if n < 0 {
		n = len(p.rest)
	}
	word := p.rest[:n]
	if word == "print" || word == "printf" {
		p.printing, p.depth = true, 0
	}
	p.pass(n, !slices.Contains(strings.Fields("print printf return in if while for do else"), word))
	return !slices.Contains(awkWords, word)
}

// sign passes a number or a sign.
func (p *awkProgram) sign(c byte) {
	counts := strings.HasPrefix(p.rest, "++") || strings.HasPrefix(p.rest, "--")
	switch {
	case c == '(' || c == '[':
		p.depth++
		p.pass(1, false)
	case c == ')' || c == ']':
		p.depth--
		p.pass(1, true)
	case strings.IndexByte(";\n{}", c) >= 0:
		p.printing = false
		p.pass(1, false)
	case c >= '0' && c <= '9':
		p.pass(1, true)
	case counts:
		p.pass(2, p.operand)
	default:
		p.pass(1, false)
	}
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
