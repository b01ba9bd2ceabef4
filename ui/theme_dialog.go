package ui

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/palette"
	"belay/ui/theme"
)

// themeDialog is the list of themes. The screen wears the one under the cursor; only
// enter keeps it.
type themeDialog struct {
	pane   *palette.Pane
	before string // the theme that closing goes back to
	keep   func(name string) action
}

// choose is what a typed name means, or the list without one.
func (l *look) choose(name string, keep func(name string) action) action {
	if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
		pane := palette.Themes(l.theme, l.name)
		return openDialog{&themeDialog{pane: pane, before: l.name, keep: keep}}
	}
	if !slices.ContainsFunc(theme.Names(), func(n theme.Name) bool { return n.Name == name }) {
		var names []string
		for _, known := range theme.Names() {
			names = append(names, known.Name)
		}
		return message{locale.T("there is no theme %s: %s", theme.Line(name), strings.Join(names, ", "))}
	}
	return together{wear{name}, keep(name)}
}

// keepTheme writes a choice into the settings, if there is a way, and says so.
func keepTheme(ctx context.Context, write func(ctx context.Context, name string) error) func(name string) action {
	return func(name string) action {
		if write == nil {
			return message{locale.T("theme: %s", name)}
		}
		return work{func() tea.Msg {
			if err := write(ctx, name); err != nil {
				return didMsg{err: err}
			}
			return didMsg{toast: locale.T("theme: %s, also from now on", name)}
		}}
	}
}

func (d *themeDialog) key(name, text string) action {
	switch d.pane.Key(name, text) {
	case palette.Close:
		return together{closeDialog{}, wear{d.before}}
	case palette.Choose:
		item, _ := d.pane.Chosen()
		return together{closeDialog{}, wear{item.ID}, d.keep(item.ID)}
	}
	return d.preview()
}

// preview shows the theme under the cursor.
func (d *themeDialog) preview() action {
	if item, ok := d.pane.Chosen(); ok {
		return wear{item.ID}
	}
	return nil
}

// interrupt goes back to what was, as closing does.
func (d *themeDialog) interrupt() action { return together{closeDialog{}, wear{d.before}} }

func (d *themeDialog) setTheme(th *theme.Theme) { d.pane.SetTheme(th) }

func (d *themeDialog) list() (items, string) { return d.pane, keys.ThemeList.Press(keys.Accept) }

func (d *themeDialog) view(f frame) box { return paletteBox(f, d.pane) }
