package keys

import (
	"fmt"
	"slices"
	"strings"
)

// Reference lists all actions that can have other keys, a line each: those of the main
// screen, then those of each part.
func Reference() []string {
	var lines []string
	for _, b := range original.table {
		if !slices.Contains(fixed, b.Action) {
			lines = append(lines, fmt.Sprintf("%-22s %s", nameOf(b.Action), strings.Join(b.Keys, " ")))
		}
	}
	for _, named := range namedParts {
		for _, r := range original.parts[named.name] {
			if r.action != Ignore {
				lines = append(lines, fmt.Sprintf("%-38s %s", named.name+"."+nameOf(r.action), strings.Join(r.keys, " ")))
			}
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}
