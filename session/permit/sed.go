package permit

import (
	"slices"
	"strings"
)

// refuseSed reads the script: sed writes files and runs programs by its commands.
func refuseSed(args []string, at Place) string {
	var scripts, files []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			files = append(files, args[i+1:]...)
			i = len(args)
		case slices.Contains(strings.Fields(`--quiet --silent --regexp-extended --separate --unbuffered --null-data
			--posix --sandbox --debug`), arg):
		case strings.HasPrefix(arg, "--expression="):
			scripts = append(scripts, strings.TrimPrefix(arg, "--expression="))
		case len(arg) < 2 || arg[0] != '-':
			files = append(files, arg)
		case strings.Trim(arg[1:], "nErsuz") == "":
		case strings.Trim(arg[1:], "nErsuz") == "e" && strings.HasSuffix(arg, "e"):
			if i++; i == len(args) {
				return reasonChanges
			}
			scripts = append(scripts, args[i])
		default:
			return reasonChanges
		}
	}
	if len(scripts) == 0 {
		if len(files) == 0 {
			return "" // it will only complain
		}
		scripts, files = files[:1], files[1:]
	}
	script := sedScript{rest: strings.Join(scripts, "\n")}
	if !script.looks() {
		return reasonChanges
	}
	if !allInside(files, at) {
		return reasonOutside
	}
	return ""
}

// sedScript reads the commands of a script one by one.
type sedScript struct{ rest string }

// looks reports whether a script only prints. What it cannot read does not.
func (s *sedScript) looks() bool {
	for {
		s.rest = strings.TrimLeft(s.rest, " \t\n;")
		if s.rest == "" {
			return true
		}
		if !s.addresses() || s.rest == "" || !s.command() {
			return false
		}
	}
}

func (s *sedScript) addresses() bool {
	for {
		s.rest = strings.TrimLeft(s.rest, " \t,!+~")
		if s.rest == "" {
			return true
		}
		switch c := s.rest[0]; {
		case c >= '0' && c <= '9' || c == '$':
			s.rest = s.rest[1:]
		case c == '/':
			if !s.until(s.rest[0]) {
				return false
			}
			s.rest = strings.TrimLeft(s.rest, "IM")
		case c == '\\':
			if s.rest = s.rest[1:]; s.rest == "" || s.rest[0] == '\n' || s.rest[0] == '\\' || !s.until(s.rest[0]) {
				return false
			}
			s.rest = strings.TrimLeft(s.rest, "IM")
		default:
			return true
		}
	}
}

// until passes what stands between a delimiter and the next of its kind. Brackets are
// not looked into: a delimiter in them ends an expression for some seds.
func (s *sedScript) until(delimiter byte) bool {
	for i := 1; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case '[':
			if i+1 < len(s.rest) && strings.IndexByte(s.rest[i:], delimiter) < strings.IndexByte(s.rest[i:], ']') {
				return false // inside or outside? seds do not agree
			}
		case delimiter:
			s.rest = s.rest[i+1:]
			return true
		}
	}
	return false
}

// command passes one command, if it is one that only prints.
func (s *sedScript) command() bool {
	name := s.rest[0]
	s.rest = s.rest[1:]
	switch {
	case name == '{':
		return true
	case strings.IndexByte("}=dDgGhHnNpPxzF", name) >= 0:
		return s.ends()
	case strings.IndexByte("lLqQ", name) >= 0:
		s.rest = strings.TrimLeft(s.rest, " 0123456789")
		return s.ends()
	case strings.IndexByte("btT:", name) >= 0:
		s.line(";}")
		return true
	case name == '#', strings.IndexByte("aic", name) >= 0:
		for strings.HasSuffix(s.line(""), `\`) && s.rest != "" { // the text goes on
			s.rest = s.rest[1:]
		}
		return true
	case name == 'y' || name == 's':
		return s.substitution(name)
	}
	return false
}

// line passes the rest of a line, or of a command that ends before it.
func (s *sedScript) line(ends string) string {
	n := strings.IndexAny(s.rest, ends+"\n")
	if n < 0 {
		n = len(s.rest)
	}
	line := s.rest[:n]
	s.rest = s.rest[n:]
	return line
}

func (s *sedScript) substitution(name byte) bool {
	if s.rest == "" || s.rest[0] == '\n' || s.rest[0] == '\\' {
		return false
	}
	delimiter := s.rest[0]
	if !s.until(delimiter) {
		return false
	}
	s.rest = string(delimiter) + s.rest
	if !s.until(delimiter) {
		return false
	}
	if name == 's' {
		s.rest = strings.TrimLeft(s.rest, "gpIiMm0123456789")
	}
	return s.ends()
}

// ends reports whether a command ends here.
func (s *sedScript) ends() bool {
	s.rest = strings.TrimLeft(s.rest, " \t")
	return s.rest == "" || strings.IndexByte(";\n}#", s.rest[0]) >= 0
}
