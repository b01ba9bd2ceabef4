package ui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/modellist"
	"belay/ui/palette"
	"belay/ui/theme"
)

// ModelChoice is what the list of models works with. Functions may be nil; what they
// serve is then not offered.
type ModelChoice struct {
	// List gives all models that could be asked, as a session would meet them.
	List func(ctx context.Context, id session.ID) (modellist.View, error)
	// Keep makes a model the first of a tier for good, and says what was done.
	Keep func(ctx context.Context, tier models.Tier, target models.Target) (string, error)

	CheckKey func(ctx context.Context, provider, key string) error           // asks the endpoint once
	SaveKey  func(ctx context.Context, provider, key string) (string, error) // gives where it is kept

	CheckEndpoint func(ctx context.Context, address, key string) error           // asks it for its models once
	AddEndpoint   func(ctx context.Context, address, key string) (string, error) // gives its name
}

// modelChooser puts models into tiers, for the session in view or for good.
type modelChooser struct {
	choice  ModelChoice
	views   *sessionViews
	backend *backend
	look    *look
	now     func() time.Time
}

type (
	// modelsMsg brings the list of models: for the dialog, or for a name that was typed.
	modelsMsg struct {
		view  modellist.View
		named string
		err   error
	}
	// argumentsMsg brings what may stand behind the name of a command.
	argumentsMsg struct {
		command keys.Action
		list    []string
	}
	// addedMsg ends the adding of a key or an endpoint.
	addedMsg struct {
		provider string
		said     string
		refused  string // the key that the endpoint does not take: entered again, it is kept
		err      error
	}
)

// choose opens the list, or takes the model that is named.
func (c *modelChooser) choose(name string) action {
	if c.choice.List == nil || c.backend.engine == nil {
		return nil
	}
	if name != "" {
		return together{message{locale.T("looking for %s …", theme.Line(name))}, work{c.load(name)}}
	}
	return openDialog{&modelsDialog{modelChooser: c, pane: modellist.New(c.look.theme, c.now, c.views.tier())}}
}

func (c *modelChooser) load(name string) tea.Cmd {
	list, ctx, id := c.choice.List, c.backend.ctx, c.views.current
	return func() tea.Msg {
		view, err := list(ctx, id)
		return modelsMsg{view, name, err}
	}
}

// listNames reads the names of all models.
func (c *modelChooser) listNames() tea.Cmd {
	if c.choice.List == nil || c.backend.engine == nil {
		return nil
	}
	list, ctx, id := c.choice.List, c.backend.ctx, c.views.current
	return func() tea.Msg {
		view, err := list(ctx, id)
		if err != nil {
			return nil // calling it says why
		}
		names := make([]string, len(view.Models))
		for i, m := range view.Models {
			names[i] = theme.Line(m.Target.String())
		}
		return argumentsMsg{keys.Models, names}
	}
}

// named takes the model that was named, or shows those that may be meant.
func (c *modelChooser) named(msg modelsMsg) action {
	if msg.err != nil {
		return complaint{msg.err}
	}
	row, others, ok := msg.view.Match(msg.named)
	if ok && row.Missing == "" {
		return c.use(row.Target, c.views.tier())
	}
	d := &modelsDialog{modelChooser: c, pane: modellist.New(c.look.theme, c.now, c.views.tier())}
	d.pane.Set(msg.view)
	switch {
	case ok:
		d.pane.Find(row.Target.String())
		d.pane.Note(locale.T("there is no key for %s", theme.Line(row.Target.Provider)))
	case len(others) > 0:
		d.pane.Find(msg.named)
		d.pane.Note(locale.T("%d models are called that", len(others)))
	default:
		d.pane.Note(locale.T("no model is called %s", theme.Line(msg.named)))
	}
	return openDialog{d}
}

// use keeps the session in view at a model, or no longer.
func (c *modelChooser) use(target models.Target, tier models.Tier) action {
	var actions inSequence
	if tier != c.views.tier() {
		actions = append(actions, send{command: session.ChooseTier{Tier: tier}})
	}
	said := locale.T("%s answers in this session until you choose a tier", target)
	if target == c.views.pinnedTarget() {
		target, said = models.Target{}, locale.T("the tier %s answers again", locale.T(string(tier)))
	}
	return together{
		closeDialog{}, append(actions, send{command: session.PinTarget{Target: target}}), message{theme.Line(said)},
	}
}

// modelsDialog is the list of all models, and the way to more of them.
type modelsDialog struct {
	*modelChooser
	pane *modellist.Pane

	providers *palette.Pane // a provider is being chosen; nil: none is
	entry     *newEndpoint  // its address or key is being written; nil: none is
}

func (d *modelsDialog) list() (items, string) {
	switch {
	case d.entry != nil:
		return noItems{}, ""
	case d.providers != nil:
		return d.providers, keys.ProviderList.Press(keys.Accept)
	}
	return d.pane, keys.ModelList.Press(keys.Accept)
}

func (d *modelsDialog) setTheme(th *theme.Theme) { d.pane.SetTheme(th) }

func (d *modelsDialog) opened() tea.Cmd {
	if len(d.pane.Providers()) > 0 {
		return nil // the list is there already
	}
	return d.load("")
}

func (d *modelsDialog) update(msg tea.Msg) action {
	switch msg := msg.(type) {
	case modelsMsg:
		if msg.err != nil {
			d.pane.Note(theme.Line(msg.err.Error()))
		}
		d.pane.Set(msg.view)
	case addedMsg:
		return d.added(msg)
	}
	return nil
}

func (d *modelsDialog) key(name, text string) action {
	switch {
	case d.entry != nil:
		return d.entryKey(name, text)
	case d.providers != nil:
		return d.providerKey(name, text)
	}
	row, _ := d.pane.Chosen()
	switch d.pane.Key(name, text) {
	case modellist.Close:
		return closeDialog{}
	case modellist.Use:
		return d.use(row.Target, d.pane.Tier())
	case modellist.Keep:
		return d.keep(row.Target)
	case modellist.Add:
		d.listProviders()
	}
	return nil
}

// keep makes the model the first of the tier for good, and shows the list anew.
func (d *modelsDialog) keep(target models.Target) action {
	keep, tier, ctx := d.choice.Keep, d.pane.Tier(), d.backend.ctx
	if keep == nil {
		return nil
	}
	d.pane.Note(locale.T("writing the settings …"))
	return work{func() tea.Msg {
		said, err := keep(ctx, tier, target)
		return addedMsg{said: said, err: err}
	}}
}

// ownEndpoint stands for an address that the catalogue does not know.
const ownEndpoint = "an address of your own"

func (d *modelsDialog) listProviders() {
	if d.choice.SaveKey == nil {
		return
	}
	items := []palette.Item{{ID: "", Text: locale.T(ownEndpoint), Right: "http://…/v1"}}
	for _, p := range d.pane.Providers() {
		right := theme.Line(p.Variable)
		if p.Models > 0 {
			right = theme.Plural(p.Models, "model") + "  " + right
		}
		if p.Keyed {
			right += " ✓"
		}
		items = append(items, palette.Item{ID: p.Name, Text: theme.Line(p.Name), Right: strings.TrimSpace(right)})
	}
	d.providers = palette.Providers(d.look.theme, items)
}

func (d *modelsDialog) providerKey(name, text string) action {
	switch d.providers.Key(name, text) {
	case palette.Close:
		d.providers = nil
	case palette.Choose:
		item, _ := d.providers.Chosen()
		d.entry = &newEndpoint{provider: item.ID}
		for _, p := range d.pane.Providers() {
			if p.Name == item.ID {
				d.entry.variable = p.Variable
			}
		}
	}
	return nil
}

// added shows what came of it, and the models that can be asked now.
func (d *modelsDialog) added(msg addedMsg) action {
	if e := d.entry; e != nil {
		e.busy = false
		if msg.err != nil {
			e.problem, e.refused, e.text = msg.err.Error()+hintOf(msg.err), msg.refused, []rune(msg.refused)
			return nil
		}
		d.entry, d.providers = nil, nil
		d.pane.Find(msg.provider + "/")
	}
	if msg.err != nil {
		d.pane.Note(theme.Line(msg.err.Error() + hintOf(msg.err)))
		return nil
	}
	d.pane.Note(theme.Line(msg.said))
	d.views.refreshTiers(d.backend.engine)
	return together{message{theme.Line(msg.said)}, work{d.load("")}}
}

func (d *modelsDialog) view(f frame) box {
	switch {
	case d.entry != nil:
		return d.entryBox(f)
	case d.providers != nil:
		return paletteBox(f, d.providers)
	}
	width := min(f.width, maxListWidth)
	d.pane.SetPinned(d.views.pinnedTarget())
	lines, x, y := d.pane.View(width, f.height-2)
	return box{lines: lines, left: (f.width - width) / 2, top: 1, cursor: &tea.Position{X: x, Y: y}}
}

// maxListWidth is how wide the list of models gets: beyond it a name is far from what
// is said of it.
const maxListWidth = 120
