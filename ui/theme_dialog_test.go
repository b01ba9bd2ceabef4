package ui

import (
	"context"
	"image/color"
	"testing"
)

// wears waits until the rule under the header has a colour.
func (s *screen) wears(what string, want color.Color) {
	s.t.Helper()
	s.waitFor(what, func(string) bool {
		got := s.emu.CellAt(5, 1).Style.Fg
		if got == nil || want == nil {
			return got == nil && want == nil
		}
		r, g, b, _ := got.RGBA()
		wr, wg, wb, _ := want.RGBA()
		return r == wr && g == wg && b == wb
	})
}

var (
	darkFaint  = color.RGBA{0x4a, 0x50, 0x5c, 0xff}
	lightFaint = color.RGBA{0xbf, 0xc4, 0xcc, 0xff}
)

func TestThemesAreShownWhileOneChooses(t *testing.T) {
	kept := make(chan string, 1)
	o := newFakeEngine().options()
	o.KeepTheme = func(_ context.Context, name string) error { kept <- name; return nil }
	s := startScreen(t, 80, 24, o)
	s.wait("● sol")
	s.wears("the dark theme", darkFaint)
	open := func() {
		s.press("ctrl+p")
		s.wait("commands")
		s.press("themes")
		s.wait("❯ themes")
		s.press("enter")
		s.wait("high contrast")
	}
	open()
	s.press("down")
	s.wears("the light theme", lightFaint)
	s.press("esc")
	s.gone("high contrast")
	s.wears("what was before", darkFaint)
	open()
	s.clickOn("no colours")
	s.wears("no colours", nil)
	s.clickOn("for a light ground")
	s.wears("the light theme", lightFaint)
	s.press("enter")
	s.wait("theme: light, also from now on")
	s.wears("what was chosen", lightFaint)
	if got := <-kept; got != "light" {
		t.Errorf("kept %q, want light", got)
	}
}

func TestColoursOfOnesOwn(t *testing.T) {
	o := newFakeEngine().options()
	o.Colours = map[string]string{"faint": "#112233"}
	s := startScreen(t, 80, 24, o)
	s.wait("● sol")
	s.wears("the colour of one's own", color.RGBA{0x11, 0x22, 0x33, 0xff})
}
