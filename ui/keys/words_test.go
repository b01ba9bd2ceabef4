package keys

import (
	"testing"

	"belay/ui/locale"
)

func TestWhatKeysDoIsTranslated(t *testing.T) {
	locale.Use(locale.Chinese)
	t.Cleanup(func() { locale.Use(locale.English) })
	for _, b := range Table {
		if locale.T(b.Does) == b.Does {
			t.Errorf("msgid %q\nmsgstr \"\"", b.Does)
		}
	}
}
