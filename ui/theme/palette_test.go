package theme

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// TestPoorTerminalsGetColoursOfTheirOwn looks at what is written: nothing is left for
// anybody to compute.
func TestPoorTerminalsGetColoursOfTheirOwn(t *testing.T) {
	for _, dark := range []bool{true, false} {
		th := New("auto", dark, colorprofile.ANSI256)
		for name, style := range map[string]Style{
			"dim": th.Dim, "good": th.Good, "bad": th.Bad, "band": th.User, "added": th.Added, "removed": th.Removed, "found": th.Found,
		} {
			if got := style.Paint("x"); !strings.Contains(got, "8;5;") || strings.Contains(got, "8;2;") {
				t.Errorf("dark %v: %s is written as %q", dark, name, got)
			}
		}
		few := New("auto", dark, colorprofile.ANSI)
		if got := few.Added.Paint("x") + few.Dim.Paint("x"); strings.Contains(got, "8;") {
			t.Errorf("with 16 colours it is written as %q", got)
		}
	}
}
