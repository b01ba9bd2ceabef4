package batch

import (
	"fmt"
	"strings"
)

// Mistake is one thing that is wrong in a file of tasks.
type Mistake struct {
	File    string
	Line    int    // 0: the whole file
	Key     string // such as "task 3: tier"
	Problem string
	Hint    string
}

// Error is one line: where, what is wrong, and what to write instead.
func (m Mistake) Error() string {
	var b strings.Builder
	b.WriteString(m.File)
	if m.Line > 0 {
		fmt.Fprintf(&b, ":%d", m.Line)
	}
	b.WriteString(": ")
	if m.Key != "" {
		b.WriteString(m.Key + ": ")
	}
	b.WriteString(m.Problem)
	if m.Hint != "" {
		fmt.Fprintf(&b, " (%s)", m.Hint)
	}
	return b.String()
}

// Mistakes are all that is wrong in a file, in its order.
type Mistakes []Mistake

// maxMistakes is how many are told: a file of the wrong kind has one a line.
const maxMistakes = 20

// Error has a line for each mistake.
func (list Mistakes) Error() string {
	var lines []string
	for i, m := range list {
		if i == maxMistakes {
			lines = append(lines, fmt.Sprintf("%s: and %d more", m.File, len(list)-i))
			break
		}
		lines = append(lines, m.Error())
	}
	return strings.Join(lines, "\n")
}
