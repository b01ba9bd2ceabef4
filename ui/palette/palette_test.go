package palette

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"belay/ui/keys"
	"belay/ui/theme"
)

var colours = theme.New("dark", true, colorprofile.TrueColor)

func write(p *Pane, s string) {
	for _, k := range strings.Split(s, "") {
		p.Key(k, k)
	}
}

func TestWholeWordsComeFirst(t *testing.T) {
	p := Commands(colours)
	write(p, "sess")
	if it, ok := p.Chosen(); !ok || it.ID != string(keys.Sessions) {
		t.Errorf("chosen = %v, want sessions", it)
	}
	write(p, "zzz")
	if p.Key("enter", "") != Nothing {
		t.Error("enter chose something out of nothing")
	}
}

func TestPromptsAreNewestFirstAndOnce(t *testing.T) {
	p := Prompts(colours, []string{"a", "b\nmore", "a"})
	if len(p.all) != 2 || p.all[0].ID != "a" || p.all[1].Text != "b more" {
		t.Errorf("items = %v", p.all)
	}
}

func TestHelpHasEveryKey(t *testing.T) {
	var h Help
	all := ""
	for range 10 {
		all += ansi.Strip(strings.Join(h.View(colours, 80, 20), "\n"))
		h.Key("pgdown")
	}
	for _, b := range keys.Table {
		if b.Show != "" && !strings.Contains(all, b.Shown()) {
			t.Errorf("%s (%s) is not in the help", b.Action, b.Show)
		}
	}
}

func TestWhatStandsBehindANameReachesTheCommand(t *testing.T) {
	for _, tt := range []struct {
		query string
		want  keys.Action
		rest  string
	}{
		{"compact", keys.Compact, ""}, {"compact the API", keys.Compact, "the API"}, {"hand over port the tests",
			keys.Handoff, "port the tests"},
		{"pin use tabs", keys.PinNote, "use tabs"}, {"trim", keys.Trim, ""}, {"model", keys.Models, ""}, {"help",
			keys.Help, ""},
	} {
		p := Commands(colours)
		write(p, tt.query)
		if it, ok := p.Chosen(); !ok || it.ID != string(tt.want) || p.Arguments() != tt.rest {
			t.Errorf("%q chooses %q with %q, want %q with %q", tt.query, it.ID, p.Arguments(), tt.want, tt.rest)
		}
	}
	t.Run("the beginning of a name comes first", func(t *testing.T) {
		p := Commands(colours)
		write(p, "rew")
		if it, ok := p.Chosen(); !ok || it.ID != string(keys.Rewind) {
			t.Errorf("chosen = %v, want rewind", it)
		}
	})
	t.Run("earlier prompts are only found", func(t *testing.T) {
		p := Prompts(colours, []string{"keep use tabs"})
		write(p, "keep use tabs")
		if it, ok := p.Chosen(); !ok || it.ID != "keep use tabs" || p.Arguments() != "" {
			t.Errorf("chosen = %v, %q", it, p.Arguments())
		}
	})
}
