package engine

import (
	"os"
	"testing"

	"belay/session/snapshot"
	"belay/session/store"
)

// TestMain turns off waiting for the disk: surviving a power failure is the
// subject of the store's and the snapshots' own tests.
func TestMain(m *testing.M) {
	store.RelaxForTesting()
	snapshot.RelaxForTesting()
	os.Exit(m.Run())
}
