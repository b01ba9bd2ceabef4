package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"belay/config"
	"belay/models"
	"belay/models/catalog"
	"belay/models/diagnose"
	"belay/models/openai"
	"belay/ui/plain"
	"belay/ui/theme"
)

// largeProbe is how many bytes the larger request carries: some 16,000 tokens,
// enough to tell a busy model from one that refuses size, at little cost.
const largeProbe = 56 << 10

func (d Deps) doctor(g *global) *cobra.Command {
	var o checkup
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why models do not answer",
		Long: `Looks at the settings, the names, the endpoint and the key, then sends a few
small requests that change one thing at a time: short and whole, short and
streamed, with a tool, with a larger input, on each tier. It ends with a verdict,
the evidence for it and the next move. With --fallbacks every model of every
tier is tried, with a tool and with structured output.

Exit codes: 0 all is well · 69 endpoint · 75 capacity or limits · 77 account ·
78 settings or names · 1 anything else`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := d.choice(*g, "doctor")
			if err != nil {
				return err
			}
			return d.examine(cmd.Context(), c, o)
		},
	}
	c.Flags().BoolVar(&o.fallbacks, "fallbacks", false, "try every model of every tier")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object a line")
	c.Flags().BoolVar(&o.curl, "curl", false, "for each request that failed, the curl command that makes it again")
	c.Flags().StringVar(&g.rehearsal, "rehearsal", "", "a `SCRIPT` that answers in place of the models; built-in for belay's own")
	c.Flags().BoolVar(&g.trust, "trust", false, "trust this folder: read its .belay.toml")
	return c
}

// checkup is what the command line asks of the doctor.
type checkup struct{ fallbacks, json, curl bool }

// Finding is one thing that the doctor looked at.
type Finding struct {
	Check  string        `json:"check"`
	Target string        `json:"target,omitempty"`
	OK     bool          `json:"ok"`
	Says   string        `json:"says"`
	Fault  *models.Fault `json:"fault,omitempty"`
	Took   time.Duration `json:"took,omitempty"`
	First  time.Duration `json:"first_token,omitempty"`
	Curl   string        `json:"curl,omitempty"` // makes the request again
	probe  probeKind
	target models.Target
	tier   models.Tier
}

// doctor looks at things in order and remembers what it found.
type doctor struct {
	checkup
	d      Deps
	client *openai.Client
	known  *catalog.Catalog
	set    config.Settings
	found  []Finding
	record evidence

	scripted bool            // a rehearsal answers
	keyless  map[string]bool // providers whose key is missing: nothing is sent there
}

func (d Deps) examine(ctx context.Context, c Choice, o checkup) (err error) {
	x := &doctor{d: d, checkup: o, scripted: c.Rehearsal != "", keyless: map[string]bool{}}
	settings, err := load(ctx, c)
	if err != nil {
		x.tell(Finding{Check: "settings", Says: err.Error()})
		return &toldError{exitSettings}
	}
	x.set = settings
	x.tell(Finding{Check: "settings", OK: true, Says: settingsWords(settings)})
	x.known = catalog.New(catalogOptions(settings, c.Rehearsal == ""))
	w, err := d.wire(x.known, settings, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	x.client = w.client
	if x.record, err = gather(ctx, d.Now()); err != nil {
		x.tell(Finding{Check: "record", Says: err.Error()})
	}
	x.providers(ctx)
	tried := map[models.Target]bool{} // a model may stand in several tiers
	for _, tier := range models.Tiers() {
		for i, t := range tiers(settings)[tier] {
			if !tried[t] && (i == 0 || o.fallbacks) && !x.keyless[t.Provider] {
				tried[t] = true
				x.probes(ctx, tier, t, o.fallbacks)
			}
		}
	}
	v := x.verdict()
	if err := x.conclude(v); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &toldError{exitInterrupted}
	}
	if v.code != exitDone {
		return &toldError{v.code}
	}
	return nil
}

func settingsWords(s config.Settings) string {
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

// tell prints a finding when it is made: probes take seconds.
func (x *doctor) tell(f Finding) {
	x.found = append(x.found, f)
	if x.json {
		_ = writeJSON(x.d.Out, f) // a broken pipe shows at the verdict
		return
	}
	mark := "✓"
	if !f.OK {
		mark = "✗"
	}
	line := fmt.Sprintf("%s %-9s %s", mark, f.Check, strings.TrimSpace(f.Target+"  "+theme.Sanitize(f.Says)))
	if f.First > 0 {
		line += fmt.Sprintf("  first token %s", theme.Elapsed(f.First))
	}
	fmt.Fprintln(x.d.Out, line)
	if f.Curl != "" {
		fmt.Fprintln(x.d.Out, f.Curl)
	}
}

// providers asks each endpoint for its models: one question tells whether it
// can be reached, whether the key counts, and how the names are spelled.
func (x *doctor) providers(ctx context.Context) {
	seen := map[string]bool{}
	for _, tier := range models.Tiers() {
		for _, t := range tiers(x.set)[tier] {
			if !seen[t.Provider] {
				seen[t.Provider] = true
				x.provider(ctx, t.Provider)
			}
		}
	}
}

func (x *doctor) provider(ctx context.Context, name string) {
	p, _ := x.known.Provider(name)
	from := p.BaseURL
	switch {
	case x.scripted:
		from = "the script in its place"
		x.tell(Finding{Check: "key", Target: name, OK: true, Says: "none is needed in a " + RehearsalBanner})
	case p.Key != "" && p.KeyEnv != "":
		x.tell(Finding{Check: "key", Target: name, OK: true, Says: "found for " + p.KeyEnv + " (not shown)"})
	case p.KeyEnv != "" && !p.Local:
		x.tell(Finding{Check: "key", Target: name, Says: "there is none for " + p.KeyEnv + "; nothing is sent", Fault: &models.Fault{Kind: models.KindAuth, Hint: setKey(p.KeyEnv)}})
		x.keyless[name] = true
		return
	}
	names, err := x.client.Models(ctx, name)
	if err != nil {
		var f *models.Fault
		errors.As(err, &f)
		x.tell(Finding{Check: "endpoint", Target: name, Says: plain.Describe(f), Fault: f})
		return
	}
	x.tell(Finding{Check: "endpoint", Target: name, OK: true, Says: fmt.Sprintf("%s answers and lists %s", from, theme.Plural(len(names), "model"))})
	spelled := map[models.Target]bool{}
	for _, tier := range models.Tiers() {
		for _, t := range tiers(x.set)[tier] {
			if t.Provider == name && !spelled[t] {
				spelled[t] = true
				x.spell(t, names)
			}
		}
	}
}

// spell compares a name with what the endpoint has, character by character.
func (x *doctor) spell(t models.Target, names []string) {
	for _, n := range names {
		if n == t.Model {
			x.tell(Finding{Check: "name", Target: t.String(), OK: true, Says: "the endpoint has it"})
			return
		}
	}
	says := "the endpoint does not list it"
	if near := models.Nearest(t.Model, names); len(near) > 0 {
		says = fmt.Sprintf("not listed; the nearest is %q: %s", near[0], diagnose.Spell(t.Model, near[0]))
	}
	x.tell(Finding{Check: "name", Target: t.String(), Says: says, Fault: &models.Fault{Kind: models.KindModel, Target: t}})
}
