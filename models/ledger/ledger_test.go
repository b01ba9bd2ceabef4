package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"belay/models"
)

// monday is a Monday.
var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// at is an attempt at a model, a while after monday; kind is empty for a
// success.
func at(after time.Duration, model string, kind models.Kind, change ...func(*Attempt)) Attempt {
	a := Attempt{
		Provider:     "p",
		Model:        model,
		Kind:         kind,
		CreatedAt:    monday.Add(after),
		LatencyMS:    1000,
		FirstTokenMS: 500,
		InputTokens:  10_000,
		Session:      "s",
		Turn:         1,
	}
	if kind != "" {
		a.FirstTokenMS = 0
	}
	for _, c := range change {
		c(&a)
	}
	return a
}

func sorted(list []Attempt) []Attempt {
	slices.SortStableFunc(list, func(a, b Attempt) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list
}

const full = models.KindCapacity

func TestTheSixteenNamesAreExact(t *testing.T) {
	const want = "request_id project_id team_id environment model endpoint stream input_tokens output_tokens concurrency retry_count fallback_model status_code error_code latency_ms created_at " +
		"session turn step provider tier kind phase served_model first_token_ms cached_tokens reasoning_tokens cost delay_ms"
	var got []string
	for f := range reflect.TypeFor[Attempt]().Fields() {
		if name := f.Tag.Get("json"); name != "-" { // what is not kept
			got = append(got, name)
		}
	}
	if s := strings.Join(got, " "); s != want {
		t.Errorf("names are\n%s, want\n%s", s, want)
	}
}

// brokenLog is a Log of what it holds, which ends with an error.
type brokenLog struct {
	list []Attempt
	err  error
}

func (l *brokenLog) AppendAttempts(_ context.Context, a Attempt) error {
	l.list = append(l.list, a)
	return nil
}

func (l *brokenLog) Attempts(context.Context, time.Time, time.Time) iter.Seq2[Attempt, error] {
	return func(yield func(Attempt, error) bool) {
		for _, a := range l.list {
			if !yield(a, nil) {
				return
			}
		}
		if l.err != nil {
			yield(Attempt{}, l.err)
		}
	}
}

func TestReadReportsABrokenRecord(t *testing.T) {
	var log Log = &brokenLog{err: errors.New("disk"), list: []Attempt{{}}}
	if list, err := Read(t.Context(), log, time.Time{}, time.Time{}); err == nil || list != nil {
		t.Errorf("Read() = %v, %v", list, err)
	}
}

func TestEpisodes(t *testing.T) {
	m, s := time.Minute, time.Second
	for _, tt := range []struct {
		name string
		list []Attempt
		now  time.Duration
		want string
	}{
		{"none", []Attempt{at(0, "sol", "")}, m, ""},
		{"from the first failure to the success", []Attempt{at(0, "sol", full), at(m, "sol", full), at(2*m, "sol", "")},
			20 * m, "sol 0s+2m1s peak 2 of 2 over"},
		{"a success without calm does not end it",
			[]Attempt{at(0, "sol", full), at(m, "sol", ""), at(2*m, "sol", full), at(3*m, "sol", full), at(4*m, "sol", full),
				at(5*m, "sol", "")}, 20 * m,
			"sol 0s+5m1s peak 3 of 4 over"},
		{"with calm it does", []Attempt{at(0, "sol", full), at(m, "sol", ""), at(7*m, "sol", full), at(8*m, "sol", "")},
			20 * m, "sol 0s+1m1s peak 1 of 1 over; sol 7m0s+1m1s peak 1 of 1 over"},
		{"it goes on", []Attempt{at(0, "sol", full), at(m, "sol", full)}, 2 * m, "sol 0s+1m1s peak 2 of 2"},
		{"just after a success it may go on", []Attempt{at(0, "sol", full), at(m, "sol", "")}, 2 * m,
			"sol 0s+1m1s peak 1 of 1"},
		{"nobody asked again", []Attempt{at(0, "sol", full), at(m, "sol", full)}, 3 * time.Hour,
			"sol 0s+1m1s peak 2 of 2 over"},
		{"a day later it is another",
			[]Attempt{at(0, "sol", full), at(24*time.Hour, "sol", full), at(24*time.Hour+m, "sol", "")}, 25 * time.Hour,
			"sol 0s+1s peak 1 of 1 over; sol 24h0m0s+1m1s peak 1 of 1 over"},
		{"other failures are no episode and end none",
			[]Attempt{at(0, "sol", models.KindServer), at(m, "sol", full), at(m+s, "sol", models.KindStream),
				at(2*m, "sol", full)}, 3 * m, "sol 1m0s+1m1s peak 2 of 2"},
		{"targets are kept apart",
			[]Attempt{at(0, "sol", full), at(s, "terra", full), at(m, "terra", ""), at(2*m, "sol", "")}, 20 * m,
			"sol 0s+2m1s peak 1 of 1 over; terra 1s+1m0s peak 1 of 1 over"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, e := range Episodes(tt.list, monday.Add(tt.now)) {
				w := fmt.Sprintf("%s %v+%v peak %d of %d", e.Target.Model, e.Begin.Sub(monday), e.Length(), e.Peak,
					e.Failures)
				if e.Over {
					w += " over"
				}
				got = append(got, w)
			}
			if s := strings.Join(got, "; "); s != tt.want {
				t.Errorf("got\n%s, want\n%s", s, tt.want)
			}
		})
	}
}

func TestLengths(t *testing.T) {
	var list []Episode
	for _, m := range []int{3, 1, 14} {
		list = append(list, Episode{Begin: monday, End: monday.Add(time.Duration(m) * time.Minute)})
	}
	if longest, median := Lengths(list); longest != 14*time.Minute || median != 3*time.Minute {
		t.Errorf("Lengths() = %v, %v", longest, median)
	}
	if longest, median := Lengths(nil); longest != 0 || median != 0 {
		t.Errorf("Lengths(nil) = %v, %v", longest, median)
	}
}

func TestWeeks(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	var list []Attempt
	for day := range 7 {
		for range 10 {
			list = append(list, at(time.Duration(day*24+9)*time.Hour, "sol", ""),
				at(time.Duration(day*24+9)*time.Hour, "terra", models.KindCancelled))
		}
		kind := models.Kind("")
		if day == 2 {
			kind = full
		}
		for range 6 {
			list = append(list, at(time.Duration(day*24+14)*time.Hour, "sol", kind))
		}
	}
	list = append(list, at(167*time.Hour+30*time.Minute, "luna", full)) // Sunday, 23:30 in UTC
	weeks := Weeks(list, berlin, monday.AddDate(0, 0, 8))
	if len(weeks) != 3 || weeks[1].Target.Model != "sol" || weeks[2].Target.Model != "luna" ||
		weeks[0].Target != (models.Target{}) {
		t.Fatalf("got %d weeks", len(weeks))
	}
	sol := weeks[1]
	if got := sol.Hours[2][15]; got != (Hour{6, 6}) || got.Share() != 1 {
		t.Errorf("Wednesday at 15: %v", got)
	}
	if got := weeks[2].Hours[0][0]; got != (Hour{1, 1}) {
		t.Errorf("an attempt of Sunday night in UTC is not on Monday here: %v", got)
	}
	if got := weeks[0].Hours[2][10]; got != (Hour{10, 0}) {
		t.Errorf("all on Wednesday at 10: %v; what a person stopped does not count", got)
	}
	if quiet := Weeks(list[:2], berlin, monday)[0]; quiet.Any() || !sol.Any() {
		t.Errorf("Any() = %v and %v", quiet.Any(), sol.Any())
	}
	worst := sol.Worst(3)
	if len(worst) != 1 || worst[0].Day != time.Wednesday || worst[0].Hour != 15 {
		t.Errorf("Worst() = %v", worst)
	}
	week := monday.Add(9*time.Hour).AddDate(0, 0, 7)
	if before, then := Weeks(list, berlin, week.Add(-1))[1].Enough, Weeks(list, berlin, week)[1].Enough; before ||
		!then {
		t.Errorf("before a whole week: %v, then: %v", before, then)
	}
	if !sol.Enough || weeks[2].Enough {
		t.Errorf("enough: sol %v, luna %v; want only sol", sol.Enough, weeks[2].Enough)
	}
	if got := Weeks(nil, time.UTC, monday); len(got) != 1 || got[0].Enough {
		t.Errorf("an empty record: %v", got)
	}
}

func TestTheSizeFromWhichRequestsFail(t *testing.T) {
	sizes := func(counts ...[3]int) []Attempt { // size in k, successes, failures
		var list []Attempt
		for _, c := range counts {
			size := func(a *Attempt) { a.InputTokens = int64(c[0]) * 1000 }
			for range c[1] {
				list = append(list, at(0, "sol", "", size))
			}
			for range c[2] {
				list = append(list, at(0, "sol", full, size))
			}
		}
		return list
	}
	for _, tt := range []struct {
		name string
		list []Attempt
		want int64
	}{
		{"none without a record", nil, 0},
		{"a clear one", sizes([3]int{10, 97, 3}, [3]int{50, 97, 3}, [3]int{100, 78, 22}, [3]int{130, 75, 25}), 96_000},
		{"the clearest one", sizes([3]int{10, 100, 0}, [3]int{70, 90, 10}, [3]int{200, 20, 80}), 192_000},
		{"none when all sizes fail alike", sizes([3]int{10, 80, 20}, [3]int{100, 80, 20}), 0},
		{"none when small ones fail", sizes([3]int{10, 50, 50}, [3]int{100, 100, 0}), 0},
		{"none with few requests", sizes([3]int{10, 19, 0}, [3]int{100, 0, 19}), 0},
		{"none by accident", sizes([3]int{10, 24, 1}, [3]int{100, 20, 5}), 0},
		{"only failures that tell",
			append(sizes([3]int{10, 50, 0}), slices.Repeat([]Attempt{at(0, "sol", models.KindSize, func(a *Attempt) {
				a.InputTokens = 300_000
			})}, 50)...), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := SizesOf(tt.list)
			if got.Threshold != tt.want {
				t.Errorf("threshold is %d, want %d: %+v", got.Threshold, tt.want, got)
			}
			if got.Threshold > 0 && got.Above <= got.Below {
				t.Errorf("%v above and %v below", got.Above, got.Below)
			}
		})
	}
	s := SizesOf(sizes([3]int{0, 1, 1}, [3]int{1, 3, 1}, [3]int{5000, 1, 0}))
	if len(s.Buckets) != 2 || s.Buckets[0] != (Bucket{1000, 2000, 4, 1}) || s.Buckets[0].Share() != 0.25 ||
		s.Buckets[1] != (Bucket{1_000_000, 0, 1, 0}) {
		t.Errorf("buckets are %+v", s.Buckets)
	}
}

func TestWhatASuccessCosts(t *testing.T) {
	costs := func(c float64) func(*Attempt) { return func(a *Attempt) { a.Cost, a.OutputTokens = c, 100 } }
	try := func(n int, delay int64) func(*Attempt) {
		return func(a *Attempt) { a.RetryCount, a.DelayMS = n, delay }
	}
	over := func(to string) func(*Attempt) { return func(a *Attempt) { a.FallbackModel = to } }
	list := []Attempt{
		at(0, "sol", "", costs(1)),
		at(1, "sol", full, costs(0.5), try(0, 0)),
		at(2, "sol", full, costs(0.25), try(1, 2000), over("p/terra")),
		at(3, "terra", "", costs(0.125), try(2, 0)),
		at(4, "terra", "", costs(0.125)), // still there
		at(5, "sol", "", costs(1)),       // back
		at(6, "sol", models.KindCancelled, costs(0.0625)),
		at(7, "terra", "", costs(2), func(a *Attempt) { a.Session = "other" }), // its own choice
	}
	got := CostOfSuccess(list, Wait{Tools: time.Minute, Person: 3 * time.Minute}, Wait{Tools: time.Second})
	want := Costs{
		Successes: 5, Calls: Spent{5, 50_000, 500, 4.5625}, Retries: Spent{1, 10_000, 100, 0.25},
		Fallbacks: Spent{2, 20_000, 200, 0.25},
		ToolsMS:   61_000, WaitedMS: 2000 + 2*1000 + 180_000,
	}
	if got != want {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	if got.PerSuccess() != 5.0625/5 || got.Extra() != 0.5/5.0625 {
		t.Errorf("a success costs %v, extra is %v", got.PerSuccess(), got.Extra())
	}
	unpriced := []Attempt{at(0, "sol", ""), at(1, "sol", full), at(2, "sol", "", try(1, 0))}
	if c := CostOfSuccess(unpriced); c.Extra() != 0.5 {
		t.Errorf("without prices extra is %v, want half of the tokens", c.Extra())
	}
	if c := CostOfSuccess(nil); c.PerSuccess() != 0 || c.Extra() != 0 {
		t.Errorf("an empty record costs %+v", c)
	}
}

func TestBudgets(t *testing.T) {
	for _, tt := range []struct {
		limit, spent float64
		want         Level
	}{{0, 99, WithinBudget}, {-1, 5, WithinBudget}, {10, 7.99, WithinBudget}, {10, 8, Notice}, {10, 9.49, Notice}, {10,
		9.5, Soft}, {10, 9.999, Soft}, {10, 10, Full}, {10, 11, Full}, {0.3, 0.1 + 0.1 + 0.1, Full}, {1, 0.95, Soft}} {
		if got := (Budget{tt.limit, tt.spent}).Level(); got != tt.want {
			t.Errorf("%v of %v is %q, want %q", tt.spent, tt.limit, got, tt.want)
		}
	}
}

func TestFailoversAreListed(t *testing.T) {
	to := func(a *Attempt) {
		a.FallbackModel, a.RetryCount, a.ErrorCode, a.Tier, a.ProjectID = "p/terra", 1, "no_capacity", models.Heavy, "/p"
	}
	list := []Attempt{
		at(0, "sol", full),
		at(1, "sol", full, to),
		at(2, "terra", ""),
		at(3, "sol", models.KindCancelled, to),
	}
	got := Failovers(list)
	want := []Failover{
		{
			Time:    monday.Add(1),
			Session: "s",
			Turn:    1,
			Project: "/p",
			Tier:    models.Heavy,
			From:    "p/sol",
			To:      "p/terra",
			Kind:    full,
			Code:    "no_capacity",
			Tries:   2,
		},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRisk(t *testing.T) {
	now := monday.Add(10 * time.Hour)
	sol := models.Target{Provider: "p", Model: "sol"}
	many := func(n int, before time.Duration, kind models.Kind, latency int64) []Attempt {
		return slices.Repeat(
			[]Attempt{at(10*time.Hour-before, "sol", kind, func(a *Attempt) { a.LatencyMS = latency })},
			n,
		)
	}
	for _, tt := range []struct {
		name   string
		list   []Attempt
		want   string // growth latency errors score
		advise bool
	}{
		{"an empty record", nil, "0.00 0.00 0.00 0.00", false},
		{"all as usual", slices.Concat(many(40, 90*time.Minute, "", 1000), many(40, time.Minute, "", 1000)),
			"0.00 0.00 0.00 0.00", false},
		{"more, slower, failing",
			slices.Concat(many(20, 90*time.Minute, "", 1000), many(10, 2*time.Minute, "", 1500),
				many(20, time.Minute, full, 1)), "0.50 0.50 0.67 0.55", false},
		{"each term is at most 1",
			slices.Concat(many(2, 5*time.Hour, "", 100), many(20, time.Minute, "", 9000), many(20, time.Minute, full, 1)),
			"1.00 1.00 0.50 0.85", true},
		{"and at least 0", slices.Concat(many(80, 90*time.Minute, "", 1000), many(20, time.Minute, "", 10)),
			"0.00 0.00 0.00 0.00", false},
		{"too few requests advise nothing",
			slices.Concat(many(2, 5*time.Hour, "", 100), many(10, time.Minute, "", 9000), many(9, time.Minute, full, 1)),
			"1.00 1.00 0.47 0.84", false},
		{"others do not count", slices.Repeat([]Attempt{at(10*time.Hour-time.Minute, "terra", full)}, 50),
			"0.00 0.00 0.00 0.00", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := RiskOf(tt.list, sol, now)
			if got := fmt.Sprintf("%.2f %.2f %.2f %.2f", r.Growth, r.Latency, r.Errors, r.Score); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if r.Advise() != tt.advise {
				t.Errorf("advises: %v, want %v", r.Advise(), tt.advise)
			}
		})
	}
}

func TestAlerts(t *testing.T) {
	now := monday.AddDate(0, 0, 9)
	// days ago, successes, failures
	ago := func(d time.Duration, good, bad int, change ...func(*Attempt)) []Attempt {
		after := now.Sub(monday) - d
		return append(
			slices.Repeat([]Attempt{at(after, "sol", "", change...)}, good),
			slices.Repeat([]Attempt{at(after, "sol", full, change...)}, bad)...)
	}
	day, hour := 24*time.Hour, time.Hour
	retry := func(a *Attempt) { a.RetryCount, a.Cost = 1, 1 }
	paid := func(a *Attempt) { a.Cost = 1 }
	cheap := func(a *Attempt) { a.Cost = 0.004 }
	tried := func(a *Attempt) { a.RetryCount = 1 }
	lost := func(a *Attempt) { a.Kind = models.KindNetwork }
	var busy []Attempt
	for d := range 8 {
		for h := range 24 {
			bad := 0
			if h == 14 || h == 15 || h == 20 {
				bad = 3
			}
			busy = append(busy, ago(9*day-time.Duration(d)*day-time.Duration(h)*hour, 6, bad)...)
		}
	}
	for _, tt := range []struct {
		name string
		list []Attempt
		want []string
	}{
		{"nothing to say", ago(2*day, 1000, 20), nil},
		{"the last hour", ago(time.Minute, 15, 5), []string{"p/sol had no room for 25 % of the requests of the last hour"}},
		{"too few to tell", ago(time.Minute, 0, 19), nil},
		{"from 2 % to 15 %", slices.Concat(ago(3*day, 98, 2), ago(5*hour, 85, 15)),
			[]string{"p/sol had no room for 15 % of the requests of the last day, 2 % in the week before: look at the order of the models, the quota, and what sends more than usual"}},
		{"from 10 % to 15 % is no jump", slices.Concat(ago(3*day, 90, 10), ago(5*hour, 85, 15)), nil},
		{"certain hours", busy,
			[]string{"p/sol has no room for 33 % of the requests at 14–16 h, 20–21 h, 0 % at other times: plan heavy work around it"}},
		{"retries cost too much",
			slices.Concat(ago(3*day, 90, 0, paid), ago(3*day, 10, 0, retry), ago(5*hour, 60, 0, paid),
				ago(5*hour, 40, 0, retry)),
			[]string{"retries and fallbacks are 40 % of the cost of the last day, 10 % in the week before"}},
		{"of so little money no share is told",
			slices.Concat(ago(3*day, 90, 0, cheap), ago(5*hour, 60, 0, cheap), ago(5*hour, 40, 0, retry, cheap)), nil},
		{"what was never billed costs nothing",
			slices.Concat(ago(3*day, 1, 0, paid), ago(5*hour, 2, 0, paid), ago(5*hour, 0, 60, tried, lost)), nil},
		{"a first start without a network costs nothing", ago(5*hour, 0, 60, tried, lost), nil},
		{"retries as always",
			slices.Concat(ago(3*day, 70, 0, paid), ago(3*day, 30, 0, retry), ago(5*hour, 60, 0, paid),
				ago(5*hour, 40, 0, retry)), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, a := range Alerts(sorted(tt.list), now, time.UTC, Limits{}) {
				got = append(got, a.String())
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%q, want\n%q", got, tt.want)
			}
		})
	}
	if got := Alerts(ago(time.Minute, 8, 2), now, time.UTC, Limits{Share: 0.1, MinAttempts: 10}); len(got) != 1 ||
		got[0].Kind != AlertShare ||
		got[0].Key() != "capacity share p/sol" {
		t.Errorf("with limits of one's own: %v", got)
	}
}

func TestSummaries(t *testing.T) {
	size := func(n int64) func(*Attempt) { return func(a *Attempt) { a.InputTokens = n } }
	in := func(p string) func(*Attempt) { return func(a *Attempt) { a.ProjectID = p } }
	list := []Attempt{
		at(0, "sol", "", size(500), in("/a"), func(a *Attempt) {
			a.Cost, a.OutputTokens, a.CachedTokens, a.FirstTokenMS, a.LatencyMS = 0.5, 10, 400, 1000, 4000
		}),
		at(time.Minute, "sol", full, size(500), in("/a")),
		at(time.Hour, "sol", full, size(70_000), in("/b"),
			func(a *Attempt) { a.RetryCount, a.DelayMS, a.FallbackModel = 1, 2000, "p/terra" }),
		at(time.Hour, "terra", "", size(70_000), in("/b"), func(a *Attempt) { a.RetryCount, a.LatencyMS = 2, 8000 }),
		at(23*time.Hour, "sol", models.KindAuth, size(0), in("/b")),
	}
	keys := func(by By) string {
		var s []string
		for _, r := range Summary(list, by, time.UTC) {
			s = append(s, fmt.Sprintf("%s %d/%d/%d", r.Key, r.Succeeded, r.Outcomes, r.Attempts))
		}
		return strings.Join(s, "; ")
	}
	for by, want := range map[By]string{
		ByModel:   "p/sol 1/3/4; p/terra 1/1/1",
		ByProject: "/b 1/2/3; /a 1/2/2",
		ByHour:    "00–01 h 1/2/2; 01–02 h 1/2/2; 23–24 h 0/0/1",
		BySize:    "unknown 0/0/1; 0k–1k 1/2/2; 64k–96k 1/2/2",
	} {
		if got := keys(by); got != want {
			t.Errorf("by %s: %s, want %s", by, got, want)
		}
	}
	want := Row{
		Key: "total", Attempts: 5, Outcomes: 4, Succeeded: 2, Capacity: 2, Retries: 2, Fallbacks: 1, Input: 141_000,
		Output: 10, Cached: 400, Cost: 0.5,
		FirstTokenMS: 750, LatencyMS: 6000, Latency95MS: 7800, WaitedMS: 2000,
	}
	if got := Total(list); got != want || got.OK() != 0.5 || got.Full() != 0.5 {
		t.Errorf("Total() =\n%+v, want\n%+v", got, want)
	}
	if got := Total(nil); got != (Row{Key: "total"}) || got.OK() != 0 {
		t.Errorf("Total(nil) = %+v", got)
	}
	for _, by := range []string{"model", "project", "hour", "size"} {
		if got, err := ParseBy(" " + strings.ToUpper(by)); err != nil || string(got) != by {
			t.Errorf("ParseBy(%s) = %v, %v", by, got, err)
		}
	}
	if _, err := ParseBy("moon"); err == nil {
		t.Error("ParseBy(moon) succeeded")
	}
}

func FuzzClean(f *testing.F) {
	f.Add("https://u:p@h/v1?k=s#f", "a\x1b]0;x\x07\u202e\xff"+strings.Repeat("é", 150))
	f.Add("://", "")
	f.Add("postgres:secret", "x")
	f.Fuzz(func(t *testing.T, endpoint, text string) {
		a := Attempt{Endpoint: endpoint, ErrorCode: text, ServedModel: text, RequestID: text}.Clean()
		if strings.ContainsAny(a.Endpoint, "?#") || len(a.Endpoint) > maxText {
			t.Errorf("endpoint %q became %q", endpoint, a.Endpoint)
		}
		for _, s := range []string{a.Endpoint, a.ErrorCode, a.ServedModel, a.RequestID} {
			if len(s) > maxText || !utf8.ValidString(s) || strings.ContainsFunc(s, isUnsafe) {
				t.Errorf("%q became %q", text, s)
			}
		}
		if again := a.Clean(); again != a {
			t.Errorf("cleaning twice gives %+v, then %+v", a, again)
		}
		if _, err := json.Marshal(a); err != nil {
			t.Error(err)
		}
	})
}

// month is 100,000 attempts in a month.
func month() []Attempt {
	list := make([]Attempt, 100_000)
	for i := range list {
		kind := models.Kind("")
		if i%17 == 0 {
			kind = full
		}
		list[i] = at(time.Duration(i)*26*time.Second, []string{"sol", "terra", "luna"}[i%3], kind, func(a *Attempt) {
			a.Cost = 0.1
			a.ProjectID = fmt.Sprintf("/project/%d", i%20)
			a.Session = fmt.Sprintf("s%d", i/100)
			a.Turn = i / 10
			a.InputTokens = int64(i * 7919 % 300_000)
			a.LatencyMS = int64(i * 104729 % 20_000)
			a.FirstTokenMS = int64(i * 15485863 % 3000)
		})
	}
	return list
}

func Benchmark100000(b *testing.B) {
	list := month()
	now := list[len(list)-1].CreatedAt
	for name, do := range map[string]func(){
		"summary by model":   func() { Summary(list, ByModel, time.Local) },
		"summary by project": func() { Summary(list, ByProject, time.Local) },
		"summary by hour":    func() { Summary(list, ByHour, time.Local) },
		"summary by size":    func() { Summary(list, BySize, time.Local) },
		"episodes":           func() { Episodes(list, now) },
		"weeks":              func() { Weeks(list, time.Local, now) },
		"sizes":              func() { SizesOf(list) },
		"cost":               func() { CostOfSuccess(list) },
		"alerts":             func() { Alerts(list, now, time.Local, Limits{}) },
		"risk":               func() { RiskOf(list, models.Target{Provider: "p", Model: "sol"}, now) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}

func TestWhatAnAttemptSays(t *testing.T) {
	for _, tt := range []struct {
		name    string
		attempt Attempt
		counts  bool // for or against its target
		lost    bool
		billed  bool
	}{
		{"a reply", Attempt{StatusCode: 200}, true, false, true},
		{"no capacity", Attempt{Kind: full, StatusCode: 503, InputTokens: 900}, true, false, false},
		{"broken at the provider", Attempt{Kind: models.KindServer, StatusCode: 500}, true, false, false},
		{"closed without an answer", Attempt{Kind: models.KindServer, InputTokens: 900}, false, true, false},
		{"no connection", Attempt{Kind: models.KindNetwork, InputTokens: 900}, false, true, false},
		{"nothing runs there", Attempt{Kind: models.KindAbsent}, false, true, false},
		{"something between answered", Attempt{Kind: models.KindGateway, StatusCode: 502}, false, true, false},
		{"a refused request", Attempt{Kind: models.KindRequest, StatusCode: 400}, false, false, false},
		{"stopped by its user", Attempt{Kind: models.KindCancelled}, false, false, false},
		{"broken off after it had been counted", Attempt{Kind: models.KindStream, StatusCode: 200, OutputTokens: 80},
			true, false, true},
		{"broken off before", Attempt{Kind: models.KindStream, StatusCode: 200, InputTokens: 900}, true, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &tt.attempt
			if a.Counts() != tt.counts || a.Lost() != tt.lost || a.Billed() != tt.billed || a.Asked() != (tt.counts || tt.lost) {
				t.Errorf("counts %v, lost %v, billed %v, asked %v", a.Counts(), a.Lost(), a.Billed(), a.Asked())
			}
		})
	}
}

func TestWhatTheNetworkTookIsNotAnswered(t *testing.T) {
	list := slices.Concat(
		slices.Repeat([]Attempt{at(0, "sol", "")}, 20),
		slices.Repeat([]Attempt{at(0, "sol", models.KindNetwork)}, 40),
		slices.Repeat([]Attempt{at(0, "sol", models.KindServer)}, 12),
	)
	row := Total(list)
	if row.Attempts != 72 || row.Outcomes != 20 || row.Lost != 52 || row.Asked() != 72 {
		t.Errorf("%+v", row)
	}
	if got, want := row.OK(), 20.0/72; got != want {
		t.Errorf("answered %v, want %v", got, want)
	}
	if risk := RiskOf(list, models.Target{Provider: "p", Model: "sol"}, monday.Add(time.Minute)); risk.Errors != 0 {
		t.Errorf("the risk index counts it: %+v", risk)
	}
}
