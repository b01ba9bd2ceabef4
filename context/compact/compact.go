// Package compact decides how older items become a summary: what a model is
// asked for, and whether what it wrote can stand for them.
package compact

import (
	_ "embed" // for the prose
	"fmt"
	"slices"
	"strings"

	"belay/models"
)

//go:embed compact.md
var prose string

// Headings are the parts of every summary, in their order.
var Headings = []string{
	"Goal",
	"Constraints",
	"Decisions",
	"Done",
	"Not done",
	"Files touched",
	"Commands and results",
	"Open questions",
	"Next step",
}

// Facts are what the log knows for certain and a summary must not lose.
type Facts struct {
	First string   // the words that began the session
	Task  string   // the user's words of the running task
	Files []string // that were changed
	Plan  []string // tasks of the plan that are not done
	Keep  string   // what the user asked to keep; may be empty
}

// maxOutput bounds an output in what the summariser reads: the beginning and
// the end of it tell what came of a call.
const maxOutput = 1500

// Request asks for a summary of items, together with the one that stood for
// those before them. Most bounds its text in bytes; the oldest goes first when
// it is too long.
func Request(previous string, items []models.Item, facts Facts, most int) models.Request {
	var b strings.Builder
	if previous != "" {
		fmt.Fprintf(&b, "# Summary so far\n\n%s\n\n", previous)
	}
	b.WriteString("# What happened since\n\n")
	b.WriteString(transcript(items, most))
	fmt.Fprintf(&b, "\n# What is certain\n\nThe user's task, word for word:\n%s\n", facts.Task)
	if len(facts.Files) > 0 {
		fmt.Fprintf(&b, "\nFiles that were changed: %s\n", strings.Join(facts.Files, ", "))
	}
	if len(facts.Plan) > 0 {
		fmt.Fprintf(&b, "\nNot done yet: %s\n", strings.Join(facts.Plan, "; "))
	}
	if facts.Keep != "" {
		fmt.Fprintf(&b, "\nThe user asks you to keep: %s\n", facts.Keep)
	}
	return models.Request{
		Instructions: strings.TrimSpace(prose),
		Items:        []models.Item{models.NewMessage(models.User, b.String())},
	}
}

// transcript writes items as text for reading. They are material: quoted, not
// continued.
func transcript(items []models.Item, most int) string {
	var parts []string
	size := 0
	for _, it := range slices.Backward(items) {
		part := line(it)
		if size += len(part); size > most {
			parts = append(parts, "(the beginning is left out)\n")
			break
		}
		parts = append(parts, part)
	}
	slices.Reverse(parts)
	return strings.Join(parts, "")
}

func line(it models.Item) string {
	switch it.Kind {
	case models.Message:
		s := fmt.Sprintf("[%s] %s\n", it.Role, strings.TrimSpace(it.Text))
		for _, a := range it.Attachments {
			s += fmt.Sprintf("[attached: %s] %s\n", a.Name, ends(a.Text, maxOutput))
		}
		return s
	case models.Call:
		return fmt.Sprintf("[call %s] %s\n", it.Name, ends(it.Arguments, maxOutput))
	case models.Output:
		return fmt.Sprintf("[result] %s\n", ends(it.Text, maxOutput))
	}
	return ""
}

// ends keeps the beginning and the end of a text.
func ends(s string, most int) string {
	if len(s) <= most {
		return strings.TrimSpace(s)
	}
	return strings.ToValidUTF8(s[:most/2], "") + " … " + strings.ToValidUTF8(s[len(s)-most/2:], "")
}

// Check reads what a model wrote and makes of it a summary that can stand for
// the items: with all headings, the user's words, every changed file and every
// open task. What is missing of the certain facts is added; a text that is no
// summary at all is an error.
func Check(text string, facts Facts) (string, error) {
	sections := split(text)
	found := 0
	for _, h := range Headings {
		if sections[h] != "" {
			found++
		}
	}
	if found < len(Headings)/2 {
		return "", fmt.Errorf("check the summary: it has %d of its %d parts", found, len(Headings))
	}
	sections["Goal"] = add(add(sections["Goal"], facts.First), facts.Task)
	for _, file := range facts.Files {
		sections["Files touched"] = add(sections["Files touched"], file)
	}
	for _, task := range facts.Plan {
		sections["Not done"] = add(sections["Not done"], task)
	}
	if facts.Keep != "" && !strings.Contains(text, facts.Keep) {
		sections["Constraints"] = add(sections["Constraints"], "asked to keep in mind: "+facts.Keep)
	}
	var b strings.Builder
	for _, h := range Headings {
		body := sections[h]
		if body == "" {
			body = "none"
		}
		fmt.Fprintf(&b, "## %s\n%s\n\n", h, body)
	}
	return strings.TrimSpace(b.String()), nil
}

// add appends a fact to a section that does not have it.
func add(section, fact string) string {
	fact = strings.TrimSpace(fact)
	if fact == "" || strings.Contains(section, fact) {
		return section
	}
	if section == "" || strings.EqualFold(section, "none") {
		return "- " + fact
	}
	return section + "\n- " + fact
}

// split parts a text at its known headings, whatever their level or case.
func split(text string) map[string]string {
	sections := map[string]string{}
	current := ""
	for line := range strings.Lines(text) {
		if h := heading(line); h != "" {
			current = h
			continue
		}
		if current != "" {
			sections[current] += line
		}
	}
	for h, body := range sections {
		sections[h] = strings.TrimSpace(body)
	}
	return sections
}

func heading(line string) string {
	line = strings.Trim(strings.TrimSpace(line), "#*: ")
	for _, h := range Headings {
		if strings.EqualFold(line, h) {
			return h
		}
	}
	return ""
}
