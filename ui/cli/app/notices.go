package app

import (
	"belay/config"
	"belay/ui/cli/maintenance"
	"belay/ui/locale"
	"fmt"
	"io"
	"sync"
)

// Notify runs the person's command for notifications.
func Notify(settings config.Settings) func(text string) error {
	return func(text string) error { return maintenance.RunAlertCommand(settings.Screen.Command, text) }
}

// notices brings what a person should know to where they look: to standard
// error, or onto the screen, which printing would spoil. What comes before the
// screen can show anything waits for it.
type notices struct {
	mu      sync.Mutex
	show    func(text string) // nil: nobody can yet
	waiting []string
}

// newNotices prints to standard error, unless a screen will show them.
func newNotices(stderr io.Writer, o Options) *notices {
	if o.onScreen() {
		return &notices{}
	}
	return &notices{show: func(text string) { fmt.Fprintln(stderr, "belay: "+locale.Said(text)) }}
}

func (n *notices) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.show == nil {
		n.waiting = append(n.waiting, text)
		return
	}
	n.show(text)
}

// showOn takes the notices from now on, and those that have waited.
func (n *notices) showOn(show func(text string)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.show = show
	for _, text := range n.waiting {
		show(text)
	}
	n.waiting = nil
}
