package keys

import (
	"slices"
	"strings"

	"github.com/sahilm/fuzzy"
)

// Names lists how a command is called after a slash, the name for hints first.
func Names(a Action) []string {
	var names []string
	for _, part := range strings.Split(Of(a).Show, ", ") {
		if words, ok := strings.CutPrefix(part, "/"); ok {
			if name, _ := splitUsage(words); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// splitUsage parts the name of a command from what stands behind it: an argument
// in capitals, or one in brackets.
func splitUsage(words string) (name, arguments string) {
	fields := strings.Fields(words)
	for i, w := range fields {
		if strings.HasPrefix(w, "[") || w == strings.ToUpper(w) {
			return strings.Join(fields[:i], " "), strings.Join(fields[i:], " ")
		}
	}
	return strings.Join(fields, " "), ""
}

// Shown is how people reach a command, without its other names.
func (b Binding) Shown() string {
	var parts []string
	named := false
	for _, part := range strings.Split(b.Show, ", ") {
		if strings.HasPrefix(part, "/") && part != "/" {
			if named {
				continue
			}
			named = true
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// Name is how a command is called after a slash; empty: it has no name.
func Name(a Action) string {
	if names := Names(a); len(names) > 0 {
		return names[0]
	}
	return ""
}

// Call reads a line such as "/compact the names of the API": which command it
// calls and what stands behind its name.
func Call(line string) (called Action, rest string, ok bool) {
	line = strings.TrimRight(line, " \t\n")
	if !strings.HasPrefix(line, "/") {
		return "", "", false
	}
	longest := 0
	for _, b := range Table {
		for _, name := range Names(b.Action) {
			if n := len(name) + 1; n > longest && len(line) >= n && strings.EqualFold(line[1:n], name) {
				if tail := line[n:]; tail == "" || strings.ContainsAny(tail[:1], " \t\n") {
					called = b.Action
					rest = strings.TrimSpace(tail)
					ok = true
					longest = n
				}
			}
		}
	}
	return called, rest, ok
}

// Unknown reports a line that calls a command which does not exist, with its name;
// that is empty while there is only the slash. A line that begins with a path, or
// with a space, is a prompt.
func Unknown(line string) (name string, unknown bool) {
	if _, _, ok := Call(line); ok {
		return "", false
	}
	words, ok := strings.CutPrefix(line, "/")
	if !ok {
		return "", false
	}
	name, _, _ = strings.Cut(strings.NewReplacer("\n", " ", "\t", " ").Replace(words), " ")
	if strings.ContainsAny(name, `/.\*$`) || name == "" && strings.TrimSpace(words) != "" {
		return "", false
	}
	return name, true
}

// Named is a command as it is offered while its name is being typed.
type Named struct {
	Name      string // without the slash
	Arguments string // what stands behind it: "[what to keep]"
	Does      string
	Begins    bool // its name begins with what was typed

	action Action
}

// Matching lists the commands whose names fit what was typed after the slash: first
// those that begin with it, then those that hold its letters in this order.
func Matching(typed string) []Named {
	typed = strings.ToLower(typed)
	var all []Named
	var names []string
	for _, b := range Table {
		for _, part := range strings.Split(b.Show, ", ") {
			if words, ok := strings.CutPrefix(part, "/"); ok && words != "" {
				name, arguments := splitUsage(words)
				if strings.Contains(name, " ") {
					continue // the older of two names
				}
				all = append(all, Named{Name: name, Arguments: arguments, Does: b.Meaning(), action: b.Action})
				names = append(names, name)
			}
		}
	}
	var found []Named
	for _, n := range all {
		if n.Begins = strings.HasPrefix(n.Name, typed); n.Begins {
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, func(a, b Named) int { return strings.Compare(a.Name, b.Name) })
	found = slices.CompactFunc(found, func(next, n Named) bool { // "models" beside "model" tells nothing
		return next.action == n.action && strings.HasPrefix(next.Name, n.Name)
	})
	for _, m := range fuzzy.Find(typed, names) {
		if n := all[m.Index]; !strings.HasPrefix(n.Name, typed) {
			found = append(found, n)
		}
	}
	return found
}

// AllNames lists the names of all commands.
func AllNames() []string {
	var names []string
	for _, n := range Matching("") {
		names = append(names, n.Name)
	}
	return names
}
