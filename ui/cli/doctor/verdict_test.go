package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"belay/config"
	"belay/models"
	"belay/models/ledger"
	"belay/ui/cli/exit"
)

var (
	first  = models.Target{Provider: "openai", Model: "gpt-5.6-sol"}
	second = models.Target{Provider: "openai", Model: "gpt-5.6-terra"}
)

// answers are probes of a target that came back well.
func answers(target models.Target, kinds ...probeKind) []Finding {
	var list []Finding
	for _, k := range kinds {
		list = append(list, Finding{Check: string(k), Target: target.String(), OK: true, probe: k, target: target})
	}
	return list
}

// fails is a probe of a target that failed with a fault.
func fails(k probeKind, target models.Target, kind models.Kind) Finding {
	return Finding{
		Check: string(k), Target: target.String(), Text: kind.Policy().Text, Fault: &models.Fault{Kind: kind},
		probe: k, target: target,
	}
}

// unlisted is a name that the endpoint does not list.
func unlisted(target models.Target) Finding {
	return Finding{Check: "name", Target: target.String(), Fault: &models.Fault{Kind: models.KindModel, Target: target}}
}

func TestTheVerdict(t *testing.T) {
	all := []probeKind{probeShort, probeStream, probeTool, probeLarge}
	unfit := func(k probeKind) Finding {
		return Finding{Check: string(k), Target: first.String(), Text: "not fit", probe: k, target: first}
	}
	hint := fails(probeShort, first, models.KindServer)
	hint.Fault.Hint = "ask the provider"
	keyHint := Finding{Check: "key", Target: "openai", Text: "there is none",
		Fault: &models.Fault{Kind: models.KindAuth, Hint: "set the key"}}
	for name, tt := range map[string]struct {
		findings []Finding
		class    string
		code     int
		says     string // a part of the text
		next     string // a part of what is next
	}{
		"all is well": {answers(first, all...), "well", exit.Done, "every probe was answered", ""},
		"replies without a word": {[]Finding{unfit(probeShort), unfit(probeStream), unfit(probeTool), unfit(probeLarge)},
			"ability", exit.Failed, "without an answer", "log of its server"},
		"the first reply alone without a word": {append(answers(first, probeStream, probeTool, probeLarge),
			unfit(probeShort)), "ability", exit.Failed, "without an answer", "another model"},
		"the key comes before all": {[]Finding{
			fails(probeShort, first, models.KindGateway), fails(probeShort, first, models.KindCapacity),
			fails(probeShort, second, models.KindAuth),
		}, "account", exit.Account, "missing or refused", "check the key"},
		"and says how to come to one": {[]Finding{keyHint}, "account", exit.Account, "", "set the key"},
		"a proxy explains a lost connection": {[]Finding{
			fails(probeShort, first, models.KindNetwork), fails(probeStream, first, models.KindGateway),
		}, "proxy", exit.Unreachable, "something else answers", "base_url"},
		"no endpoint, no verdict on models": {[]Finding{
			fails(probeShort, first, models.KindCapacity), fails(probeShort, second, models.KindNetwork),
		}, "endpoint", exit.Unreachable, "no model is to blame", "connection"},
		"what cannot be reached knows no names": {[]Finding{
			unlisted(first), fails(probeShort, second, models.KindNetwork),
		}, "endpoint", exit.Unreachable, "", ""},
		"nothing runs on this computer": {[]Finding{fails(probeShort, first, models.KindAbsent)},
			"endpoint", exit.Unreachable, "", "is it running"},
		"a wrong name is not a want of room": {[]Finding{
			fails(probeShort, first, models.KindModel), fails(probeShort, second, models.KindCapacity),
		}, "name", exit.Settings, "does not know a name", "correct it in [tiers]"},
		"a name that is not listed and does not answer": {[]Finding{unlisted(first)}, "name", exit.Settings, "", ""},
		"a name that is not listed and answers": {append(answers(first, all...), unlisted(first)), "well",
			exit.Done, "", ""},
		"one name answers and another is unknown": {append(answers(second, all...), unlisted(first),
			fails(probeShort, first, models.KindModel)), "name", exit.Settings, "", ""},
		"the balance comes before the limit": {[]Finding{
			fails(probeShort, first, models.KindRate), fails(probeShort, second, models.KindBilling),
		}, "billing", exit.Account, "balance", "billing of the account"},
		"a limit of one's own comes before the want of room": {[]Finding{
			fails(probeShort, first, models.KindCapacity), fails(probeShort, second, models.KindUsage),
		}, "limit", exit.Capacity, "your own limit", "wait until it clears"},
		"one model is full": {append(answers(second, all...), fails(probeShort, first, models.KindCapacity)),
			"capacity", exit.Capacity, "others answer", "let belay switch"},
		"all models are full": {[]Finding{
			fails(probeShort, first, models.KindCapacity), fails(probeShort, second, models.KindCapacity),
		}, "capacity", exit.Capacity, "no model of any tier has room", "compare base_url"},
		"heavy requests find no room": {append(answers(first, probeShort, probeStream),
			fails(probeLarge, first, models.KindCapacity)), "size", exit.Capacity, "heavier ones find no room", "send less"},
		"streams do not come": {append(answers(first, probeShort), fails(probeStream, first, models.KindStream)),
			"stream", exit.Unreachable, "streams do not", "text/event-stream"},
		"nothing comes, streams neither": {[]Finding{
			fails(probeShort, first, models.KindServer), fails(probeStream, first, models.KindStream),
		}, "request", exit.Failed, "another reason", ""},
		"streams of another model come": {append(answers(second, probeShort), fails(probeStream, first, models.KindStream)),
			"request", exit.Failed, "", ""},
		"no tools": {append(answers(first, probeShort, probeStream), unfit(probeTool)), "ability", exit.Settings,
			"openai/gpt-5.6-sol is not fit", `[models."openai/gpt-5.6-sol"] tools = false`},
		"no structured answers": {append(answers(first, probeStream), unfit(probeJSON)), "ability", exit.Settings, "", ""},
		"large requests are refused": {append(answers(first, probeShort, probeStream, probeTool),
			fails(probeLarge, first, models.KindSize)), "size", exit.Failed, "larger ones do not", "larger window"},
		"nothing is answered, large or short": {[]Finding{
			fails(probeShort, first, models.KindRequest), fails(probeLarge, first, models.KindRequest),
		}, "request", exit.Settings, "another reason", ""},
		"a failure that speaks for itself": {[]Finding{hint}, "request", exit.Failed, "", "ask the provider"},
		"a request that is refused": {[]Finding{fails(probeShort, first, models.KindRequest)}, "request", exit.Settings,
			"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			x := &examination{findings: tt.findings, settings: config.Defaults()}
			got := x.verdict()
			if got.Class != tt.class || got.code != tt.code {
				t.Errorf("the verdict is %s, code %d; want %s, code %d", got.Class, got.code, tt.class, tt.code)
			}
			if !strings.Contains(got.Text, tt.says) || !strings.Contains(strings.Join(got.Next, "\n"), tt.next) {
				t.Errorf("it says %q, and next %q; want %q and %q", got.Text, got.Next, tt.says, tt.next)
			}
			if (tt.next == "" && tt.class == "well") != (len(got.Evidence) == 0) {
				t.Errorf("the evidence is %q", got.Evidence)
			}
		})
	}
}

func TestEveryKindOfFailureHasAVerdict(t *testing.T) {
	for _, kind := range models.Kinds() {
		x := &examination{findings: []Finding{fails(probeShort, first, kind)}, settings: config.Defaults()}
		got := x.verdict()
		if want := kind.Policy().Exit; got.code != want || got.Class == "well" {
			t.Errorf("after %s the verdict is %s, code %d; want code %d", kind, got.Class, got.code, want)
		}
		if want := "short openai/gpt-5.6-sol: " + kind.Policy().Text; strings.Join(got.Evidence, "\n") != want {
			t.Errorf("after %s the evidence is %q, want %q", kind, got.Evidence, want)
		}
	}
}

func TestAModelThatStandsAloneIsTold(t *testing.T) {
	settings := config.Defaults()
	settings.Tiers.Medium = nil
	settings.Tiers.Light = settings.Tiers.Heavy
	x := &examination{findings: answers(first, probeShort), settings: settings}
	if got := strings.Join(x.verdict().Next, "\n"); !strings.Contains(got, "there is one model in all tiers") {
		t.Errorf("next is %q", got)
	}
}

func TestThePastCountsWhenAllIsWellNow(t *testing.T) {
	concurrent := history{concurrent: 20, failedConcurrent: 0.3, failedAlone: 0.1}
	few, alike, rare := concurrent, concurrent, concurrent
	few.concurrent = 19
	alike.failedAlone = 0.15
	rare.failedConcurrent, rare.failedAlone = 0.05, 0
	both := concurrent
	both.sizeFrom = 1000
	for name, tt := range map[string]struct {
		past     history
		findings []Finding
		class    string
		says     string // a part of evidence and next
	}{
		"no failures":                  {history{}, nil, "well", ""},
		"with several at once":         {concurrent, nil, "concurrency", "30% failed with several at once, 10% with one"},
		"with few at once":             {few, nil, "well", ""},
		"with one at a time as well":   {alike, nil, "well", ""},
		"with several at once, rarely": {rare, nil, "well", ""},
		"of large requests":            {history{sizeFrom: 64_000, sizeAbove: 0.5}, nil, "size", "budget = 64000"},
		"of both: what runs at once":   {both, nil, "concurrency", ""},
		"in certain hours":             {history{hours: []string{"Mo 14:00"}}, nil, "peak hours", "Mo 14:00"},
		"do not count when models fail now": {concurrent, []Finding{fails(probeShort, first, models.KindServer)}, "request",
			""},
	} {
		t.Run(name, func(t *testing.T) {
			x := &examination{findings: tt.findings, history: tt.past, settings: config.Defaults()}
			got := x.verdict()
			said := strings.Join(append(got.Evidence, got.Next...), "\n")
			if got.Class != tt.class || !strings.Contains(said, tt.says) {
				t.Errorf("the verdict is %s, %q; want %s, %q", got.Class, said, tt.class, tt.says)
			}
			if tt.findings == nil && got.code != exit.Done {
				t.Errorf("the code is %d, want %d: all is well now", got.code, exit.Done)
			}
		})
	}
}

func TestWhatTheRecordTellsTheDoctor(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	// attempts are some of one sort, of which some have failed.
	attempts := func(n, failed int, kind models.Kind, concurrency int, tokens int64) []ledger.Attempt {
		var list []ledger.Attempt
		for i := range n {
			a := ledger.Attempt{Provider: "openai", Model: "m", Concurrency: concurrency, InputTokens: tokens,
				CreatedAt: now.Add(-time.Hour)}
			if i < failed {
				a.Kind = kind
			}
			list = append(list, a)
		}
		return list
	}
	for name, tt := range map[string]struct {
		list []ledger.Attempt
		want string
	}{
		"nothing": {nil, "0 attempts, alone 0.00, 0 at once 0.00, from 0"},
		"want of room, alone and at once": {append(attempts(10, 1, models.KindCapacity, 1, 10),
			attempts(4, 3, models.KindRate, 2, 10)...), "14 attempts, alone 0.10, 4 at once 0.75, from 0"},
		"faults of other kinds are no want of room": {attempts(10, 5, models.KindServer, 1, 10),
			"10 attempts, alone 0.00, 0 at once 0.00, from 0"},
		"what says nothing of the model does not count": {append(attempts(10, 10, models.KindNetwork, 2, 10),
			attempts(2, 1, models.KindCapacity, 1, 10)...), "12 attempts, alone 0.50, 0 at once 0.00, from 0"},
		"the size from which requests fail": {append(attempts(40, 0, "", 1, 1_000),
			attempts(40, 30, models.KindCapacity, 1, 100_000)...), "80 attempts, alone 0.38, 0 at once 0.00, from 96000"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(tt.list, now)
			got := fmt.Sprintf("%d attempts, alone %.2f, %d at once %.2f, from %d",
				h.attempts, h.failedAlone, h.concurrent, h.failedConcurrent, h.sizeFrom)
			if got != tt.want {
				t.Errorf("the record says %s; want %s", got, tt.want)
			}
			if h.sizeFrom > 0 && (h.sizeAbove != 0.75 || h.sizeBelow != 0) {
				t.Errorf("shares %v and %v, want 0.75 and 0", h.sizeAbove, h.sizeBelow)
			}
		})
	}
}

func TestTheListToGoThroughBeforeLongerWork(t *testing.T) {
	for name, tt := range map[string]struct {
		findings []Finding
		want     string // of "settings", "key", "endpoint", "name", "short", "stream", "tool" and "large"
	}{
		"nothing was looked at": {nil, "-+------"},
		"what is well": {append(answers(first, probeShort, probeTool), Finding{Check: "settings", OK: true},
			Finding{Check: "endpoint", OK: true}), "+++-+-+-"},
		"one that failed counts": {append([]Finding{fails(probeShort, second, models.KindServer)}, answers(first, probeShort)...),
			"-+------"},
		"a key that is missing": {[]Finding{fails("key", first, models.KindAuth)}, "--------"},
	} {
		t.Run(name, func(t *testing.T) {
			x := &examination{findings: tt.findings, settings: config.Defaults()}
			got := ""
			for _, item := range x.checklist()[:len(tt.want)] {
				got += map[bool]string{true: "+", false: "-"}[item.ok]
			}
			if got != tt.want {
				t.Errorf("the list is %s, want %s", got, tt.want)
			}
		})
	}
}
