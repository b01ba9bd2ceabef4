package diagnose

import (
	"testing"

	"belay/models"
)

func TestEveryKindTellsAPersonWhatToDo(t *testing.T) {
	for _, k := range models.Kinds() {
		if f := (&models.Fault{Kind: k}); k != models.KindCancelled && hint(f, Evidence{}, report{}) == "" {
			t.Errorf("%s has no hint", k)
		}
	}
}
