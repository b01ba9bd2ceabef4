package ui

import (
	"context"
	"slices"
	"strings"

	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// way is one of the ways to a model.
type way struct {
	key         keys.Action // its own; empty: it is chosen with the arrows alone
	title, text string
	does        func() action
}

// ways lists them: keys that are there already, in front.
func (d *setupDialog) ways() []way {
	var list []way
	for _, found := range d.setup.Found {
		models := strings.Join(slices.Compact(slices.Clone(found.Models)), locale.T(" and "))
		list = append(list, way{
			title: locale.T("Use %s", theme.Line(found.Variable)), text: theme.Line(found.Provider) + ": " + theme.Line(models),
			does: func() action { return d.useKey(found.Provider) },
		})
	}
	return append(list,
		way{
			keys.PasteKey, locale.T("Paste a key"), locale.T("for %s, or set %s and start again", theme.Line(d.setup.KeyFor), theme.Line(d.setup.KeyEnv)),
			func() action { d.show(secretPage, d.setup.SaveKey != nil); return nil },
		},
		way{
			keys.UseLocal, locale.T("Use a model on this computer"), d.localText(),
			func() action { d.show(localPage, d.setup.Local != nil); return nil },
		},
		way{
			keys.Rehearse, locale.T("Rehearse"),
			locale.T("a scripted model inside belay: everything works, no account needed"), d.rehearse,
		},
	)
}

func (d *setupDialog) wayKey(name string) action {
	list := d.ways()
	switch a := keys.SetupPage.Action(name); a {
	case keys.Up:
		d.way = max(d.way-1, 0)
	case keys.Down:
		d.way = min(d.way+1, len(list)-1)
	case keys.Accept:
		return list[d.way].does()
	case keys.Quit:
		return quit{}
	case "":
	default:
		for i, way := range list {
			if way.key == a {
				d.way = i
				return way.does()
			}
		}
	}
	return nil
}

func (d *setupDialog) useKey(provider string) action {
	use := d.setup.UseKey
	if use == nil {
		return nil
	}
	return d.run(func(ctx context.Context) setupMsg { return setupMsg{err: use(ctx, provider)} })
}

func (d *setupDialog) rehearse() action {
	rehearse := d.setup.Rehearse
	if rehearse == nil {
		return nil
	}
	return d.run(func(ctx context.Context) setupMsg {
		banner, err := rehearse(ctx)
		return setupMsg{banner: banner, err: err}
	})
}

func (d *setupDialog) waysLines(th *theme.Theme, room, rows int) []string {
	lines := []string{th.Strong.Paint(locale.T("belay needs a model to work with.")), ""}
	list := d.ways()
	brief := 2*len(list) > rows // the text of the chosen one alone
	first, end := 0, len(list)
	if brief {
		shown := max(rows-1, 1)
		first = max(0, min(d.way-shown/2, len(list)-shown))
		end = min(first+shown, len(list))
	}
	for i, way := range list[first:end] {
		chosen, label := first+i == d.way, " "
		if way.key != "" {
			label = keys.SetupPage.Label(way.key)
		}
		lines = append(lines, lead(th, chosen)+th.Key.Paint(label)+"  "+way.title)
		if brief && !chosen {
			continue
		}
		for _, l := range dimmed(th, way.text, room-5) {
			lines = append(lines, "     "+l)
		}
	}
	hint := keys.SetupPage.Hint
	return append(lines, "",
		th.Keys(hint("choose", keys.Up, keys.Down), hint("go on", keys.Accept), hint("leave", keys.Quit)))
}
