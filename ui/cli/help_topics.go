package cli

import (
	_ "embed" // for the texts
	"strings"

	"belay/ui/keys"
	"belay/ui/locale"
)

//go:embed steps.txt
var stepsTopic string

//go:embed batch.txt
var batchTopic string

// keysTopic lists what can have other keys, as the settings call it.
func keysTopic() string {
	var b strings.Builder
	b.WriteString(locale.T(`Other keys for what belay does: each action by its name, below [keys] in your
settings. One key, a list of them, or [] for none:

  [keys]
  next-tier = "ctrl+g"
  capacity  = ["f5", "alt+m"]
  "session-list.rename" = "f2"   # in this part of the screen alone

A key that would mean two things in one place, a name and a key that do not exist
are reported with their line.

`))
	for _, line := range keys.Reference() {
		b.WriteString("  " + line + "\n")
	}
	return b.String()
}

// topics are what `belay help` tells beside the commands.
var topics = map[string]func() string{
	"steps": func() string { return locale.T(stepsTopic) },
	"batch": func() string { return locale.T(batchTopic) },
	"keys":  keysTopic,

	"recipes": recipesTopic,
	"man":     manTopic,
}
