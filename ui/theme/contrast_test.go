package theme

import (
	"image/color"
	"math"
	"testing"

	"charm.land/lipgloss/v2"
)

// luminance is that of WCAG 2.2, relative luminance.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	linear := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

func contrast(a, b string) float64 {
	x, y := luminance(lipgloss.Color(a)), luminance(lipgloss.Color(b))
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestHighContrastIsHigh holds the theme to 7:1 for text (WCAG 2.2, 1.4.6), on its own
// grounds too.
func TestHighContrastIsHigh(t *testing.T) {
	for name, tt := range map[string]struct {
		palette colours
		ground  string
	}{"dark": {contrastDark, "16"}, "light": {contrastLight, "231"}} {
		p := tt.palette
		for text, colour := range map[string]string{
			"dim": p.dim, "accent": p.accent, "good": p.good, "warn": p.warn, "bad": p.bad, "key": p.key, "code": p.code,
			"keyword": p.keyword, "string": p.text, "number": p.number, "comment": p.comment, "name": p.name,
		} {
			for where, ground := range map[string]string{"the terminal": tt.ground, "code": p.ground} {
				if got := contrast(colour, ground); got < 7 {
					t.Errorf("%s: %s on the ground of %s has a contrast of %.1f, want 7", name, text, where, got)
				}
			}
		}
	}
}
