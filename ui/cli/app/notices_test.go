package app

import (
	"bytes"
	"slices"
	"testing"
)

func TestNotices(t *testing.T) {
	t.Run("a screen gets them when it is there, and standard error stays empty", func(t *testing.T) {
		var stderr bytes.Buffer
		n := newNotices(&stderr, Options{Program: "screen"})
		n.add("the key store is locked")
		var shown []string
		n.showOn(func(text string) { shown = append(shown, text) })
		n.add("later")
		if want := []string{"the key store is locked", "later"}; !slices.Equal(shown, want) || stderr.Len() > 0 {
			t.Errorf("shown %q, standard error %q; want %q and nothing", shown, stderr.String(), want)
		}
	})
	t.Run("without a screen they are printed at once", func(t *testing.T) {
		var stderr bytes.Buffer
		newNotices(&stderr, Options{Program: "run", NonInteractive: true}).add("something")
		if got, want := stderr.String(), "belay: something\n"; got != want {
			t.Errorf("standard error = %q, want %q", got, want)
		}
	})
}
