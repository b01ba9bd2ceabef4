package doctor

import (
	"fmt"
	"slices"
	"strings"

	"belay/models"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
	"belay/ui/theme"
)

// verdict is what the findings come to.
type verdict struct {
	Class    string   `json:"class"`
	Text     string   `json:"says"`
	Evidence []string `json:"evidence,omitempty"`
	Next     []string `json:"next,omitempty"`
	code     int
}

// verdict weighs the findings. The order matters: what would explain all the
// rest comes first, and a busy model is never answered with advice about the
// network.
func (x *examination) verdict() verdict {
	for _, judge := range []func() (verdict, bool){
		x.account, x.unreachable, x.wrongName, x.limits, x.capacity, x.replyShape, x.largeRequests, x.otherFault,
		x.wordless, x.pastFaults,
	} {
		if v, ok := judge(); ok {
			return v
		}
	}
	return verdict{Class: "well", Text: "every probe was answered", Next: x.fallbackAdvice()}
}

// faults lists the findings whose failures point at the same cause.
func (x *examination) faults(cause models.Cause) []Finding {
	var list []Finding
	for _, f := range x.findings {
		if f.Fault != nil && f.Fault.Kind.Policy().Cause == cause {
			list = append(list, f)
		}
	}
	return list
}

func quote(list []Finding) []string {
	var lines []string
	for _, f := range list {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s: %s", f.Check, f.Target, theme.Line(f.Text))))
	}
	return lines
}

func (x *examination) account() (verdict, bool) {
	list := x.faults(models.CauseAccount)
	if len(list) == 0 {
		return verdict{}, false
	}
	next := "check the key: copy it again, and see that it belongs to this endpoint"
	if hint := list[0].Fault.Hint; hint != "" {
		next = hint
	}
	return verdict{
		Class:    "account",
		Text:     "the key is missing or refused",
		Evidence: quote(list),
		Next:     []string{next},
		code:     exit.Account,
	}, true
}

func (x *examination) unreachable() (verdict, bool) {
	if list := x.faults(models.CauseProxy); len(list) > 0 {
		return verdict{
			Class:    "proxy",
			Text:     "something else answers in the endpoint's place: a proxy, a gateway or a login page",
			Evidence: quote(list),
			Next: []string{
				"check base_url in the settings and the log of the proxy",
				"try without the proxy: HTTPS_PROXY= belay doctor",
			},
			code: exit.Unreachable,
		}, true
	}
	list := x.faults(models.CauseEndpoint)
	if len(list) == 0 {
		return verdict{}, false
	}
	return verdict{
		Class:    "endpoint",
		Text:     "the endpoint cannot be reached; no model is to blame",
		Evidence: quote(list),
		Next: []string{
			"check the connection and base_url",
			"for a local endpoint: is it running?",
		},
		code: exit.Unreachable,
	}, true
}

func (x *examination) wrongName() (verdict, bool) {
	list := x.faults(models.CauseName)
	if len(list) == 0 || x.answered() > 0 && !x.failedProbe(models.KindModel) {
		return verdict{}, false // an endpoint may serve what it does not list
	}
	return verdict{Class: "name", Text: "the endpoint does not know a name of the settings", Evidence: quote(list),
		Next: []string{"correct it in [tiers]; belay never replaces a name by itself"}, code: exit.Settings}, true
}

func (x *examination) limits() (verdict, bool) {
	if list := x.faults(models.CauseBilling); len(list) > 0 {
		return verdict{
			Class:    "billing",
			Text:     "the plan or its balance does not allow this",
			Evidence: quote(list),
			Next:     []string{"see plan and billing of the account"},
			code:     exit.Account,
		}, true
	}
	list := x.faults(models.CauseLimit)
	if len(list) == 0 {
		return verdict{}, false
	}
	return verdict{Class: "limit", Text: "your own limit at the provider is reached", Evidence: quote(list),
		Next: []string{
			"wait until it clears; belay waits exactly as long as the server says",
			"fewer requests at once: [providers.…] concurrency",
		}, code: exit.Capacity}, true
}

func (x *examination) capacity() (verdict, bool) {
	list := x.faults(models.CauseCapacity)
	if len(list) == 0 {
		return verdict{}, false
	}
	result := verdict{Class: "capacity", Evidence: quote(list), code: exit.Capacity}
	short := slices.ContainsFunc(list, func(f Finding) bool { return f.probe == probeShort })
	switch {
	case !short:
		result.Class = "size"
		result.Text = "short requests pass and heavier ones find no room: the size of the request matters"
		result.Next = []string{
			"send less: a smaller folder, fewer files, a lower [context] budget",
			"or another tier meanwhile",
		}
	case x.answered() > 0:
		result.Text = "this model has no room just now; others answer"
		result.Next = []string{
			"let belay switch ([switch] policy = \"auto\"), or press the key of another tier",
			"try again later: belay parks and resumes by itself",
		}
	default:
		result.Text = "no model of any tier has room; when all fail alike, the settings or a proxy may be the cause as well"
		result.Next = []string{
			"compare base_url and the key with what the provider says",
			"if they are right, it is an outage: park, or add a model of another provider",
		}
	}
	return result, true
}

// passed reports whether a target answered a probe as it should.
func (x *examination) passed(k probeKind, target models.Target) bool {
	return slices.ContainsFunc(x.findings, func(f Finding) bool { return f.OK && f.probe == k && f.target == target })
}

// replyShape is about replies that come but not as they should.
func (x *examination) replyShape() (verdict, bool) {
	for _, finding := range x.findings {
		switch {
		case finding.OK || finding.probe == "":
		case finding.probe == probeStream && x.passed(probeShort, finding.target):
			return verdict{
				Class:    "stream",
				Text:     "whole replies come and streams do not: something on the way holds or cuts them",
				Evidence: quote([]Finding{finding}),
				Next:     []string{"a proxy must pass text/event-stream on without buffering"},
				code:     exit.Unreachable,
			}, true
		case finding.probe == probeTool && x.passed(probeStream, finding.target),
			finding.probe == probeJSON && x.passed(probeStream, finding.target):
			return verdict{
				Class:    "ability",
				Text:     finding.Target + " is not fit for belay's work",
				Evidence: quote([]Finding{finding}),
				Next: []string{
					"take it out of [tiers], or say so: [models.\"" + finding.Target + "\"] tools = false",
				},
				code: exit.Settings,
			}, true
		}
	}
	return verdict{}, false
}

func (x *examination) largeRequests() (verdict, bool) {
	for _, f := range x.findings {
		if !f.OK && f.probe == probeLarge && f.Fault != nil && x.passed(probeShort, f.target) {
			return verdict{
				Class:    "size",
				Text:     "short requests pass, larger ones do not",
				Evidence: quote([]Finding{f}),
				Next:     []string{"a lower [context] budget, or a model with a larger window"},
				code:     exit.Failed,
			}, true
		}
	}
	return verdict{}, false
}

func (x *examination) otherFault() (verdict, bool) {
	for _, f := range x.findings {
		if !f.OK && f.Fault != nil && f.Fault.Kind != models.KindModel {
			v := verdict{
				Class:    "request",
				Text:     "a request failed for another reason",
				Evidence: quote([]Finding{f}),
				code:     exit.OfFault(f.Fault),
			}
			if f.Fault.Hint != "" {
				v.Next = []string{f.Fault.Hint}
			}
			return v, true
		}
	}
	return verdict{}, false
}

// wordless is about replies that end well and hold nothing of what was asked for.
func (x *examination) wordless() (verdict, bool) {
	for _, f := range x.findings {
		if f.OK || f.Fault != nil || f.probe == "" {
			continue
		}
		return verdict{
			Class:    "ability",
			Text:     f.Target + " ends its replies without an answer",
			Evidence: quote([]Finding{f}),
			Next: []string{
				"look at the log of its server: a template or a limit of the reply may be the cause; or take another model",
			},
			code: exit.Failed,
		}, true
	}
	return verdict{}, false
}

// pastFaults looks at the record: all is well now, and was not always.
func (x *examination) pastFaults() (verdict, bool) {
	record := x.history
	switch {
	case record.concurrent >= 20 && record.failedConcurrent > 2*record.failedAlone && record.failedConcurrent > 0.05:
		return verdict{
			Class: "concurrency",
			Text:  "all is well now; in the last days failures came while several of your own requests ran at once",
			Evidence: []string{
				fmt.Sprintf("%.0f%% failed with several at once, %.0f%% with one", record.failedConcurrent*100,
					record.failedAlone*100),
			},
			Next: []string{"fewer at once: [providers.…] concurrency = 2"},
		}, true
	case record.sizeFrom > 0:
		return verdict{Class: "size", Text: "all is well now; in the last days larger requests failed more often",
			Evidence: []string{
				fmt.Sprintf("from %s input tokens %.0f%% failed, below %.0f%%", theme.Count(record.sizeFrom),
					record.sizeAbove*100, record.sizeBelow*100),
			},
			Next: []string{fmt.Sprintf("[context] budget = %d", record.sizeFrom)}}, true
	case len(record.hours) > 0:
		return verdict{Class: "peak hours", Text: "all is well now; in the last days failures came in certain hours",
			Evidence: []string{
				strings.Join(record.hours, ", "),
			}, Next: []string{"leave heavy work to other hours"}}, true
	}
	return verdict{}, false
}

// answered counts the probes that came back well.
func (x *examination) answered() int {
	n := 0
	for _, f := range x.findings {
		if f.OK && f.probe != "" {
			n++
		}
	}
	return n
}

func (x *examination) failedProbe(kind models.Kind) bool {
	return slices.ContainsFunc(x.findings,
		func(f Finding) bool { return f.probe != "" && f.Fault != nil && f.Fault.Kind == kind })
}

// fallbackAdvice says what is missing for the day when a model is full.
func (x *examination) fallbackAdvice() []string {
	distinct := map[models.Target]bool{}
	for _, list := range app.TierTargets(x.settings) {
		for _, t := range list {
			distinct[t] = true
		}
	}
	if len(distinct) < 2 {
		return []string{"there is one model in all tiers: add a second for the day when it is full"}
	}
	return nil
}

// printVerdict prints the list to go through before longer work, and the verdict.
func (x *examination) printVerdict(result verdict) error {
	if x.JSON {
		return plain.JSONLine(x.env.Out, struct {
			Verdict verdict `json:"verdict"`
		}{result})
	}
	fmt.Fprintln(x.env.Out)
	for _, box := range x.checklist() {
		mark := "☐"
		if box.ok {
			mark = "☑"
		}
		fmt.Fprintln(x.env.Out, mark, locale.T(box.text))
	}
	fmt.Fprintf(x.env.Out, "\n%s\n", locale.T("verdict: %s. %s", locale.T(result.Class), locale.Said(theme.Sanitize(result.Text))))
	for _, e := range result.Evidence {
		fmt.Fprintln(x.env.Out, "  "+locale.T("because  %s", locale.Said(e)))
	}
	for _, n := range result.Next {
		fmt.Fprintln(x.env.Out, "  "+locale.T("next     %s", locale.Said(theme.Sanitize(n))))
	}
	return nil
}

// checkItem is a line of the list to go through before longer work.
type checkItem struct {
	text string
	ok   bool
}

func (x *examination) checklist() []checkItem {
	all := func(check string) bool {
		seen, bad := false, false
		for _, f := range x.findings {
			if f.Check == check {
				seen, bad = true, bad || !f.OK
			}
		}
		return seen && !bad
	}
	tiers := app.TierTargets(x.settings)
	return []checkItem{
		{"the settings have no fault", all("settings")},
		{"there is a key for each endpoint that needs one", all("key") || len(x.faults(models.CauseAccount)) == 0},
		{"each endpoint answers", all("endpoint")},
		{"each name is spelled as the endpoint spells it", all("name")},
		{"a short request is answered on each tier", all(string(probeShort))},
		{"streams arrive whole", all(string(probeStream))},
		{"tools are called as they should be", all(string(probeTool))},
		{"a larger request is answered", all(string(probeLarge))},
		{"there is another model to switch to", len(x.fallbackAdvice()) == 0 && len(tiers[models.Heavy]) > 0},
		{"what may run without asking was chosen", x.settings.Set("permissions.mode")},
	}
}
