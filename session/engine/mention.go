package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"belay/session"
)

// mentioned is a file with a range of lines, as people write it: @a.go:20-45.
var mentioned = regexp.MustCompile(`(?:^|\s)@([^\s:@]+):(\d{1,7})-(\d{1,7})`)

// The bounds of what mentions bring into a prompt; the rest can be read.
const (
	mostMentions = 8
	mostLines    = 400 // of one
)

// begun is the event that begins a turn. The lines that the prompt mentions go
// with it, so that a few dozen lines need not be asked for.
func (a *openSession) begun(ctx context.Context, p session.Prompt) session.TurnStarted {
	var b strings.Builder
	for _, m := range mentioned.FindAllStringSubmatch(p.Text, mostMentions) {
		from, _ := strconv.Atoi(m[2]) // digits: it is a number
		to, _ := strconv.Atoi(m[3])
		if from < 1 || to < from {
			continue
		}
		args, err := json.Marshal(map[string]any{"path": m[1], "from": from, "lines": min(to-from+1, mostLines)})
		if err != nil {
			continue
		}
		job, err := a.tools.Prepare("read", string(args))
		if err != nil || job.Outside {
			continue // the words stay; the model may ask for it
		}
		if r := job.Run(ctx, func(string) {}); !r.Error && len(r.Images) == 0 {
			fmt.Fprintf(&b, "%s, lines %d to %d, as they are now:\n%s\n", m[1], from, to, r.Output)
		}
	}
	return session.TurnStarted{Prompt: p, Note: strings.TrimSpace(b.String())}
}
