package engine

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"belay/models"
	"belay/models/rehearsal"
	"belay/session"
)

// alone leaves one target, so that what is seen is what it gets.
func alone(r *rig) {
	r.tiers = map[models.Tier][]models.Target{models.Heavy: {sol}}
}

func TestADelayIsKeptInWhateverFormItIsStated(t *testing.T) {
	t.Parallel()
	const unstated = 1500 * time.Millisecond // a growing step of one second, and half a second of jitter
	const ahead = 2 * time.Hour              // of the server's clock
	date := func(d time.Duration) string {
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(ahead + d).Format(http.TimeFormat)
	}
	for _, tt := range []struct {
		name, fault string
		want        time.Duration // until the next request; 0: parked
	}{
		{"seconds", `headers = { Retry-After = "3" }`, 3 * time.Second},
		{"decimal seconds", `headers = { Retry-After = "2.25" }`, 2250 * time.Millisecond},
		{"milliseconds before seconds", `headers = { Retry-After-Ms = "700", Retry-After = "9" }`, 700 * time.Millisecond},
		{"a date, although our clock is two hours late", `headers = { Retry-After = "` + date(7*time.Second) + `" }`,
			7 * time.Second},
		{"a date that is past", `headers = { Retry-After = "` + date(-time.Minute) + `" }`, 500 * time.Millisecond},
		{"in the body", `body = '{"error":{"code":"server_is_overloaded","message":"full","retry_after_seconds":4}}'`,
			4 * time.Second},
		{"in the words", `message = "We are full. Please try again in 2.5s."`, 2500 * time.Millisecond},
		{"in other words", `message = "Overloaded. Please retry after 20 seconds."`, 20 * time.Second},
		{"malformed", `headers = { Retry-After = "soon" }`, unstated},
		{"negative", `headers = { Retry-After = "-5" }`, unstated},
		{"not a number", `headers = { Retry-After = "NaN" }`, unstated},
		{"for ever", `headers = { Retry-After = "Inf" }`, unstated},
		{"not at all", ``, unstated},
		{"an hour", `headers = { Retry-After = "3600" }`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fault := `how = "status", status = 503, code = "server_is_overloaded", `
			if !strings.Contains(tt.fault, "message") {
				fault += `message = "full", `
			}
			script := "models = [\"sol\"]\n[[reply]]\nfault = { " + strings.TrimSuffix(
				fault+tt.fault,
				", ",
			) + " }\n[[reply]]\ntext = \"Here.\"\n"
			inBubble(t, "", func(r *rig) {
				alone(r)
				parsed, err := rehearsal.Parse("test.toml", []byte(script))
				if err != nil {
					t.Fatal(err)
				}
				r.server = rehearsal.New(parsed, rehearsal.Options{Now: func() time.Time { return time.Now().Add(ahead) }})
			}, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "go")
				s := r.wait(id)
				log := r.requests()
				if tt.want == 0 {
					if rest := time.Until(s.RetryAt); s.Status != session.Parked || len(log) != 1 || rest != time.Hour {
						t.Errorf("Status = %s for %v after %d requests", s.Status, rest, len(log))
					}
					return
				}
				if s.Status != session.Idle || len(log) != 2 {
					t.Fatalf("Status = %s after %d requests, %v", s.Status, len(log), s.Fault)
				}
				if got := log[1].Time.Sub(log[0].Time); got.Round(10*time.Millisecond) != tt.want.Round(10*time.Millisecond) {
					t.Errorf("asked again after %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestEachKindOfTroubleHasItsRemedy(t *testing.T) {
	t.Parallel()
	fails := func(fault string) string {
		return "[[reply]]\ntimes = -1\ntext = \"Some words.\"\nfault = { " + fault + " }\n"
	}
	status := func(n int, code, message string) string {
		return fails(fmt.Sprintf("how = \"status\", status = %d, code = %q, message = %q", n, code, message))
	}
	const good = "[[reply]]\ntext = \"Some words.\"\n"
	for _, tt := range []struct {
		name, script string
		kind         models.Kind
		requests     int
		want         session.Status
		words        string // of the server, which are kept
	}{
		{"a wrong key", status(401, "invalid_api_key", "Incorrect API key provided."), models.KindAuth, 1, session.Failed,
			"Incorrect API key"},
		{"a block page", fails(`how = "html", status = 403, body = "<html><title>Blocked by policy</title></html>"`),
			models.KindAuth, 1, session.Failed, "Blocked by policy"},
		{"billing", status(429, "insufficient_quota", "You exceeded your current quota."), models.KindBilling, 1,
			session.Failed, "exceeded your current quota"},
		{"a spend limit", status(402, "payment_required", "Add credits."), models.KindBilling, 1, session.Failed,
			"Add credits"},
		{"a usage limit", fails(`how = "status", status = 429, code = "usage_limit_reached", message = "Used up.", ` +
			`headers = { Retry-After = "7200" }`), models.KindUsage, 1, session.Parked, "Used up"},
		{"a refused request", status(400, "invalid_value", "Invalid value: 'x'."), models.KindRequest, 1, session.Failed,
			"Invalid value"},
		{"a refused prompt", fails(`how = "failed", code = "invalid_prompt", message = "Against the policy."`),
			models.KindRequest, 1, session.Failed, "Against the policy"},
		{"an unknown name", status(404, "model_not_found", "The model does not exist."), models.KindModel, 1,
			session.Failed, "does not exist"},
		{"no room, with a status", status(529, "overloaded_error", "Overloaded"), models.KindCapacity, 3, session.Parked,
			"Overloaded"},
		{"no room, in the stream", fails(`how = "error", code = "no_capacity", message = "High demand."`),
			models.KindCapacity, 3, session.Parked, "High demand"},
		{"a rate limit without a time", status(429, "rate_limit_exceeded", "Slow down, please."), models.KindRate, 4,
			session.Parked, "Slow down"},
		{"a broken server", status(500, "server_error", "Oops."), models.KindServer, 4, session.Parked, "Oops"},
		{"an HTML page with 502", fails(`how = "html"`), models.KindGateway, 4, session.Parked, "502 Bad Gateway"},
		{"a captive portal", fails(`how = "portal"`), models.KindGateway, 4, session.Parked, "Welcome to Guest WiFi"},
		{"a wrong content type", "[[reply]]\ntext = \"Some words.\"\ncontent_type = \"text/plain\"\n", "", 1,
			session.Idle, ""},
		{"no content type", "[[reply]]\ntext = \"Some words.\"\ncontent_type = \"none\"\n", "", 1, session.Idle, ""},
		{"no stream although one was asked for", "[[reply]]\ntext = \"Some words.\"\nwhole = true\n", "", 1, session.Idle,
			""},
		{"a cut", fails(`how = "cut", at = "text", after = 4`), models.KindStream, 4, session.Parked, ""},
		{"a reset", fails(`how = "reset", at = "text", after = 4`), models.KindStream, 4, session.Parked, ""},
		{"an end without an ending", fails(`how = "end", at = "text", after = 4`), models.KindStream, 4, session.Parked, ""},
		{"silence", fails(`how = "stall", at = "text", after = 4`), models.KindStream, 4, session.Parked, ""},
		{"comments only", fails(`how = "comments"`), models.KindStream, 4, session.Parked, ""},
		{"malformed JSON", fails(`how = "malformed", at = "text", after = 4`), models.KindStream, 4, session.Parked, ""},
		{"a delta of two megabytes", strings.Replace(fails(`how = "huge", at = "text", after = 4, size = 2000000`),
			"times = -1\n", "", 1), "", 1, session.Idle, ""},
		{"slow headers", good + "speed = { headers = \"200s\" }\n", "", 1, session.Idle, ""},
		{"headers that do not come", strings.Replace(good, "\n", "\ntimes = -1\n", 1) + "speed = { headers = \"20m\" }\n",
			models.KindStream, 4, session.Parked, ""},
	} {
		for _, api := range apis {
			t.Run(tt.name+" over "+string(api), func(t *testing.T) {
				inBubble(t, tt.script, func(r *rig) { alone(r); r.api = api }, func(t *testing.T, r *rig, id session.ID) {
					r.send(id, "go")
					s := r.wait(id)
					if s.Status != tt.want || len(r.requests()) != tt.requests {
						t.Errorf("%s after %d requests, want %s after %d: %v", s.Status, len(r.requests()), tt.want, tt.requests, s.Fault)
					}
					if tt.kind == "" {
						return
					}
					if s.Fault == nil || s.Fault.Kind != tt.kind || !strings.Contains(s.Fault.Message+s.Fault.Raw, tt.words) {
						t.Fatalf("fault %+v, want %s with %q", s.Fault, tt.kind, tt.words)
					}
					r.checkLedger()
					if said := strings.Count(r.log(id), "cut:"); said > tt.requests || strings.Contains(r.log(id), "message:") {
						t.Errorf("log is %s", r.log(id))
					}
				})
			})
		}
	}
}
