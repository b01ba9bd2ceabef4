//go:build unix

package tools

import (
	"strings"
	"testing"

	"belay/session/permit"
	"belay/session/sandbox"
)

// composer makes lines of parts that bytes choose: what models write, and what an
// attack would mix in.
type composer struct{ choices []byte }

func (c *composer) next(n int) int {
	if len(c.choices) == 0 {
		return 0
	}
	b := int(c.choices[0])
	c.choices = c.choices[1:]
	return b % n
}

func (c *composer) of(list ...string) string { return list[c.next(len(list))] }

func (c *composer) word() string {
	return c.of("main.go", "list.txt", "*.go", ".", "pkg", "-n", "-c", "made", "../secret", "link", "door", "sub/inner", "$x",
		`"$x"`, "$HOME/notes", "li*", "-o", "--output=made", "-delete", "{main,other}.go", "--", "-", "+1", "'a b'", `\x`,
		"$'\\x2e\\x2e/secret'", "[l]ink", "1", "HEAD", "~", "$(echo ../secret)", "`ls`", "-i", "-f", "-exec", "rm", "{}", ";", "+",
		"-type", "f", "list0.txt", "--files0-from=list0.txt", "'1,2p'", "'w made'", "'{print > \"made\"}'", "TODO", "-e", "-R",
		".env", "\"$(cat list.txt)\"", "${x:-../secret}", "$((1+1))", "-")
}

func (c *composer) command() string {
	words := []string{c.of("cat", "ls", "grep", "head", "wc", "sort", "uniq", "sed", "awk", "find", "git", "git log", "git diff",
		"git branch", "git config", "diff", "echo", "printf", "test", "cd", "xargs", "jq", "xxd", "date", "tail", "env", "timeout 5",
		"command", "bash -c", "sh -c", "bash -lc", "nice", "read x", "set", "tee", "rm", "cp main.go", "touch", "x=made", "x=../secret",
		"true", "[", "go list", "file", "md5sum", "tree", "tr a b", "cut -c1")}
	for range c.next(4) {
		words = append(words, c.word())
	}
	return strings.Join(words, " ") + c.of("", "", "", "", " < list.txt", " < ../secret", " > made", " 2>/dev/null", " > /dev/null",
		" 2>&1", " >& made", " <<< text", " &", " <<E\n$(cat list.txt)\nE", " <<'E'\ntext\nE", " # x \\\n", " \\\n", " >$x")
}

func (c *composer) line(depth int) string {
	line := c.command()
	for range c.next(3) {
		line += c.of(" | ", " && ", " || ", "; ", "\n", " |& ") + c.command()
	}
	if depth == 0 {
		return line
	}
	switch c.next(8) {
	case 0:
		return "for x in " + c.word() + " " + c.word() + "; do " + c.line(depth-1) + "\ndone"
	case 1:
		return "if " + c.line(depth-1) + "\nthen " + line + "\nfi"
	case 2:
		return "x=$(" + c.line(depth-1) + "\n); " + line
	case 3:
		return "bash -c '" + strings.ReplaceAll(c.line(depth-1), "'", `'\''`) + "'"
	case 4:
		return "cat list.txt | while read x; do " + c.line(depth-1) + "\ndone"
	case 5:
		return "(" + c.line(depth-1) + "\n) && " + line
	case 6:
		return "echo " + c.word() + " | xargs " + line
	}
	return line
}

// FuzzLines lets lines through as the rules say, with a kernel that would let them
// write to the workspace, and looks for what they did.
func FuzzLines(f *testing.F) {
	if err := sandbox.Available(); err != nil {
		f.Skip(err)
	}
	for _, seed := range []string{"", "\x00\x01\x02", "abcdefghij", "\x0b\x02\x05\x27\x04", "0123456789abcdef"} {
		f.Add([]byte(seed), "")
	}
	for _, tail := range []string{"; cat $x", " > $x", "\"", "$\\\n(touch made)", " ${x//a/b}", " {1..3}"} {
		f.Add([]byte{0, 1, 0, 7}, tail)
	}
	a := newProject(f)
	before := a.print(f)
	f.Fuzz(func(t *testing.T, choices []byte, tail string) {
		c := composer{choices: choices}
		line := c.line(2) + tail
		if strings.ContainsRune(line, 0) || strings.ToValidUTF8(line, "") != line {
			return
		}
		_, decision := a.decide(t, line)
		if decision.Verdict != permit.Allow {
			return
		}
		if !decision.Held {
			t.Fatalf("%q would run unheld", line)
		}
		a.runFree(t, line)
		if changed := a.changed(t, before); changed != nil {
			t.Fatalf("%q changed %q", line, changed)
		}
	})
}
