// Package doctor decides why models do not answer: it looks at the settings and
// the names, sends a few small requests that change one thing at a time, and
// weighs what came back.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"belay/config"
	"belay/models"
	"belay/models/catalog"
	"belay/models/diagnose"
	"belay/models/openai"
	"belay/session/sandbox"
	"belay/session/store"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
	"belay/ui/theme"
)

// Options are what is asked of the doctor.
type Options struct {
	Fallbacks bool // try every model of every tier
	JSON      bool // one JSON object a line
	Curl      bool // for each request that failed, the command that makes it again
}

// examination looks at things in order and remembers what it found.
type examination struct {
	Options
	env      app.Env
	client   *openai.Client
	catalog  *catalog.Catalog
	settings config.Settings
	findings []Finding
	history  history

	scripted bool                // a rehearsal answers
	keyless  map[string]bool     // providers whose key is missing: nothing is sent there
	names    map[string][]string // of the models that a provider lists
}

// Run examines everything and prints what it finds. The error's exit code is
// that of the verdict.
func Run(ctx context.Context, env app.Env, options app.Options, asked Options) (err error) {
	x := &examination{
		Options: asked, env: env, scripted: options.Rehearsal != "",
		keyless: map[string]bool{}, names: map[string][]string{},
	}
	x.settings, err = app.LoadSettings(ctx, options)
	if err != nil {
		x.report(Finding{Check: "settings", Text: err.Error()})
		return &exit.Error{Code: exit.Settings}
	}
	x.report(Finding{Check: "settings", OK: true, Text: settingsText(x.settings)})
	x.report(commandsFinding(x.settings.Sandbox))
	warn := func(text string) { fmt.Fprintln(env.Err, "belay: "+locale.Said(text)) }
	x.catalog = app.NewCatalog(x.settings, options, warn)
	transport, err := app.NewTransport(env, x.catalog, x.settings, options, warn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, transport.Close()) }()
	x.client = transport.Client
	if x.history, err = readHistory(ctx, env.Now()); err != nil {
		x.report(Finding{Check: "record", Text: err.Error()})
	}
	if altered := x.history.altered; len(altered) > 0 {
		x.report(alteredFinding(altered))
	}
	x.providers(ctx)
	x.targets(ctx)
	result := x.verdict()
	if err := x.printVerdict(result); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &exit.Error{Code: exit.Interrupted}
	}
	if result.code != exit.Done {
		return &exit.Error{Code: result.code}
	}
	return nil
}

// targets probes the first target of each tier, or all of them.
func (x *examination) targets(ctx context.Context) {
	tried := map[models.Target]bool{} // a model may stand in several tiers
	lists := app.TierTargets(x.settings)
	for _, tier := range models.Tiers() {
		for i, t := range lists[tier] {
			if !tried[t] && (i == 0 || x.Fallbacks) && !x.keyless[t.Provider] {
				tried[t] = true
				x.probes(ctx, tier, t)
			}
		}
	}
}

// Finding is one thing that the doctor looked at.
type Finding struct {
	Check      string        `json:"check"`
	Target     string        `json:"target,omitempty"`
	OK         bool          `json:"ok"`
	Text       string        `json:"says"`
	Fault      *models.Fault `json:"fault,omitempty"`
	Duration   time.Duration `json:"took,omitempty"`
	FirstToken time.Duration `json:"first_token,omitempty"`
	Curl       string        `json:"curl,omitempty"` // makes the request again
	probe      probeKind
	target     models.Target
	tier       models.Tier
}

func settingsText(s config.Settings) string {
	var read []string
	for _, v := range s.Values() {
		if v.Origin.Name != "" && !strings.Contains(strings.Join(read, " "), v.Origin.Name) {
			read = append(read, v.Origin.Name)
		}
	}
	if len(read) == 0 {
		return "the defaults; no file and no variable changes them"
	}
	return "from " + strings.Join(read, ", ")
}

// commandsFinding says what holds commands: those that run without a question, and
// those that somebody allowed.
func commandsFinding(settings config.Sandbox) Finding {
	grip := sandbox.Detect()
	unasked := "those that run unasked are held to reading"
	if grip == sandbox.None {
		unasked = "nothing on this system can hold them to reading, so each one asks"
	}
	if !settings.Enabled {
		return Finding{Check: "commands", Text: unasked + "; those that you allow run with nothing around them, as the " +
			"settings say: sandbox.enabled = false"}
	}
	return Finding{Check: "commands", OK: grip != sandbox.None, Text: unasked + "; " + grip.Text()}
}

// alteredFinding says that the disk has changed what was written to it.
func alteredFinding(list []store.Altered) Finding {
	return Finding{Check: "record", Text: "not as it was written, so the disk may be failing: " + store.ListAltered(list) +
		"; `belay sessions repair` looks at all and says what it can save"}
}

// report prints a finding when it is made: probes take seconds.
func (x *examination) report(finding Finding) {
	x.findings = append(x.findings, finding)
	if x.JSON {
		_ = plain.JSONLine(x.env.Out, finding) // a broken pipe shows at the verdict
		return
	}
	mark := "✓"
	if !finding.OK {
		mark = "✗"
	}
	line := fmt.Sprintf("%s %s %s", mark, theme.Fit(locale.T(finding.Check), 9),
		strings.TrimSpace(finding.Target+"  "+locale.Said(theme.Sanitize(finding.Text))))
	if finding.FirstToken > 0 {
		line += "  " + locale.T("first token %s", theme.Elapsed(finding.FirstToken))
	}
	fmt.Fprintln(x.env.Out, line)
	if finding.Curl != "" {
		fmt.Fprintln(x.env.Out, finding.Curl)
	}
}

// providers asks each endpoint for its models: one question tells whether it
// can be reached, whether the key counts, and how the names are spelled.
func (x *examination) providers(ctx context.Context) {
	seen := map[string]bool{}
	for _, tier := range models.Tiers() {
		for _, t := range app.TierTargets(x.settings)[tier] {
			if !seen[t.Provider] {
				seen[t.Provider] = true
				x.provider(ctx, t.Provider)
			}
		}
	}
}

func (x *examination) provider(ctx context.Context, name string) {
	provider, _ := x.catalog.Provider(name)
	from := provider.BaseURL
	switch {
	case x.scripted:
		from = "the script in its place"
		x.report(Finding{Check: "key", Target: name, OK: true, Text: "none is needed in a " + app.RehearsalBanner})
	case provider.Key != "" && provider.KeyEnv != "":
		x.report(Finding{Check: "key", Target: name, OK: true, Text: "found for " + provider.KeyEnv + " (not shown)"})
	case provider.KeyEnv != "" && !provider.Local:
		x.report(Finding{
			Check:  "key",
			Target: name,
			Text:   "there is none for " + provider.KeyEnv + "; nothing is sent",
			Fault:  &models.Fault{Kind: models.KindAuth, Hint: app.MissingKeyHint(provider.KeyEnv)},
		})
		x.keyless[name] = true
		return
	}
	names, err := x.client.Models(ctx, name)
	if err != nil {
		var f *models.Fault
		errors.As(err, &f)
		x.report(Finding{Check: "endpoint", Target: name, Text: plain.Describe(f), Fault: f})
		return
	}
	x.report(Finding{
		Check:  "endpoint",
		Target: name,
		OK:     true,
		Text:   fmt.Sprintf("%s answers and lists %s", from, theme.Plural(len(names), "model")),
	})
	x.names[name] = names
	spelled := map[models.Target]bool{}
	for _, tier := range models.Tiers() {
		for _, t := range app.TierTargets(x.settings)[tier] {
			if t.Provider == name && !spelled[t] {
				spelled[t] = true
				x.checkName(t, names)
			}
		}
	}
}

// checkName compares a name with what the endpoint has, character by character.
func (x *examination) checkName(target models.Target, names []string) {
	if models.Lists(names, target.Model) {
		x.report(Finding{Check: "name", Target: target.String(), OK: true, Text: "the endpoint has it"})
		return
	}
	says := "the endpoint does not list it"
	if near := models.Nearest(target.Model, names); len(near) > 0 {
		says = fmt.Sprintf("not listed; the nearest is %q: %s", near[0], diagnose.Spell(target.Model, near[0]))
	}
	x.report(Finding{
		Check:  "name",
		Target: target.String(),
		Text:   says,
		Fault:  &models.Fault{Kind: models.KindModel, Target: target},
	})
}
