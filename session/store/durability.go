package store

import "sync/atomic"

// relaxed says that nothing waits for the disk.
var relaxed atomic.Bool

// RelaxForTesting lets stores that are opened from now on not wait for the disk.
// What they hold survives the end of the program, but not that of the computer:
// it is for tests of which durability is not the subject.
func RelaxForTesting() { relaxed.Store(true) }

// synchronous is SQLite's setting for what is stored before it is published.
func synchronous() string {
	if relaxed.Load() {
		return "off"
	}
	return "full"
}
