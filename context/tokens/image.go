package tokens

import (
	"bytes"
	"image"
	_ "image/gif"  // pictures whose size can be read
	_ "image/jpeg" // so
	_ "image/png"  // so
)

// What a picture takes at high detail, as documented by OpenAI (Images and
// vision, Calculating costs): it is shrunk into 2048×2048, then to 768 pixels on
// its shorter side; each square of 512 pixels counts, and the whole once.
const (
	perPicture   = 85
	perSquare    = 170
	squareSide   = 512
	maxSide      = 2048
	maxShortSide = 768

	// perImage stands for a picture whose size is not known.
	perImage = 1100
)

// maxHeader is how far into a picture its size is looked for, in bytes. What a
// camera writes before it is shorter.
const maxHeader = 1 << 20

// imageTokens counts the tokens of a picture. Only its header is read.
func imageTokens(data []byte) int {
	c, _, err := image.DecodeConfig(bytes.NewReader(data[:min(len(data), maxHeader)]))
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return perImage
	}
	return squares(float64(c.Width), float64(c.Height))
}

// squares counts the tokens of a picture of so many pixels. Sides are floating
// numbers because their products may be too large for others.
func squares(width, height float64) int {
	shrink := min(1, maxSide/max(width, height))
	shrink = min(shrink, maxShortSide/min(width, height))
	along := func(side float64) int {
		// A pixel is whole; what is left of one by the division is none.
		return max(1, (int(side*shrink+0.5)+squareSide-1)/squareSide)
	}
	return perPicture + perSquare*along(width)*along(height)
}
