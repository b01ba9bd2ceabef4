package request

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"belay/session/tools"
)

// mention is a file with a range of lines, as people write it: @a.go:20-45.
var mention = regexp.MustCompile(`(?:^|\s)@([^\s:@]+):(\d{1,7})-(\d{1,7})`)

// The bounds of what mentions bring into a prompt; the rest can be read.
const (
	maxMentions     = 8
	maxMentionLines = 400 // of one
)

// mentioned gives the lines that a prompt mentions, so that a few dozen lines
// need not be asked for.
func mentioned(ctx context.Context, set *tools.Set, prompt string) string {
	var b strings.Builder
	for _, m := range mention.FindAllStringSubmatch(prompt, maxMentions) {
		path := m[1]
		from, _ := strconv.Atoi(m[2]) // digits: it is a number
		to, _ := strconv.Atoi(m[3])
		if from < 1 || to < from {
			continue
		}
		lines := min(to-from+1, maxMentionLines)
		args, err := json.Marshal(map[string]any{"path": path, "from": from, "lines": lines})
		if err != nil {
			continue
		}
		call, err := set.Prepare(tools.ReadFile, string(args))
		if err != nil || call.Outside {
			continue // the words stay; the model may ask for it
		}
		if r := call.Run(ctx, func(string) {}); !r.Error && len(r.Images) == 0 {
			fmt.Fprintf(&b, "%s, lines %d to %d, as they are now:\n%s\n", path, from, to, r.Output)
		}
	}
	return strings.TrimSpace(b.String())
}
