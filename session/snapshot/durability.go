package snapshot

import "sync/atomic"

// relaxed turns off waiting for the disk.
var relaxed atomic.Bool

// RelaxForTesting makes every Store, and the git it runs, stop waiting for the
// disk. What was kept or restored then survives the end of the process, but not a
// power failure: it is for tests whose subject is not durability.
func RelaxForTesting() { relaxed.Store(true) }
