package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
	"belay/models/diagnose"
	"belay/models/openai"
	"belay/models/rehearsal"
)

var target = models.Target{Provider: "acme", Model: "m"}

// result is what a test looks at after an attempt.
type result struct {
	chunks    []models.Chunk
	text      string
	reasoning string
	items     []models.Item
	opened    *models.Opened
	finished  *models.Finished
	fault     *models.Fault
}

func attempt(t testing.TB, ctx context.Context, c models.Client, req models.Request) result {
	t.Helper()
	return attemptAt(t, ctx, c, target, req)
}

func attemptAt(
	t testing.TB, ctx context.Context, c models.Client, target models.Target, req models.Request,
) result {
	t.Helper()
	var r result
	for chunk, err := range c.Stream(ctx, target, req) {
		if r.finished != nil || r.fault != nil {
			t.Errorf("something follows the end: %v %v", chunk, err)
		}
		if err != nil {
			if !errors.As(err, &r.fault) {
				t.Errorf("error %v is no fault", err)
			}
			continue
		}
		r.chunks = append(r.chunks, chunk)
		switch c := chunk.(type) {
		case models.Opened:
			r.opened = &c
		case models.TextDelta:
			r.text += c.Text
		case models.ReasoningDelta:
			r.reasoning += c.Text
		case models.ItemDone:
			r.items = append(r.items, c.Item)
		case models.Finished:
			r.finished = &c
		}
	}
	if r.finished == nil && r.fault == nil {
		t.Error("neither finished nor a fault")
	}
	return r
}

func provider(api models.API) models.Provider {
	return models.Provider{
		Name:    "acme",
		BaseURL: "http://rehearsal/v1",
		API:     api,
		Key:     "secret-key-1",
		KeyEnv:  "ACME_KEY",
	}
}

func client(rt http.RoundTripper, p ...models.Provider) *openai.Client {
	return openai.New(openai.Options{Providers: p, HTTP: &http.Client{Transport: rt}, Version: "1.2"})
}

func script(t testing.TB, text string) *rehearsal.Server {
	t.Helper()
	s, err := rehearsal.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rehearsal.New(s, rehearsal.Options{})
}

func hello() models.Request {
	return models.Request{
		Items: []models.Item{models.NewMessage(models.User, "hi")},
		Tools: []models.ToolSpec{{Name: "ls"}},
	}
}

const fullReply = `
reasoning = "I think."
text = "0123456789"
calls = [{ name = "ls", arguments = { path = "." } }]
`

// slow makes replies come in pieces; inside a bubble only, where it costs nothing.
const slow = "[speed]\nchunk = 4\ndelay = \"10ms\"\n"

func TestFaults(t *testing.T) {
	both := []models.API{models.Responses, models.Chat}
	for _, c := range []struct {
		name  string
		fault string
		apis  []models.API
		whole bool
		local bool

		kind    models.Kind
		phase   models.Phase
		code    string
		status  int
		text    string // what was said before
		items   int    // finished before
		delay   time.Duration
		elapsed time.Duration // at least
		is      error
	}{
		{name: "503 at capacity", fault: `how="status",status=503,code="server_is_overloaded"`, kind: models.KindCapacity,
			phase: models.BeforeEvent, code: "server_is_overloaded", status: 503},
		{name: "429 no_capacity", fault: `how="status",status=429,code="no_capacity"`, kind: models.KindCapacity,
			phase: models.BeforeEvent, code: "no_capacity", status: 429},
		{name: "rate with a delay", fault: `how="status",status=429,code="rate_limit_exceeded",headers={Retry-After="7"}`,
			kind: models.KindRate, phase: models.BeforeEvent, code: "rate_limit_exceeded", status: 429, delay: 7 * time.Second},
		{name: "usage until a reset",
			fault: `how="status",status=429,body='{"error":{"type":"usage_limit_reached","message":"m","resets_in_seconds":3600}}'`, kind: models.KindUsage, phase: models.BeforeEvent, status: 429, delay: time.Hour},
		{name: "no credit", fault: `how="status",status=429,code="insufficient_quota"`, kind: models.KindBilling,
			phase: models.BeforeEvent, code: "insufficient_quota", status: 429},
		{name: "wrong key", fault: `how="status",status=401,code="invalid_api_key"`, kind: models.KindAuth,
			phase: models.BeforeEvent, code: "invalid_api_key", status: 401},
		{name: "blocked page", fault: `how="html",status=403`, kind: models.KindAuth, phase: models.BeforeEvent, status: 403},
		{name: "unknown model", fault: `how="status",status=404,code="model_not_found"`, kind: models.KindModel,
			phase: models.BeforeEvent, code: "model_not_found", status: 404},
		{name: "bad request", fault: `how="status",status=400,message="Unknown parameter"`, kind: models.KindRequest,
			phase: models.BeforeEvent, status: 400},
		{name: "detail only", fault: `how="status",status=400,body='{"detail":"nope"}'`, kind: models.KindRequest,
			phase: models.BeforeEvent, status: 400},
		{name: "too long", fault: `how="status",status=400,code="context_length_exceeded"`, kind: models.KindSize,
			phase: models.BeforeEvent, code: "context_length_exceeded", status: 400},
		{name: "error as a string", fault: `how="status",status=500,body='{"error":"boom"}'`, kind: models.KindServer,
			phase: models.BeforeEvent, status: 500},
		{name: "gateway page", fault: `how="html"`, kind: models.KindGateway, phase: models.BeforeEvent, status: 502},
		{name: "captive portal", fault: `how="portal"`, kind: models.KindGateway, phase: models.BeforeEvent, status: 200},
		{name: "local relay",
			fault: `how="status",status=500,body="cc switch local proxy failed while handling codex endpoint /responses"`,
			kind:  models.KindGateway, phase: models.BeforeEvent, status: 500},
		{name: "refused", fault: `how="refuse"`, kind: models.KindNetwork, phase: models.BeforeHeaders},
		{name: "refused at home", fault: `how="refuse"`, local: true, kind: models.KindAbsent, phase: models.BeforeHeaders},
		{name: "no such host", fault: `how="dns"`, kind: models.KindNetwork, phase: models.BeforeHeaders},
		{name: "closed before headers", fault: `how="close"`, kind: models.KindNetwork, phase: models.BeforeHeaders},

		{name: "error event before the first word", fault: `how="error"`, kind: models.KindCapacity,
			phase: models.BeforeEvent, code: "server_is_overloaded", status: 200},
		{name: "flat error event", fault: `how="error-flat",code="slow_down",message="m"`, kind: models.KindCapacity,
			phase: models.BeforeEvent, code: "slow_down", status: 200},
		{name: "error event in reasoning", fault: `how="error",at="reasoning"`, kind: models.KindCapacity,
			phase: models.InReasoning, code: "server_is_overloaded", status: 200},
		{name: "error event in text", fault: `how="error",at="text",after=8`, kind: models.KindCapacity,
			phase: models.InText, code: "server_is_overloaded", status: 200, text: "01234567", items: 1},
		{name: "error event in arguments", fault: `how="error",at="arguments"`, kind: models.KindCapacity,
			phase: models.InArguments, code: "server_is_overloaded", status: 200, text: "0123456789", items: 2},
		{name: "error event after an item", fault: `how="error",at="item",after=1`, apis: both[:1],
			kind: models.KindCapacity, phase: models.BetweenItems, code: "server_is_overloaded", status: 200, items: 1},
		{name: "response.failed in text", fault: `how="failed",at="text",after=8`, apis: both[:1],
			kind: models.KindCapacity, phase: models.InText, code: "server_is_overloaded", status: 200, text: "01234567",
			items: 1},
		{name: "failed as OpenRouter says it", fault: `how="failed",at="text",after=8,code="x",message="m"`, apis: both[1:],
			kind: models.KindCapacity, phase: models.InText, code: "503", status: 200, text: "01234567", items: 1},
		{name: "response.failed after the last item", fault: `how="failed",at="end"`, apis: both[:1],
			kind: models.KindCapacity, phase: models.AfterLastItem, code: "server_is_overloaded", status: 200,
			text: "0123456789", items: 3},
		{name: "unknown code is carried", fault: `how="error",code="brand_new",message="m"`, kind: models.KindServer,
			phase: models.BeforeEvent, code: "brand_new", status: 200},

		{name: "truncated", fault: `how="incomplete",at="text",after=8`, kind: models.KindIncomplete, phase: models.InText,
			code: "max_output_tokens", status: 200, text: "01234567", items: 2},
		{name: "truncated arguments never run", fault: `how="incomplete",at="arguments"`, kind: models.KindIncomplete,
			phase: models.InArguments, code: "max_output_tokens", status: 200, text: "0123456789", items: 2},
		{name: "filtered", fault: `how="incomplete",at="text",after=8,code="content_filter"`, kind: models.KindIncomplete,
			phase: models.InText, code: "content_filter", status: 200, text: "01234567", items: 2},

		{name: "cut in text", fault: `how="cut",at="text",after=8`, kind: models.KindStream, phase: models.InText,
			status: 200, text: "01234567", items: 1},
		{name: "reset in arguments", fault: `how="reset",at="arguments"`, kind: models.KindStream,
			phase: models.InArguments, status: 200, text: "0123456789", items: 2},
		{name: "cut after an item", fault: `how="cut",at="item",after=2`, apis: both[:1], kind: models.KindStream,
			phase: models.BetweenItems, status: 200, text: "0123456789", items: 2},
		{name: "no terminal event", fault: `how="end",at="text",after=8`, kind: models.KindStream, phase: models.InText,
			status: 200, text: "01234567", items: 1, is: diagnose.ErrUnended},
		{name: "nothing but the beginning", fault: `how="end"`, kind: models.KindStream, phase: models.BeforeEvent,
			status: 200, is: diagnose.ErrUnended},
		{name: "malformed", fault: `how="malformed",at="text",after=8`, kind: models.KindStream, phase: models.InText,
			status: 200, text: "01234567", items: 1, is: diagnose.ErrMalformed},
		{name: "a line too long", fault: `how="huge",at="text",after=8,size=34000000`, kind: models.KindStream,
			phase: models.InText, status: 200, text: "01234567", items: 1, is: diagnose.ErrTooLarge},
		{name: "silent before the first word", fault: `how="stall"`, kind: models.KindStream, phase: models.BeforeEvent,
			status: 200, elapsed: 300 * time.Second, is: diagnose.ErrSilent},
		{name: "silent in reasoning", fault: `how="stall",at="reasoning"`, kind: models.KindStream,
			phase: models.InReasoning, status: 200, elapsed: 300 * time.Second, is: diagnose.ErrSilent},
		{name: "silent in text", fault: `how="stall",at="text",after=8`, kind: models.KindStream, phase: models.InText,
			status: 200, text: "01234567", items: 1, elapsed: 120 * time.Second, is: diagnose.ErrSilent},
		{name: "comments are no progress", fault: `how="comments",at="text",after=8`, kind: models.KindStream,
			phase: models.InText, status: 200, text: "01234567", items: 1, elapsed: 120 * time.Second, is: diagnose.ErrSilent},

		{name: "whole: 503", whole: true, fault: `how="error"`, kind: models.KindCapacity, phase: models.BeforeEvent,
			code: "server_is_overloaded", status: 503},
		{name: "whole: failed", whole: true, apis: both[:1], fault: `how="failed"`, kind: models.KindCapacity,
			phase: models.BeforeEvent, code: "server_is_overloaded", status: 200},
		{name: "whole: cut", whole: true, fault: `how="cut"`, kind: models.KindStream, phase: models.BeforeEvent,
			status: 200},
		{name: "whole: torn", whole: true, fault: `how="end"`, kind: models.KindStream, phase: models.BeforeEvent,
			status: 200, is: diagnose.ErrUnended},
		{name: "whole: silent", whole: true, fault: `how="stall"`, kind: models.KindStream, phase: models.BeforeEvent,
			status: 200, elapsed: 300 * time.Second, is: diagnose.ErrSilent},
		{name: "whole: truncated", whole: true, apis: both[1:], fault: `how="incomplete"`, kind: models.KindIncomplete,
			phase: models.InArguments, code: "max_output_tokens", status: 200, text: "0123456789", items: 3},
	} {
		if c.apis == nil {
			c.apis = both
		}
		for _, api := range c.apis {
			t.Run(fmt.Sprintf("%s, %s", c.name, api), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					server := script(t, slow+"[[reply]]\n"+fullReply+"fault = { "+c.fault+" }\n")
					p := provider(api)
					p.Local = c.local
					req := hello()
					req.NoStream = c.whole
					begin := time.Now()
					got := attempt(t, t.Context(), client(server, p), req)
					f := got.fault
					if f == nil {
						t.Fatalf("no fault: %+v", got)
					}
					if f.Kind != c.kind || f.Phase != c.phase || f.Code != c.code || f.Status != c.status {
						t.Errorf("got %s, %s, code %q, status %d\nwant %s, %s, code %q, status %d\n(%v)",
							f.Kind, f.Phase, f.Code, f.Status, c.kind, c.phase, c.code, c.status, f)
					}
					if got.text != c.text || len(got.items) != c.items {
						t.Errorf("text %q and %d items, want %q and %d", got.text, len(got.items), c.text, c.items)
					}
					if f.RetryAfter != c.delay || f.Delayed != (c.delay > 0) {
						t.Errorf("delay %v %v, want %v", f.Delayed, f.RetryAfter, c.delay)
					}
					if d := time.Since(begin); d < c.elapsed || d > c.elapsed+10*time.Second || f.Elapsed != d {
						t.Errorf("took %v, fault says %v, want about %v", d, f.Elapsed, c.elapsed)
					}
					if c.is != nil && !errors.Is(f, c.is) {
						t.Errorf("cause %v, want %v", f.Err, c.is)
					}
					if f.Target != target || f.Hint == "" || f.Scope == "" || f.Status != 0 && f.RequestID == "" {
						t.Errorf("target %v, scope %q, request id %q, hint %q", f.Target, f.Scope, f.RequestID, f.Hint)
					}
					if n := len(server.Log()); n != 1 {
						t.Errorf("%d requests, want exactly one", n)
					}
				})
			})
		}
	}
}

func TestSlowHeadersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := script(t, "[[reply]]\ntext='x'\nspeed={headers='400s'}\n")
		got := attempt(t, t.Context(), client(server, provider(models.Responses)), hello())
		if f := got.fault; f == nil || f.Kind != models.KindStream || f.Phase != models.BeforeHeaders ||
			f.Elapsed != 300*time.Second {
			t.Errorf("fault %+v", f)
		}
	})
}

// stuck is a body that never comes.
type stuck struct{ ctx context.Context }

func (s stuck) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (stuck) Close() error { return nil }

func TestAnErrorNeedsNoBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 503, Header: http.Header{}, Body: stuck{r.Context()}, Request: r}, nil
		})
		got := attempt(t, t.Context(), client(rt, provider(models.Chat)), hello())
		if f := got.fault; f == nil || f.Kind != models.KindCapacity || f.Elapsed != 30*time.Second {
			t.Errorf("fault %+v", f)
		}
	})
}

func TestALocalModelMayTakeTimeToLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := script(t, "[[reply]]\ntext='x'\nspeed={headers='110s'}\n")
		p := provider(models.Chat)
		p.Local = true
		c := openai.New(openai.Options{
			Providers: []models.Provider{p},
			HTTP:      &http.Client{Transport: server},
			Timeouts:  openai.Timeouts{FirstEvent: 30 * time.Second},
		})
		if got := attempt(t, t.Context(), c, hello()); got.finished == nil {
			t.Errorf("fault %v", got.fault)
		}
	})
}

func TestCancelKeepsItsCause(t *testing.T) {
	why := errors.New("the user pressed esc")
	for _, fault := range []string{"how='stall'", "how='stall',at='text'", "how='comments',at='arguments'"} {
		for _, api := range []models.API{models.Responses, models.Chat} {
			synctest.Test(t, func(t *testing.T) {
				server := script(t, slow+"[[reply]]\n"+fullReply+"fault={"+fault+"}\n")
				ctx, cancel := context.WithCancelCause(t.Context())
				begin := time.Now()
				time.AfterFunc(5*time.Second, func() { cancel(why) })
				got := attempt(t, ctx, client(server, provider(api)), hello())
				if f := got.fault; f == nil || f.Kind != models.KindCancelled || !errors.Is(f, why) {
					t.Errorf("fault %v, want cancelled by %v", f, why)
				}
				if d := time.Since(begin); d != 5*time.Second {
					t.Errorf("ended after %v", d)
				}
			})
		}
	}
}

func TestLeavingEarlyEndsTheAttempt(t *testing.T) {
	for _, api := range []models.API{models.Responses, models.Chat} {
		synctest.Test(t, func(t *testing.T) {
			server := script(t, slow+"[[reply]]\n"+fullReply)
			for chunk, err := range client(server, provider(api)).Stream(t.Context(), target, hello()) {
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := chunk.(models.TextDelta); ok {
					break
				}
			}
			if got := server.Log()[0].Outcome; got != "left" {
				t.Errorf("outcome %q, want left", got)
			}
		})
	}
}

func TestASlowCallerIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := script(t, "[[reply]]\ntext='0123'\nspeed={chunk=1,delay='100s'}\n")
		var end error
		for _, err := range client(server, provider(models.Responses)).Stream(t.Context(), target, hello()) {
			time.Sleep(time.Hour)
			end = err
		}
		if end != nil {
			t.Errorf("ended with %v", end)
		}
	})
}

func TestUnknownProviderIsNamed(t *testing.T) {
	c := client(nil, models.Provider{Name: "acne"})
	got := attempt(t, t.Context(), c, hello())
	if f := got.fault; f == nil || f.Kind != models.KindModel || len(f.Nearest) != 1 || f.Nearest[0] != "acne" ||
		f.Hint == "" {
		t.Errorf("fault %+v", f)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	rt := roundTrip(func(r *http.Request) (*http.Response, error) {
		if !strings.HasPrefix(r.URL.Host, "rehearsal") {
			t.Errorf("the request went to %s with %q", r.URL, r.Header.Get("Authorization"))
		}
		return &http.Response{
			StatusCode: 307,
			Header:     http.Header{"Location": {"http://elsewhere/"}},
			Body:       http.NoBody,
			Request:    r,
		}, nil
	})
	for _, api := range []models.API{models.Responses, models.Chat} {
		if f := attempt(t, t.Context(), client(rt, provider(api)), hello()).fault; f == nil ||
			f.Kind != models.KindRequest || !strings.Contains(f.Message, "http://elsewhere/") {
			t.Errorf("%s: fault %v, want request, with the address", api, f)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
