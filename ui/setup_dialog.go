package ui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// setupDialog is the screen of the first start: the question of trust, then the
// three ways to a model.
type setupDialog struct {
	ctx   context.Context
	setup *Setup
	page  setupPage

	way       int     // the chosen way to a model
	distrust  bool    // the chosen answer to the question of trust
	secret    []rune  // the key that is being pasted
	refused   string  // the key that the endpoint has refused: entered again, it is kept
	endpoints []Local // found on this computer
	at        int     // the chosen one
	tiers     localTiers
	looking   bool
	busy      bool // what was chosen is being done
	problem   string
}

// setupPage is what of the setup is in view.
type setupPage int

const (
	waysPage setupPage = iota
	trustPage
	secretPage
	localPage
	tiersPage
)

// setupMsg ends a step of the setup; localMsg brings the endpoints found.
type (
	setupMsg struct {
		trust  bool
		toast  string
		banner string
		key    string // that was refused
		err    error
	}
	localMsg struct {
		found []Local
		err   error
	}
)

func newSetupDialog(ctx context.Context, setup *Setup) *setupDialog {
	d := &setupDialog{ctx: ctx, setup: setup}
	if setup.Trust != "" {
		d.page, d.distrust = trustPage, true // enter alone gives nothing away
	}
	return d
}

func (d *setupDialog) opened() tea.Cmd { return d.search() }

// search looks for endpoints on this computer, so that the list is there when
// it is asked for.
func (d *setupDialog) search() tea.Cmd {
	if d.setup.Local == nil || !d.setup.Key {
		return nil
	}
	d.looking = true
	ctx, local := d.ctx, d.setup.Local
	return func() tea.Msg {
		found, err := local(ctx)
		return localMsg{found, err}
	}
}

func (d *setupDialog) update(msg tea.Msg) action {
	switch msg := msg.(type) {
	case localMsg:
		d.endpoints, d.looking = msg.found, false
		if msg.err != nil {
			d.problem = msg.err.Error()
		}
	case setupMsg:
		return d.done(msg)
	}
	return nil
}

// done goes on after a step: with the next question, or with a new attempt to
// open everything.
func (d *setupDialog) done(msg setupMsg) action {
	d.busy = false
	d.refused = msg.key
	if d.refused != "" {
		d.secret = []rune(d.refused)
	}
	if msg.err != nil {
		d.problem = msg.err.Error() + hintOf(msg.err)
		return nil
	}
	if msg.trust {
		d.page = waysPage
		if d.setup.Key {
			return nil
		}
	}
	d.busy = true
	return reconnect{msg.banner, msg.toast}
}

// run carries a step of the setup out.
func (d *setupDialog) run(step func(ctx context.Context) setupMsg) action {
	d.busy, d.problem = true, ""
	ctx := d.ctx
	return work{func() tea.Msg { return step(ctx) }}
}

func (d *setupDialog) interrupt() action { return command{name: keys.Quit} }

func (d *setupDialog) key(name, text string) action {
	if d.busy {
		return nil
	}
	switch d.page {
	case trustPage:
		return d.trustKey(name)
	case secretPage:
		return d.secretKey(name, text)
	case localPage:
		return d.localKey(name)
	case tiersPage:
		return d.tiersKey(name)
	}
	return d.wayKey(name)
}

func (d *setupDialog) show(page setupPage, usable bool) {
	if usable {
		d.page, d.problem = page, ""
	}
}

func (d *setupDialog) trustKey(name string) action {
	answer, trusted := d.setup.Answer, false
	switch keys.TrustQuestion.Action(name) {
	case keys.Trust:
		trusted = true
	case keys.Distrust:
	case keys.Up, keys.Down:
		d.distrust = !d.distrust
		return nil
	case keys.Accept:
		trusted = !d.distrust
	default:
		return nil
	}
	if answer == nil {
		return nil
	}
	return d.run(func(ctx context.Context) setupMsg { return setupMsg{trust: true, err: answer(ctx, trusted)} })
}

func (d *setupDialog) secretKey(name, text string) action {
	switch keys.SecretEntry.Action(name) {
	case keys.Close:
		d.page, d.secret = waysPage, nil
	case keys.DeleteBack:
		d.secret = d.secret[:max(len(d.secret)-1, 0)]
	case keys.ClearLine:
		d.secret = nil
	case keys.Accept:
		key, save, check := strings.TrimSpace(string(d.secret)), d.setup.SaveKey, d.setup.CheckKey
		if key == "" {
			return nil
		}
		if key == d.refused { // the person knows better
			check = nil
		}
		d.secret = nil
		return d.run(func(ctx context.Context) setupMsg {
			if check != nil {
				if err := check(ctx, key); err != nil {
					return setupMsg{key: key, err: err}
				}
			}
			where, err := save(ctx, key)
			return setupMsg{toast: locale.T("the key is kept in %s", locale.T(where)), err: err}
		})
	default:
		d.secret = append(d.secret, []rune(theme.Line(text))...)
	}
	return nil
}

func (d *setupDialog) localKey(name string) action {
	switch keys.LocalModels.Action(name) {
	case keys.Close:
		d.page = waysPage
	case keys.Up:
		d.at = max(d.at-1, 0)
	case keys.Down:
		d.at = min(d.at+1, max(len(d.endpoints)-1, 0))
	case keys.LookAgain:
		return work{d.search()}
	case keys.Accept:
		if d.at < len(d.endpoints) && d.setup.Use != nil {
			return d.chooseLocal(d.endpoints[d.at])
		}
	}
	return nil
}

func (d *setupDialog) view(f frame) box {
	th, room := f.theme, min(f.width-8, 76)
	var lines []string
	switch d.page {
	case trustPage:
		lines = d.trustLines(th, room)
	case secretPage:
		lines = d.secretLines(th, room)
	case localPage:
		lines = d.localLines(th, room)
	case tiersPage:
		lines = d.tiersLines(th, room, f.height-7)
	default:
		lines = d.waysLines(th, room, f.height-8)
	}
	if d.problem != "" {
		lines = append(lines, "")
		for _, l := range theme.Wrap("✗ "+locale.Said(theme.Plain(d.problem)), room) {
			lines = append(lines, th.Bad.Paint(l))
		}
	}
	if d.busy {
		lines = append(lines, "", th.Dim.Paint(locale.T("one moment …")))
	}
	return box{lines: lines, page: true}
}

// dimmed is prose in secondary colour.
func dimmed(th *theme.Theme, text string, width int) []string {
	lines := theme.Wrap(text, width)
	for i, l := range lines {
		lines[i] = th.Dim.Paint(l)
	}
	return lines
}

func (d *setupDialog) trustLines(th *theme.Theme, room int) []string {
	hint := keys.TrustQuestion.Hint
	lines := []string{
		th.Strong.Paint(locale.T("Do you trust this folder?")), "", theme.CutLeft(theme.Visible(d.setup.Trust), room), "",
	}
	lines = append(lines, dimmed(th, locale.T("If you do, its settings (.belay.toml) and its instructions for agents "+
		"(AGENTS.md) are read. If you do not, belay works here without them. You are asked once."), room)...)
	for i, answer := range []struct {
		key  keys.Action
		text string
	}{{keys.Trust, "trust it"}, {keys.Distrust, "work without"}} {
		if i == 0 {
			lines = append(lines, "")
		}
		lines = append(lines, lead(th, d.distrust == (i == 1))+th.Keys(hint(answer.text, answer.key)))
	}
	return append(lines, "", th.Keys(hint("choose", keys.Up, keys.Down), hint("answer", keys.Accept)))
}

func (d *setupDialog) secretLines(th *theme.Theme, room int) []string {
	hint := keys.SecretEntry.Hint
	shown := strings.Repeat("•", min(len(d.secret), room-4))
	lines := []string{
		th.Strong.Paint(locale.T("Paste your %s key", theme.Line(d.setup.KeyFor))), "",
		th.Accent.Paint("› ") + shown + th.Accent.Paint("▏"), "",
	}
	lines = append(lines, dimmed(th, locale.T("It is kept in the system's keyring, or in a file that only you can read. "+
		"It is never shown and never logged."), room)...)
	keep := "keep it"
	if d.refused != "" {
		keep = "keep it all the same"
	}
	return append(lines, "", th.Keys(hint(keep, keys.Accept), hint("back", keys.Close)))
}

func (d *setupDialog) localLines(th *theme.Theme, room int) []string {
	hint := keys.LocalModels.Hint
	lines := []string{th.Strong.Paint(locale.T("Models on this computer")), ""}
	if len(d.endpoints) == 0 {
		lines = append(lines, th.Dim.Paint(d.localText()))
	}
	for i, l := range d.endpoints {
		head := fmt.Sprintf("%s  %s", theme.Line(l.Name), th.Dim.Paint(theme.Line(l.URL)))
		models := theme.Cut(theme.Line(strings.Join(l.Models, ", ")), room-2)
		lines = append(lines, lead(th, i == d.at)+theme.Cut(head, room-2), "  "+th.Dim.Paint(models))
	}
	use, again, back := hint("use it", keys.Accept), hint("look again", keys.LookAgain), hint("back", keys.Close)
	return append(lines, "", th.Keys(use, again, back))
}

// localText says in a sentence which endpoints were found.
func (d *setupDialog) localText() string {
	switch {
	case d.looking:
		return locale.T("looking on the usual ports …")
	case len(d.endpoints) == 0:
		return locale.T("none answers on the usual ports (Ollama, llama.cpp, LM Studio, vLLM)")
	}
	var names []string
	for _, l := range d.endpoints {
		names = append(names, locale.T("%s with %s", theme.Line(l.Name), theme.Plural(len(l.Models), "model")))
	}
	return strings.Join(names, ", ")
}

// lead marks what is chosen.
func lead(th *theme.Theme, chosen bool) string {
	if chosen {
		return th.Accent.Paint("❯ ")
	}
	return "  "
}
