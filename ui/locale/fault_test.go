package locale

import (
	"strings"
	"testing"

	"belay/models"
)

func TestFaultsAreSaidInOneLanguage(t *testing.T) {
	Use(Chinese)
	defer Use(English)
	for _, kind := range models.Kinds() {
		f := &models.Fault{Kind: kind, Target: models.Target{Provider: "p", Model: "m"}, Status: 503}
		if said := Said(f.Error()); strings.Contains(said, " at ") || !strings.Contains(said, "p/m") {
			t.Errorf("%q is said as %q", f.Error(), said)
		}
	}
}
