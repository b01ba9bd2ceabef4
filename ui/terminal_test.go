package ui

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

var update = flag.Bool("update", false, "write the goldens anew")

func TestMain(m *testing.M) {
	time.Local = time.UTC // goldens show times of day
	// The first use of signals starts a goroutine that must not belong to a bubble.
	signal.Notify(make(chan os.Signal, 1), hangup...)
	os.Exit(m.Run())
}

// screen is the real program in a terminal emulator. Nothing sleeps: waiting
// means looking again whenever the program has written.
type screen struct {
	t    *testing.T
	mu   sync.Mutex
	cond *sync.Cond
	emu  *vt.Emulator
	raw  bytes.Buffer
	keys *io.PipeWriter
	done chan error
	end  context.CancelFunc
	p    *tea.Program
	over bool
}

func startScreen(t *testing.T, w, h int, o Options) *screen {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &screen{t: t, emu: vt.NewEmulator(w, h), done: make(chan error, 1), end: cancel}
	s.cond = sync.NewCond(&s.mu)
	// Without this the program would not learn that output may be synchronised,
	// and half a frame could be seen.
	s.emu.RegisterCsiHandler(ansi.Command('?', '$', 'p'), func(params ansi.Params) bool {
		mode, _, _ := params.Param(0, 0)
		go func() {
			_, _ = io.WriteString(s.emu.InputPipe(), ansi.ReportMode(ansi.DECMode(mode), ansi.ModeNotRecognized))
		}()
		return true
	})
	in, keys := io.Pipe()
	s.keys = keys
	go func() { _, _ = io.Copy(keys, s.emu) }() // replies of the terminal
	started := make(chan struct{})
	go func() {
		s.done <- runWith(ctx, o, func(p *tea.Program) { s.p = p; close(started) },
			tea.WithInput(in), tea.WithOutput(s), tea.WithWindowSize(w, h), tea.WithFPS(120),
			tea.WithColorProfile(colorprofile.TrueColor), tea.WithEnvironment([]string{"TERM=xterm-256color"}),
			tea.WithoutSignals())
	}()
	<-started
	t.Cleanup(s.close)
	return s
}

func (s *screen) close() {
	if s.over {
		return
	}
	s.over = true
	s.end()
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
		s.t.Error("the program does not end")
	}
	if c, ok := s.emu.InputPipe().(io.Closer); ok {
		_ = c.Close()
	}
	_ = s.keys.Close()
}

// Write takes the program's output. Its newlines are bare: there is no
// terminal driver between.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(b)
	_, err := s.emu.Write(bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")))
	s.cond.Broadcast()
	return len(b), err
}

func (s *screen) text() string {
	var b strings.Builder
	for y := range s.emu.Height() {
		var line strings.Builder
		for x := 0; x < s.emu.Width(); {
			c := s.emu.CellAt(x, y)
			if c == nil || c.Content == "" {
				line.WriteByte(' ')
				x++
				continue
			}
			line.WriteString(c.Content)
			x += max(c.Width, 1)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// seen is what is on the screen.
func (s *screen) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text()
}

// resize gives the terminal another size, and tells the program.
func (s *screen) resize(w, h int) {
	s.mu.Lock()
	s.emu.Resize(w, h)
	s.mu.Unlock()
	s.p.Send(tea.WindowSizeMsg{Width: w, Height: h})
}

// waitFor blocks until the screen fulfils a condition.
func (s *screen) waitFor(what string, ok func(text string) bool) string {
	s.t.Helper()
	expired := false
	timer := time.AfterFunc(20*time.Second, func() {
		s.mu.Lock()
		expired = true
		s.cond.Broadcast()
		s.mu.Unlock()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		text := s.text()
		if ok(text) {
			return text
		}
		if expired {
			s.t.Fatalf("the screen never showed %s:\n%s", what, text)
		}
		s.cond.Wait()
	}
}

func (s *screen) wait(words ...string) string {
	s.t.Helper()
	return s.waitFor(strings.Join(words, " and "), func(text string) bool {
		for _, w := range words {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
}

func (s *screen) gone(words string) string {
	s.t.Helper()
	return s.waitFor("no "+words, func(text string) bool { return !strings.Contains(text, words) })
}

func (s *screen) press(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		if seq, ok := sequences[k]; ok {
			k = seq
		}
		if _, err := io.WriteString(s.keys, k); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *screen) paste(text string) {
	s.press(ansi.BracketedPasteStart + text + ansi.BracketedPasteEnd)
}

func (s *screen) wrote(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wroteLocked(part)
}

// wroteLocked is wrote for what waitFor calls.
func (s *screen) wroteLocked(part string) bool { return bytes.Contains(s.raw.Bytes(), []byte(part)) }

var sequences = map[string]string{
	"enter": "\r", "esc": "\x1b", "tab": "\t", "up": "\x1b[A", "down": "\x1b[B",
	"F2": "\x1bOQ", "F3": "\x1bOR", "F4": "\x1bOS", "F5": "\x1b[15~", "F6": "\x1b[17~", "F7": "\x1b[18~",
	"F8": "\x1b[19~", "F9": "\x1b[20~", "F10": "\x1b[21~",
	"ctrl+c": "\x03", "ctrl+f": "\x06", "ctrl+n": "\x0e", "ctrl+o": "\x0f", "ctrl+p": "\x10", "ctrl+r": "\x12",
	"ctrl+s": "\x13",
	"ctrl+t": "\x14", "ctrl+x": "\x18", "ctrl+y": "\x19", "alt+enter": "\x1b\r", "shift+tab": "\x1b[Z",
	"pgup": "\x1b[5~", "pgdn": "\x1b[6~", "home": "\x1b[H", "end": "\x1b[F", "backspace": "\x7f",
	"alt+left": "\x1b[1;3D", "alt+right": "\x1b[1;3C", "blur": "\x1b[O", "focus": "\x1b[I",
}
