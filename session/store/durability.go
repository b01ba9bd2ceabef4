package store

import "sync/atomic"

// relaxed turns off waiting for the disk.
var relaxed atomic.Bool

// RelaxForTesting makes stores opened from now on stop waiting for the disk. What
// they hold then survives the end of the process, but not a power failure: it is
// for tests whose subject is not durability.
func RelaxForTesting() { relaxed.Store(true) }

// synchronous is SQLite's setting for what is stored before it is published.
func synchronous() string {
	if relaxed.Load() {
		return "off"
	}
	return "full"
}
