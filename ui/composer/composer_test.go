package composer

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/ui/theme"
)

func pane() *Pane {
	p := New(theme.New("dark", true, colorprofile.TrueColor))
	p.SetSize(60, 8)
	return p
}

func press(p *Pane, keys ...string) {
	for _, k := range keys {
		msg := tea.KeyPressMsg{Text: k}
		switch k {
		case "enter":
			msg = tea.KeyPressMsg{Code: tea.KeyEnter}
		case "down":
			msg = tea.KeyPressMsg{Code: tea.KeyDown}
		case "backspace":
			msg = tea.KeyPressMsg{Code: tea.KeyBackspace}
		default:
			msg.Code = []rune(k)[0]
		}
		p.Key(msg)
	}
}

func TestWhatIsSentCanBeTakenBack(t *testing.T) {
	p := pane()
	p.Type("why ")
	p.Paste(strings.Repeat("a\n", 20) + "a")
	p.Type(" then?")
	words, attached := p.Prompt()
	p.Clear()
	p.Restore(words, attached)
	again, list := p.Prompt()
	if want := "why [pasted 21 lines] then?"; again != want || len(list) != 1 || list[0] != attached[0] {
		t.Errorf("Prompt = %q with %d attachments, want %q", again, len(list), want)
	}
	p.Set(strings.Repeat("my own words\n", 30))
	if words, attached := p.Prompt(); len(attached) != 0 || strings.Count(words, "own") != 30 {
		t.Errorf("words that are too long to show: %d attachments, %.40q", len(attached), words)
	}
}

func TestPastes(t *testing.T) {
	t.Run("a short one is text", func(t *testing.T) {
		p := pane()
		p.Paste("a\nb")
		if p.Draft() != "a\nb" {
			t.Errorf("draft = %q", p.Draft())
		}
	})
	t.Run("two of the same length stay apart", func(t *testing.T) {
		p := pane()
		a, b := strings.Repeat("a\n", 20), strings.Repeat("b\n", 20)
		p.Paste(a)
		p.Type(" and ")
		p.Paste(b)
		if want := "[pasted 20 lines] and [pasted 20 lines #2]"; p.Draft() != want {
			t.Errorf("draft = %q, want %q", p.Draft(), want)
		}
		if want := strings.TrimSpace(a + " and " + b); p.Text() != want {
			t.Errorf("text = %q, want %q", p.Text(), want)
		}
	})
	t.Run("a huge one is capped and says so", func(t *testing.T) {
		p := pane()
		p.Paste(strings.Repeat("世", 1<<20))
		if !strings.Contains(p.Draft(), "the first 1 MB") || len(p.Text()) > maxPaste {
			t.Errorf("draft = %q, %d bytes", p.Draft(), len(p.Text()))
		}
	})
	t.Run("backspace takes the whole mark", func(t *testing.T) {
		p := pane()
		p.Type("x")
		p.Paste(strings.Repeat("a\n", 20))
		press(p, "backspace")
		if p.Draft() != "x" || p.Text() != "x" {
			t.Errorf("draft = %q", p.Draft())
		}
	})
	t.Run("escape sequences are not text", func(t *testing.T) {
		p := pane()
		p.Paste("a\x1b[31mb\x1b]0;t\x07")
		if p.Draft() != "ab" {
			t.Errorf("draft = %q", p.Draft())
		}
	})
}

func TestMentions(t *testing.T) {
	p := pane()
	p.SetFiles([]string{"orders/service.go", "orders/pricing.go", "README.md"})
	p.Type("see ")
	press(p, "@", "p", "r", "i")
	if !p.Popup() || !strings.Contains(ansi.Strip(strings.Join(p.View(), "\n")), "@orders/pricing.go") {
		t.Fatalf("no list: %q", p.View())
	}
	press(p, "enter")
	if p.Draft() != "see @orders/pricing.go " || p.Popup() {
		t.Errorf("draft = %q", p.Draft())
	}
	t.Run("an address is not a mention", func(t *testing.T) {
		p := pane()
		p.SetFiles([]string{"a.go"})
		p.Type("me@a")
		if p.Popup() {
			t.Error("the list is open")
		}
	})
}

func TestPictures(t *testing.T) {
	got := Pictures("look at @shot.png and (@a/b.JPG) but not me@x.png or @a.go")
	if want := []string{"shot.png", "a/b.JPG"}; !slices.Equal(got, want) {
		t.Errorf("Pictures = %q, want %q", got, want)
	}
}

func TestTheViewFitsAndTheCursorIsInIt(t *testing.T) {
	p := pane()
	p.Type(strings.Repeat("長い文 ", 60))
	lines := p.View()
	x, y, ok := p.Cursor()
	if len(lines) != p.Height() || !ok || y >= len(lines) || x > 60 {
		t.Errorf("%d lines of %d, cursor %d,%d", len(lines), p.Height(), x, y)
	}
	for _, l := range lines {
		if theme.Width(l) > 60 {
			t.Errorf("%q is %d wide", ansi.Strip(l), theme.Width(l))
		}
	}
}
