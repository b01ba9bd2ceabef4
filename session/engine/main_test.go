package engine

import (
	"os"
	"testing"

	"belay/session/store"
)

// TestMain lets nothing wait for the disk: what survives the end of the computer
// is the store's subject.
func TestMain(m *testing.M) {
	store.RelaxForTesting()
	os.Setenv("GIT_TEST_FSYNC", "0")
	os.Exit(m.Run())
}
