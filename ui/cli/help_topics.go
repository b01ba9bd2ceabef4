package cli

import _ "embed" // for the texts

//go:embed steps.txt
var stepsTopic string

// topics are what `belay help` tells beside the commands.
var topics = map[string]string{"steps": stepsTopic}
