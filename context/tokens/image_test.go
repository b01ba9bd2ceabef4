package tokens

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"testing"

	"belay/models"
)

// A picture in each format that can be read.
func pictures(t testing.TB, width, height int) map[string][]byte {
	t.Helper()
	canvas := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.White, color.Black})
	var p, j, g bytes.Buffer
	for _, err := range []error{png.Encode(&p, canvas), jpeg.Encode(&j, canvas, nil), gif.Encode(&g, canvas, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string][]byte{"png": p.Bytes(), "jpeg": j.Bytes(), "gif": g.Bytes()}
}

// header is as much of a PNG as tells its size.
func header(width, height uint32) []byte {
	chunk := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	chunk = binary.BigEndian.AppendUint32(chunk, height)
	chunk = append(chunk, 8, 2, 0, 0, 0)
	sum := crc32.ChecksumIEEE(chunk)
	b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), chunk...)
	return binary.BigEndian.AppendUint32(b, sum)
}

func TestAPictureCountsByItsSize(t *testing.T) {
	for name, tc := range map[string]struct {
		width, height uint32
		want          int
	}{
		"one of OpenAI's examples":           {1024, 1024, 765},
		"the other one":                      {2048, 4096, 1105},
		"a dot":                              {1, 1, 255},
		"one square":                         {512, 512, 255},
		"a pixel more":                       {513, 512, 425},
		"small ones are not enlarged":        {600, 400, 425},
		"a screen":                           {1920, 1080, 1105},
		"a wide screen":                      {3840, 1080, 1445},
		"a photo":                            {4032, 3024, 765},
		"a strip":                            {100_000, 1, 765},
		"as large as a header can say":       {1<<31 - 1, 1<<31 - 1, perImage},
		"as long as a header can say":        {1, 1<<31 - 1, 765},
		"nothing":                            {0, 0, perImage},
		"no width":                           {0, 100, perImage},
		"less than nothing, for a header":    {1 << 31, 1, perImage},
		"less than nothing, in both of them": {1<<32 - 1, 1<<32 - 1, perImage},
	} {
		t.Run(name, func(t *testing.T) {
			if got := imageTokens(header(tc.width, tc.height)); got != tc.want {
				t.Errorf("picture(%d×%d) = %d, want %d", tc.width, tc.height, got, tc.want)
			}
		})
	}
	for format, data := range pictures(t, 700, 300) {
		if got := imageTokens(data); got != 425 {
			t.Errorf("%s = %d, want 425", format, got)
		}
	}
}

func TestAPictureThatCannotBeReadCountsAsOneThatCan(t *testing.T) {
	camera := slices.Concat(
		[]byte("\xff\xd8"),
		bytes.Repeat(append([]byte("\xff\xe1\xff\xff"), make([]byte, 0xfffd)...), 20),
		pictures(t, 700, 300)["jpeg"][2:],
	)
	for name, data := range map[string][]byte{
		"nothing": nil, "text": []byte("hello"), "webp": []byte("RIFF\x24\x00\x00\x00WEBPVP8 "),
		"cut off":              header(100, 100)[:20],
		"a gif without pixels": []byte("GIF89a\x00\x00\x00\x00\x00\x00\x00"), "a header too far in": camera,
	} {
		if got := imageTokens(data); got != perImage {
			t.Errorf("%s = %d, want %d", name, got, perImage)
		}
	}
}

func TestItemsCountTheirPictures(t *testing.T) {
	c := loaded(t)
	it := models.Item{
		Kind:   models.Output,
		Text:   "look",
		Images: []models.Image{{Data: header(512, 512)}, {Data: header(1024, 1024)}, {}},
	}
	if got, want := c.Item(it), perItem+c.Text("look")+255+765+perImage; got != want {
		t.Errorf("Item = %d, want %d", got, want)
	}
}

func FuzzPicture(f *testing.F) {
	for _, data := range pictures(f, 3, 2) {
		f.Add(data)
	}
	f.Add(header(0, 0))
	f.Add([]byte("GIF89a\x00\x00\xff\xff\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := imageTokens(data); n < perPicture+perSquare || n > perPicture+8*perSquare {
			t.Errorf("picture = %d", n)
		}
	})
}

func BenchmarkPicture(b *testing.B) {
	cases := pictures(b, 1920, 1080)
	cases["hostile jpeg"] = append([]byte("\xff\xd8\xff\xe1\x00\x02"), make([]byte, maxHeader)...)
	for name, data := range cases {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				imageTokens(data)
			}
		})
	}
}
