package cli

import (
	_ "embed" // for the lines
	"strings"

	"github.com/spf13/cobra"
)

// exampleLines are lines to type, of the commands that bring none of their own. They are
// the same in every language.
//
//go:embed examples.txt
var exampleLines string

// addExamples gives each line to the command that it calls, and the first ones of its
// own commands to one that has none.
func addExamples(root *cobra.Command) {
	given := map[*cobra.Command][]string{}
	for line := range strings.Lines(exampleLines) {
		line = strings.TrimSpace(line)
		command, _, err := root.Find(strings.Fields(line)[1:])
		if err != nil {
			continue
		}
		given[command] = append(given[command], "  "+line)
		if parent := command.Parent(); parent != root && len(given[parent]) < 3 {
			given[parent] = append(given[parent], "  "+line)
		}
	}
	for command, lines := range given {
		if command.Example == "" {
			command.Example = strings.Join(lines, "\n")
		}
	}
}
