package tools

import (
	"bytes"
	"encoding/base64"
	bigendian "encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

func pngFile(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hugePNG is a small file that claims to be a huge picture.
func hugePNG(t *testing.T) string {
	t.Helper()
	file := []byte(pngFile(t))
	header := file[12:29] // type and content of the first chunk
	bigendian.BigEndian.PutUint32(header[4:], 60_000)
	bigendian.BigEndian.PutUint32(header[8:], 60_000)
	bigendian.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(header))
	return string(file)
}

func TestOnlyWhatCanBeDecodedIsShown(t *testing.T) {
	var asGIF, asJPEG bytes.Buffer
	square := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.Black, color.White})
	if err := gif.Encode(&asGIF, square, nil); err != nil {
		t.Fatal(err)
	}
	if err := jpeg.Encode(&asJPEG, square, nil); err != nil {
		t.Fatal(err)
	}
	webp, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"a.png": pngFile(t), "a.gif": asGIF.String(), "a.jpg": asJPEG.String(), "a.webp": string(webp),
		"renamed.txt": pngFile(t),
		"a.ico":       "\x00\x00\x01\x00\x01\x00\x10\x10\x00\x00\x01\x00",
		"a.bmp":       "BM\x3a\x00\x00\x00",
		"page.png":    "\x89PNG\r\n\x1a\n<!doctype html><title>404</title>",
		"half.png":    pngFile(t)[:40],
		"half.jpg":    asJPEG.String()[:100],
		"huge.png":    hugePNG(t),
		"drawing.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
	}
	s := workspace(t, files)
	for name, want := range map[string]string{
		"a.png": "image/png", "a.gif": "image/gif", "a.jpg": "image/jpeg", "a.webp": "image/webp",
		"renamed.txt": "image/png",
		"a.ico":       "only PNG, JPEG, GIF and WebP", "a.bmp": "only PNG, JPEG, GIF and WebP",
		"page.png": "not the picture that it begins as", "half.png": "cannot be decoded",
		"half.jpg": "not the picture", "huge.png": "60000×60000, too large", "drawing.svg": "",
	} {
		_, r := call(t, s, "read", `{"path":"`+name+`"}`)
		switch {
		case strings.HasPrefix(want, "image/"):
			if r.Error || len(r.Images) != 1 || r.Images[0].MIME != want || string(r.Images[0].Data) != files[name] {
				t.Errorf("%s: %+v", name, r)
			}
		case want == "" && (r.Error || len(r.Images) > 0 || !strings.Contains(r.Output, "svg")):
			t.Errorf("%s: %+v", name, r)
		case want != "" && (!r.Error || len(r.Images) > 0 || !strings.Contains(r.Output, want)):
			t.Errorf("%s: %+v, want %q", name, r, want)
		}
	}
}
