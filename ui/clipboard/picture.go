package clipboard

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// maxPicture bounds a picture that is taken from the clipboard, in bytes.
const maxPicture = 8 << 20

// Errors of Picture.
var (
	ErrNoPicture = errors.New("there is no picture in the clipboard; text comes with your terminal's own key for it")
	errNoReader  = errors.New("no program here gives pictures from the clipboard (wl-paste, xclip)")
	errFar       = errors.New("the clipboard is on another computer: copy the picture here as a file, and name it with @")
	errTooLarge  = fmt.Errorf("the picture in the clipboard is larger than %d MB", maxPicture>>20)
)

// output runs a program and gives at most so many bytes of what it prints.
func output(ctx context.Context, limit int, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	out := &bounded{limit: limit}
	cmd.Stdout = out
	cmd.WaitDelay = patience
	err := cmd.Run()
	return out.Bytes(), err
}

// bounded keeps the beginning of what is written to it, and one byte more.
type bounded struct {
	bytes.Buffer
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit+1 {
		return 0, errTooLarge
	}
	return b.Buffer.Write(p)
}

// picturePrograms print the picture in the clipboard.
func (c Clipboard) picturePrograms() [][]string {
	const powershell = `Add-Type -AssemblyName System.Windows.Forms; $i=[Windows.Forms.Clipboard]::GetImage(); ` +
		`if($i){$m=New-Object IO.MemoryStream; $i.Save($m,[Drawing.Imaging.ImageFormat]::Png); ` +
		`[Convert]::ToBase64String($m.ToArray())}`
	windows := []string{"powershell.exe", "-NoProfile", "-NonInteractive", "-Sta", "-Command", powershell}
	switch runtime.GOOS {
	case "darwin":
		return [][]string{{"osascript", "-e", "get the clipboard as «class PNGf»"}}
	case "windows":
		return [][]string{windows}
	}
	var ways [][]string
	if c.env("WAYLAND_DISPLAY") != "" {
		ways = append(ways, []string{"wl-paste", "--no-newline", "--type", "image/png"})
	}
	if c.env("DISPLAY") != "" {
		ways = append(ways, []string{"xclip", "-selection", "clipboard", "-t", "image/png", "-o"})
	}
	if c.env("WSL_DISTRO_NAME") != "" {
		ways = append(ways, windows)
	}
	return ways
}

// Picture writes the picture in the clipboard to a file of its own, and names that.
func (c Clipboard) Picture(ctx context.Context) (string, error) {
	if c.env("SSH_CONNECTION") != "" || c.env("SSH_TTY") != "" {
		return "", errFar
	}
	err := errNoReader
	for _, way := range c.picturePrograms() {
		if c.Find == nil || !c.Find(way[0]) {
			continue
		}
		printed, failed := output(ctx, 2*maxPicture+1024, way[0], way[1:]...)
		content := decoded(printed)
		switch {
		case len(content) > maxPicture || errors.Is(failed, errTooLarge):
			return "", errTooLarge
		case !bytes.HasPrefix(content, []byte("\x89PNG")):
			err = ErrNoPicture
		default:
			return savePicture(content)
		}
	}
	return "", err
}

// decoded is a picture as bytes: some programs print it as letters.
func decoded(printed []byte) []byte {
	text := strings.TrimSpace(string(printed[:min(len(printed), 2*maxPicture+1024)]))
	if digits, ok := strings.CutPrefix(text, "«data PNGf"); ok {
		content, err := hex.DecodeString(strings.TrimSuffix(digits, "»"))
		if err == nil {
			return content
		}
	}
	if strings.HasPrefix(text, "iVBOR") { // PNG in base64
		if content, err := base64.StdEncoding.DecodeString(text); err == nil {
			return content
		}
	}
	return printed
}

func savePicture(content []byte) (string, error) {
	file, err := os.CreateTemp("", "belay-picture-*.png")
	if err != nil {
		return "", fmt.Errorf("keep the picture: %w", err)
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("keep the picture: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return file.Name(), nil
}
