package clipboard

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

var png = []byte("\x89PNG\r\n\x1a\nrest\x00\xff")

func TestAPictureComesFromTheClipboard(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the programs differ")
	}
	hexed := fmt.Sprintf("«data PNGf%X»\n", png)
	for _, tt := range []struct {
		name   string
		prints []byte
		env    string
		want   error
	}{
		{"as it is", png, "", nil},
		{"as digits", []byte(hexed), "", nil},
		{"in base64", []byte(base64.StdEncoding.EncodeToString(png[:6]) + "\r\n"), "", nil},
		{"text is none", []byte("words"), "", ErrNoPicture},
		{"nothing is none", nil, "", ErrNoPicture},
		{"a huge one is refused", bytes.Repeat(png, 1<<21), "", errTooLarge},
		{"over a network it is another computer's", png, "SSH_TTY", errFar},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", t.TempDir())
			data := filepath.Join(dir, "data")
			script := "#!/bin/sh\ncat " + data + "\n"
			err := errors.Join(os.WriteFile(data, tt.prints, 0o600),
				os.WriteFile(filepath.Join(dir, "xclip"), []byte(script), 0o700))
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			c := Clipboard{
				Env: func(name string) string {
					return map[string]string{"DISPLAY": ":0", tt.env: "x"}[name]
				},
				Find: func(program string) bool { _, err := exec.LookPath(program); return err == nil },
			}
			path, err := c.Picture(t.Context())
			if !errors.Is(err, tt.want) {
				t.Fatalf("Picture() = %q, %v, want %v", path, err, tt.want)
			}
			if tt.want != nil {
				return
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(got, png[:4]) {
				t.Errorf("the file holds %s, %v", hex.EncodeToString(got), err)
			}
		})
	}
}

func TestWithoutAProgramThereIsNoPicture(t *testing.T) {
	c := Clipboard{Env: func(string) string { return "" }, Find: func(string) bool { return false }}
	if _, err := c.Picture(t.Context()); !errors.Is(err, errNoReader) {
		t.Errorf("Picture() = %v, want %v", err, errNoReader)
	}
}
