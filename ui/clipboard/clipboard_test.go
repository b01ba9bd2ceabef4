package clipboard

import (
	"context"
	"encoding/base64"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// world is a computer with some programs, of which some fail.
type world struct {
	env     map[string]string
	there   []string
	failing []string // beginnings of command lines
	ran     []string
	took    string
}

func (w *world) clipboard() Clipboard {
	return Clipboard{
		Env:  func(name string) string { return w.env[name] },
		Find: func(program string) bool { return slices.Contains(w.there, program) },
		Run: func(_ context.Context, input []byte, program string, args ...string) error {
			line := strings.Join(append([]string{program}, args...), " ")
			w.ran = append(w.ran, line)
			for _, f := range w.failing {
				if strings.HasPrefix(line, f) {
					return errors.New("exit 1")
				}
			}
			w.took = string(input)
			return nil
		},
	}
}

func TestCopiedIsSaidOfWhatIsKnown(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the programs of Linux")
	}
	wayland := map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}
	tmux := map[string]string{"TMUX": "/tmp/tmux-0/default,1,0"}
	for _, tt := range []struct {
		name     string
		world    world
		ran      []string
		text     string
		sequence bool
	}{
		{"a terminal says nothing back", world{}, nil, "sent to the terminal's clipboard", true},
		{"a program says that it has it", world{env: wayland, there: []string{"wl-copy", "xclip"}},
			[]string{"wl-copy"}, "copied", true},
		{"another one is asked when the first fails",
			world{env: wayland, there: []string{"wl-copy", "xclip"}, failing: []string{"wl-copy"}},
			[]string{"wl-copy", "xclip -selection clipboard"}, "copied", true},
		{"none has it", world{env: wayland, there: []string{"xsel"}, failing: []string{"xsel"}},
			[]string{"xsel --clipboard --input"}, "sent to the terminal's clipboard", true},
		{"tmux passes it on", world{env: tmux}, []string{"tmux load-buffer -w -"},
			"copied to tmux, sent to the terminal", false},
		{"an old tmux keeps it", world{env: tmux, failing: []string{"tmux load-buffer -w"}},
			[]string{"tmux load-buffer -w -", "tmux load-buffer -"}, "copied to tmux", true},
		{"over a network programs have another clipboard",
			world{env: map[string]string{"SSH_TTY": "/dev/pts/0", "DISPLAY": ":0"}, there: []string{"xclip"}}, nil,
			"sent to the terminal's clipboard", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.world.clipboard().Copy(t.Context(), "端数 and words")
			if got.Text() != tt.text || !slices.Equal(tt.world.ran, tt.ran) || (got.Sequence != "") != tt.sequence {
				t.Errorf("said %q, ran %q, wrote %q", got.Text(), tt.world.ran, got.Sequence)
			}
			if got.Text() != "sent to the terminal's clipboard" && tt.world.took != "端数 and words" {
				t.Errorf("a program took %q", tt.world.took)
			}
		})
	}
}

func TestScreenGetsPiecesThatItPassesOn(t *testing.T) {
	w := &world{env: map[string]string{"STY": "1.pts-0"}}
	text := strings.Repeat("a long answer ", 4000)
	sequence := w.clipboard().Copy(t.Context(), text).Sequence
	joined := ""
	for _, piece := range strings.Split(strings.TrimSuffix(sequence, "\x1b\\"), "\x1b\\") {
		inner, ok := strings.CutPrefix(piece, "\x1bP")
		if !ok || len(inner) > 256 || strings.Contains(inner[1:], "\x1b") {
			t.Fatalf("a piece of %d bytes that begins with %.20q", len(piece), piece)
		}
		joined += inner
	}
	if want := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\x07"; joined != want {
		t.Errorf("the pieces make %d bytes, want %d", len(joined), len(want))
	}
}

func TestNothingOfATextReachesTheTerminalAsItIs(t *testing.T) {
	got := Clipboard{}.Copy(t.Context(), "a\x1b]52;c;eA==\x07b\x1b[31mc\rd")
	encoded := strings.TrimSuffix(strings.TrimPrefix(got.Sequence, "\x1b]52;c;"), "\x07")
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || string(text) != "abc\nd" {
		t.Errorf("the terminal gets %q: %q, %v", got.Sequence, text, err)
	}
}

func TestWindowsReadsUTF16(t *testing.T) {
	if got, want := string(encoded("clip.exe", "é")), "\xff\xfe\xe9\x00"; got != want {
		t.Errorf("encoded %q, want %q", got, want)
	}
}
