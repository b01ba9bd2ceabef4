package keys

import "strings"

// Name is how a command is called after a slash; empty: it has no name.
func Name(a Action) string {
	for _, part := range strings.Split(Of(a).Show, ", ") {
		name, ok := strings.CutPrefix(part, "/")
		if !ok || name == "" {
			continue
		}
		words := strings.Fields(name)
		for i, w := range words {
			if strings.HasPrefix(w, "[") || w == strings.ToUpper(w) { // what stands behind the name
				return strings.Join(words[:i], " ")
			}
		}
		return strings.Join(words, " ")
	}
	return ""
}

// Call reads a line such as "/compact the names of the API": which command it
// calls and what stands behind its name.
func Call(line string) (called Action, rest string, ok bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "/") {
		return "", "", false
	}
	longest := 0
	for _, b := range Table {
		name := Name(b.Action)
		if n := len(name) + 1; n > longest && name != "" && len(line) >= n && strings.EqualFold(line[1:n], name) {
			if tail := line[n:]; tail == "" || strings.ContainsAny(tail[:1], " \t\n") {
				called = b.Action
				rest = strings.TrimSpace(tail)
				ok = true
				longest = n
			}
		}
	}
	return called, rest, ok
}
