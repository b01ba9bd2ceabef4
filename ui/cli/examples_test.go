package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"belay/ui/cli/app"
)

// Whoever asks for the help of a command reads a line to type, which would be understood.
func TestEveryCommandHasAnExample(t *testing.T) {
	called := regexp.MustCompile(`\bbelay((?: [a-z]+)*)((?: +[^|;&>]*)?)`)
	root := CLI{Env: app.Env{Version: "test"}}.rootCommand()
	var check func(*cobra.Command)
	check = func(command *cobra.Command) {
		for _, sub := range command.Commands() {
			check(sub)
		}
		if !command.IsAvailableCommand() || !command.HasParent() || command.Parent().Name() == "completion" {
			return
		}
		path := command.CommandPath()
		if !strings.Contains(command.Example, path) {
			t.Errorf("%s has no example: %q", path, command.Example)
			return
		}
		for line := range strings.SplitSeq(command.Example, "\n") {
			for _, found := range called.FindAllStringSubmatch(line, -1) {
				target, _, err := command.Root().Find(strings.Fields(found[1]))
				if err != nil {
					t.Errorf("%s: %q: %v", path, line, err)
					continue
				}
				for _, flag := range longFlag.FindAllStringSubmatch(found[2], -1) {
					if target.Flags().Lookup(flag[1]) == nil && target.InheritedFlags().Lookup(flag[1]) == nil {
						t.Errorf("%s: %q: there is no --%s", path, line, flag[1])
					}
				}
			}
		}
	}
	check(root)
}
