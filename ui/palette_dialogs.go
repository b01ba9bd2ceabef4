package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/ui/keys"
	"belay/ui/palette"
)

// commandDialog is the palette: every command, found by its name or its words.
type commandDialog struct{ pane *palette.Pane }

func (d commandDialog) key(name, text string) action {
	switch d.pane.Key(name, text) {
	case palette.Close:
		return closeDialog{}
	case palette.Choose:
		item, _ := d.pane.Chosen()
		if strings.HasPrefix(item.ID, "/") { // what stands behind its name is still to be written
			return together{closeDialog{}, setDraft{item.ID + " "}}
		}
		return together{closeDialog{}, command{keys.Action(item.ID), d.pane.Arguments()}}
	}
	return nil
}

func (d commandDialog) list() (items, string) { return d.pane, keys.CommandList.Press(keys.Accept) }

func (d commandDialog) view(f frame) box { return paletteBox(f, d.pane) }

// promptDialog is the list of earlier prompts.
type promptDialog struct{ pane *palette.Pane }

func (d promptDialog) key(name, text string) action {
	switch d.pane.Key(name, text) {
	case palette.Close:
		return closeDialog{}
	case palette.Choose:
		item, _ := d.pane.Chosen()
		return together{closeDialog{}, setDraft{item.ID}}
	}
	return nil
}

func (d promptDialog) list() (items, string) { return d.pane, keys.PromptList.Press(keys.Accept) }

func (d promptDialog) view(f frame) box { return paletteBox(f, d.pane) }

func paletteBox(f frame, pane *palette.Pane) box {
	width := min(f.width-4, 84)
	if f.width < 92 {
		width = f.width // slivers of text beside a box only distract
	}
	lines, x, y := pane.View(width, min(f.height-5, 20))
	return box{lines: lines, left: (f.width - width) / 2, top: 2, cursor: &tea.Position{X: x, Y: y}}
}

// helpDialog is the table of keys.
type helpDialog struct{ page palette.Help }

func (d *helpDialog) key(name, _ string) action {
	if d.page.Key(name) {
		return closeDialog{}
	}
	return nil
}

func (d *helpDialog) scroll(lines int) { d.page.Scroll(max(-1, min(lines, 1))) }

func (d *helpDialog) view(f frame) box {
	return box{lines: d.page.View(f.theme, f.width, f.height-2), top: 1}
}
