package cli

import (
	"fmt"
	"slices"
	"strings"

	"belay/models"
	"belay/ui/theme"
)

// evidence is what the record of past attempts says.
type evidence struct {
	Attempts  int      // in the last seven days
	Alone     float64  // share of capacity failures while one request ran
	Together  float64  // and while several of ours ran at the same provider
	Several   int      // attempts of the second sort
	Hours     []string // in which failures cluster, such as "Mo 14:00"
	SizeFrom  int64    // input tokens from which failures rise; 0: they do not
	SizeBelow float64  // failure share below it
	SizeAbove float64  // and above
}

// verdict is what the findings come to.
type verdict struct {
	Class    string   `json:"class"`
	Says     string   `json:"says"`
	Evidence []string `json:"evidence,omitempty"`
	Next     []string `json:"next,omitempty"`
	code     int
}

// verdict weighs the findings. The order matters: what would explain all the
// rest comes first, and a busy model is never answered with advice about the
// network.
func (x *doctor) verdict() verdict {
	for _, judge := range []func() (verdict, bool){x.account, x.unreachable, x.wrongName, x.limits, x.capacity, x.shape, x.size, x.other, x.past} {
		if v, ok := judge(); ok {
			return v
		}
	}
	return verdict{Class: "well", Says: "every probe was answered", Next: x.fallbackAdvice()}
}

// faults lists the findings whose failures point at the same cause.
func (x *doctor) faults(cause models.Cause) []Finding {
	var list []Finding
	for _, f := range x.found {
		if f.Fault != nil && f.Fault.Kind.Policy().Cause == cause {
			list = append(list, f)
		}
	}
	return list
}

func quote(list []Finding) []string {
	var lines []string
	for _, f := range list {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s: %s", f.Check, f.Target, theme.Line(f.Says))))
	}
	return lines
}

func (x *doctor) account() (verdict, bool) {
	list := x.faults(models.CauseAccount)
	if len(list) == 0 {
		return verdict{}, false
	}
	next := "check the key: copy it again, and see that it belongs to this endpoint"
	if hint := list[0].Fault.Hint; hint != "" {
		next = hint
	}
	return verdict{Class: "account", Says: "the key is missing or refused", Evidence: quote(list), Next: []string{next}, code: exitAccount}, true
}

func (x *doctor) unreachable() (verdict, bool) {
	if list := x.faults(models.CauseProxy); len(list) > 0 {
		return verdict{Class: "proxy", Says: "something else answers in the endpoint's place: a proxy, a gateway or a login page", Evidence: quote(list),
			Next: []string{"check base_url in the settings and the log of the proxy", "try without the proxy: HTTPS_PROXY= belay doctor"}, code: exitUnreachable}, true
	}
	list := x.faults(models.CauseEndpoint)
	if len(list) == 0 {
		return verdict{}, false
	}
	return verdict{Class: "endpoint", Says: "the endpoint cannot be reached; no model is to blame", Evidence: quote(list),
		Next: []string{"check the connection and base_url", "for a local endpoint: is it running?"}, code: exitUnreachable}, true
}

func (x *doctor) wrongName() (verdict, bool) {
	list := x.faults(models.CauseName)
	if len(list) == 0 || x.answered() > 0 && !x.failedProbe(models.KindModel) {
		return verdict{}, false // an endpoint may serve what it does not list
	}
	return verdict{Class: "name", Says: "the endpoint does not know a name of the settings", Evidence: quote(list),
		Next: []string{"correct it in [tiers]; belay never replaces a name by itself"}, code: exitSettings}, true
}

func (x *doctor) limits() (verdict, bool) {
	if list := x.faults(models.CauseBilling); len(list) > 0 {
		return verdict{Class: "billing", Says: "the plan or its balance does not allow this", Evidence: quote(list), Next: []string{"see plan and billing of the account"}, code: exitAccount}, true
	}
	list := x.faults(models.CauseLimit)
	if len(list) == 0 {
		return verdict{}, false
	}
	return verdict{Class: "limit", Says: "your own limit at the provider is reached", Evidence: quote(list),
		Next: []string{"wait until it clears; belay waits exactly as long as the server says", "fewer requests at once: [providers.…] concurrency"}, code: exitCapacity}, true
}

func (x *doctor) capacity() (verdict, bool) {
	list := x.faults(models.CauseCapacity)
	if len(list) == 0 {
		return verdict{}, false
	}
	v := verdict{Class: "capacity", Evidence: quote(list), code: exitCapacity}
	short := slices.ContainsFunc(list, func(f Finding) bool { return f.probe == probeShort })
	switch {
	case !short:
		v.Class, v.Says = "size", "short requests pass and heavier ones find no room: the size of the request matters"
		v.Next = []string{"send less: a smaller folder, fewer files, a lower [context] budget", "or another tier meanwhile"}
	case x.answered() > 0:
		v.Says = "this model has no room just now; others answer"
		v.Next = []string{"let belay switch ([switch] policy = \"auto\"), or press the key of another tier", "try again later: belay parks and resumes by itself"}
	default:
		v.Says = "no model of any tier has room; when all fail alike, the settings or a proxy may be the cause as well"
		v.Next = []string{"compare base_url and the key with what the provider says", "if they are right, it is an outage: park, or add a model of another provider"}
	}
	return v, true
}

// shape is about replies that come but not as they should.
func (x *doctor) shape() (verdict, bool) {
	ok := func(k probeKind, target models.Target) bool {
		return slices.ContainsFunc(x.found, func(f Finding) bool { return f.OK && f.probe == k && f.target == target })
	}
	for _, f := range x.found {
		switch {
		case f.OK || f.probe == "":
		case f.probe == probeStream && ok(probeShort, f.target):
			return verdict{Class: "stream", Says: "whole replies come and streams do not: something on the way holds or cuts them", Evidence: quote([]Finding{f}),
				Next: []string{"a proxy must pass text/event-stream on without buffering"}, code: exitUnreachable}, true
		case f.probe == probeTool && ok(probeStream, f.target), f.probe == probeJSON && ok(probeStream, f.target):
			return verdict{Class: "ability", Says: f.Target + " is not fit for belay's work", Evidence: quote([]Finding{f}),
				Next: []string{"take it out of [tiers], or say so: [models.\"" + f.Target + "\"] tools = false"}, code: exitSettings}, true
		}
	}
	return verdict{}, false
}

func (x *doctor) size() (verdict, bool) {
	for _, f := range x.found {
		if !f.OK && f.probe == probeLarge && f.Fault != nil {
			return verdict{Class: "size", Says: "short requests pass, larger ones do not", Evidence: quote([]Finding{f}),
				Next: []string{"a lower [context] budget, or a model with a larger window"}, code: exitFailed}, true
		}
	}
	return verdict{}, false
}

func (x *doctor) other() (verdict, bool) {
	for _, f := range x.found {
		if !f.OK && f.Fault != nil && f.Fault.Kind != models.KindModel {
			v := verdict{Class: "request", Says: "a request failed for another reason", Evidence: quote([]Finding{f}), code: exitFault(f.Fault)}
			if f.Fault.Hint != "" {
				v.Next = []string{f.Fault.Hint}
			}
			return v, true
		}
	}
	return verdict{}, false
}

// past looks at the record: all is well now, and was not always.
func (x *doctor) past() (verdict, bool) {
	r := x.record
	switch {
	case r.Several >= 20 && r.Together > 2*r.Alone && r.Together > 0.05:
		return verdict{Class: "concurrency", Says: "all is well now; in the last days failures came while several of your own requests ran at once",
			Evidence: []string{fmt.Sprintf("%.0f%% failed with several at once, %.0f%% with one", r.Together*100, r.Alone*100)},
			Next:     []string{"fewer at once: [providers.…] concurrency = 2"}}, true
	case r.SizeFrom > 0:
		return verdict{Class: "size", Says: "all is well now; in the last days larger requests failed more often",
			Evidence: []string{fmt.Sprintf("from %s input tokens %.0f%% failed, below %.0f%%", theme.Count(r.SizeFrom), r.SizeAbove*100, r.SizeBelow*100)},
			Next:     []string{fmt.Sprintf("[context] budget = %d", r.SizeFrom)}}, true
	case len(r.Hours) > 0:
		return verdict{Class: "peak hours", Says: "all is well now; in the last days failures came in certain hours",
			Evidence: []string{strings.Join(r.Hours, ", ")}, Next: []string{"leave heavy work to other hours"}}, true
	}
	return verdict{}, false
}

// answered counts the probes that came back well.
func (x *doctor) answered() int {
	n := 0
	for _, f := range x.found {
		if f.OK && f.probe != "" {
			n++
		}
	}
	return n
}

func (x *doctor) failedProbe(kind models.Kind) bool {
	return slices.ContainsFunc(x.found, func(f Finding) bool { return f.probe != "" && f.Fault != nil && f.Fault.Kind == kind })
}

// fallbackAdvice says what is missing for the day when a model is full.
func (x *doctor) fallbackAdvice() []string {
	distinct := map[models.Target]bool{}
	for _, list := range tiers(x.set) {
		for _, t := range list {
			distinct[t] = true
		}
	}
	if len(distinct) < 2 {
		return []string{"there is one model in all tiers: add a second for the day when it is full"}
	}
	return nil
}

// conclude prints the list to go through before longer work, and the verdict.
func (x *doctor) conclude(v verdict) error {
	if x.json {
		return writeJSON(x.d.Out, struct {
			Verdict verdict `json:"verdict"`
		}{v})
	}
	fmt.Fprintln(x.d.Out)
	for _, box := range x.checklist() {
		mark := "☐"
		if box.ok {
			mark = "☑"
		}
		fmt.Fprintf(x.d.Out, "%s %s\n", mark, box.words)
	}
	fmt.Fprintf(x.d.Out, "\nverdict: %s. %s\n", v.Class, theme.Sanitize(v.Says))
	for _, e := range v.Evidence {
		fmt.Fprintf(x.d.Out, "  because  %s\n", e)
	}
	for _, n := range v.Next {
		fmt.Fprintf(x.d.Out, "  next     %s\n", theme.Sanitize(n))
	}
	return nil
}

// box is a line of the list to go through before longer work.
type box struct {
	words string
	ok    bool
}

func (x *doctor) checklist() []box {
	all := func(check string) bool {
		seen, bad := false, false
		for _, f := range x.found {
			if f.Check == check {
				seen, bad = true, bad || !f.OK
			}
		}
		return seen && !bad
	}
	tiers := tiers(x.set)
	return []box{
		{"the settings have no fault", all("settings")},
		{"there is a key for each endpoint that needs one", all("key") || len(x.faults(models.CauseAccount)) == 0},
		{"each endpoint answers", all("endpoint")},
		{"each name is spelled as the endpoint spells it", all("name")},
		{"a short request is answered on each tier", all(string(probeShort))},
		{"streams arrive whole", all(string(probeStream))},
		{"tools are called as they should be", all(string(probeTool))},
		{"a larger request is answered", all(string(probeLarge))},
		{"there is another model to switch to", len(x.fallbackAdvice()) == 0 && len(tiers[models.Heavy]) > 0},
		{"what may run without asking was chosen", x.set.Set("permissions.mode")},
	}
}
