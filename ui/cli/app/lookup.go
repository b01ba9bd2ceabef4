package app

import (
	"time"

	"belay/models"
)

// keyLimit is how long the keyring may take for all providers together: one that is
// locked waits for a person, and asks again for each.
const keyLimit = 2 * time.Second

// lookUpWithin looks providers up, which asks the keyring for each. It reports whether
// the time was enough for all; who comes late is not waited for.
func lookUpWithin(
	limit time.Duration, names []string, lookUp func(string) (models.Provider, bool),
) (found map[string]models.Provider, all bool) {
	answers := make(chan models.Provider, len(names))
	go func() {
		for _, name := range names {
			p, _ := lookUp(name)
			p.Name = name
			answers <- p
		}
	}()
	found = map[string]models.Provider{}
	late := time.After(limit)
	for range names {
		select {
		case p := <-answers:
			found[p.Name] = p
		case <-late:
			return found, false
		}
	}
	return found, true
}
