// Package clipboard decides how a text reaches the clipboards of the person who sits
// at the terminal, and how much of that is known.
package clipboard

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"runtime"
	"time"
	"unicode/utf16"

	"github.com/charmbracelet/x/ansi"

	"belay/ui/locale"
	"belay/ui/theme"
)

// Clipboard is the ways that a computer and a terminal have. The zero value knows the
// terminal's alone.
type Clipboard struct {
	Env  func(name string) string
	Find func(program string) bool // on the path
	// Run gives a program its input, and waits for its end.
	Run func(ctx context.Context, input []byte, program string, args ...string) error
}

// System is the clipboard of this computer.
func System() Clipboard {
	return Clipboard{
		Env:  os.Getenv,
		Find: func(program string) bool { _, err := exec.LookPath(program); return err == nil },
		Run: func(ctx context.Context, input []byte, program string, args ...string) error {
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Stdin = bytes.NewReader(input)
			return cmd.Run()
		},
	}
}

// Result is what became of a copy.
type Result struct {
	Saved    bool   // a program took it into the system's clipboard
	Buffered bool   // tmux took it
	Passed   bool   // tmux passes it on to the terminal
	Sequence string // to be written to the terminal, which says nothing back
	Large    bool   // larger than all terminals take
}

// maxSequence is how many bytes every terminal that takes copies takes at once, before
// they are encoded.
const maxSequence = 74_000

// screenPiece is how long a string may be that GNU screen passes on, with room for what
// surrounds it; a longer one is shown on the screen by it.
const screenPiece = 240

// patience is for how long a program is waited for.
const patience = 3 * time.Second

// Copy gives the text to the programs that take one. Escape sequences and what else
// belongs to no text is taken out of it.
func (c Clipboard) Copy(ctx context.Context, text string) Result {
	text = theme.Sanitize(text)
	result := Result{Large: len(text) > maxSequence}
	if c.env("TMUX") != "" && c.Run != nil {
		result.Passed = c.run(ctx, []byte(text), "tmux", "load-buffer", "-w", "-")
		result.Buffered = result.Passed || c.run(ctx, []byte(text), "tmux", "load-buffer", "-")
	}
	for _, way := range c.ways() {
		if c.Find(way[0]) && c.run(ctx, encoded(way[0], text), way[0], way[1:]...) {
			result.Saved = true
			break
		}
	}
	if !result.Passed && !(result.Saved && result.Large) {
		result.Sequence = ansi.SetSystemClipboard(text)
		if c.env("STY") != "" {
			result.Sequence = ansi.ScreenPassthrough(result.Sequence, screenPiece)
		}
	}
	return result
}

func (c Clipboard) env(name string) string {
	if c.Env == nil {
		return ""
	}
	return c.Env(name)
}

func (c Clipboard) run(ctx context.Context, input []byte, program string, args ...string) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.Run(ctx, input, program, args...) == nil
}

// ways are the programs that have the system's clipboard. Over a network they would
// have that of another computer.
func (c Clipboard) ways() [][]string {
	if c.Run == nil || c.Find == nil || c.env("SSH_CONNECTION") != "" || c.env("SSH_TTY") != "" {
		return nil
	}
	var ways [][]string
	switch runtime.GOOS {
	case "darwin":
		return [][]string{{"pbcopy"}}
	case "windows":
		return [][]string{{"clip.exe"}}
	}
	if c.env("WAYLAND_DISPLAY") != "" {
		ways = append(ways, []string{"wl-copy"})
	}
	if c.env("DISPLAY") != "" {
		ways = append(ways, []string{"xclip", "-selection", "clipboard"}, []string{"xsel", "--clipboard", "--input"})
	}
	if c.env("WSL_DISTRO_NAME") != "" {
		ways = append(ways, []string{"clip.exe"})
	}
	if c.env("TERMUX_VERSION") != "" {
		ways = append(ways, []string{"termux-clipboard-set"})
	}
	return ways
}

// encoded is the text as a program reads it: that of Windows takes UTF-8 for the code
// page of the country.
func encoded(program, text string) []byte {
	if program != "clip.exe" {
		return []byte(text)
	}
	out := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return out
}

// Text says what became of a copy: copied is only what somebody has confirmed.
func (r Result) Text() string {
	switch {
	case r.Saved && r.Buffered:
		return locale.T("copied, also to tmux")
	case r.Saved:
		return locale.T("copied")
	case r.Passed:
		return locale.T("copied to tmux, sent to the terminal")
	case r.Buffered:
		return locale.T("copied to tmux")
	case r.Large:
		return locale.T("sent to the terminal; many take 75 kB at most")
	}
	return locale.T("sent to the terminal's clipboard")
}
