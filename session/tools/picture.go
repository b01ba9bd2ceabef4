package tools

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // the formats that models take
	_ "image/jpeg" // so
	_ "image/png"  // so
	"net/http"
	"slices"
	"strings"

	_ "golang.org/x/image/webp" // so

	"belay/models"
)

// pictureTypes are the formats that models take.
var pictureTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// maxPixels bounds what a picture may unfold to: a small file can claim to be huge.
const maxPixels = 64 << 20

// isPicture says whether a file claims to be a picture.
func isPicture(mime string) bool { return strings.HasPrefix(mime, "image/") && mime != "image/svg+xml" }

// picture reads a file that claims to be a picture. Only one that can be decoded
// is shown to a model: an endpoint refuses the whole request for any other, and
// would refuse it again each time.
func picture(content []byte) (models.Image, error) {
	mime := http.DetectContentType(content)
	if !slices.Contains(pictureTypes, mime) {
		return models.Image{}, fmt.Errorf(
			"a picture of type %s; only PNG, JPEG, GIF and WebP can be shown: convert it first", mime)
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil {
		return models.Image{}, fmt.Errorf("not the picture that it begins as (%s): %w", mime, err)
	}
	if int64(config.Width)*int64(config.Height) > maxPixels {
		return models.Image{}, fmt.Errorf("a picture of %d×%d, too large to be shown", config.Width, config.Height)
	}
	if _, _, err := image.Decode(bytes.NewReader(content)); err != nil {
		return models.Image{}, fmt.Errorf("a picture that cannot be decoded (%s): %w", mime, err)
	}
	return models.Image{MIME: mime, Data: content}, nil
}
