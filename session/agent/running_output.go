package agent

import (
	"strings"
	"sync"

	"belay/session"
)

// maxRunningOutput is how much of a command's output is kept while it runs: its
// end.
const maxRunningOutput = 4 << 10

// runningOutput saves what a running command has said so far, and its process
// group, so that a crash leaves a person something to judge by.
type runningOutput struct {
	drafts *draftSaver
	callID string
	group  func() int // nil: it is no command, and nothing is saved

	mu   sync.Mutex
	text string
}

// add takes the next piece; an empty one saves the process group alone.
func (o *runningOutput) add(text string) {
	if o.group == nil {
		return
	}
	o.mu.Lock()
	o.text += text
	if n := len(o.text) - maxRunningOutput; n > 0 {
		o.text = strings.ToValidUTF8(o.text[n:], "")
	}
	o.mu.Unlock()
	o.drafts.save(o.draft)
}

func (o *runningOutput) draft() session.Draft {
	o.mu.Lock()
	defer o.mu.Unlock()
	return session.Draft{CallID: o.callID, Output: o.text, PID: o.group()}
}
