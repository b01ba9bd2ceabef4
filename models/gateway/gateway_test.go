package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"belay/models"
	"belay/models/capacity"
	"belay/models/openai"
	"belay/models/rehearsal"
	"belay/models/route"
)

var (
	sol   = models.Target{Provider: "p", Model: "sol"}
	terra = models.Target{Provider: "p", Model: "terra"}
	luna  = models.Target{Provider: "c", Model: "luna"} // by Chat Completions
)

// rig is a gateway to scripted models, with the real router and client.
type rig struct {
	*Gateway
	upstream *rehearsal.Server

	mu   sync.Mutex
	done []Exchange
}

// exchanges are those that are over. A client hears of an end before the listener does.
func (r *rig) exchanges() []Exchange {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Exchange(nil), r.done...)
}

func newRig(t testing.TB, script string, change func(*Options, *route.Options)) *rig {
	t.Helper()
	parsed, err := rehearsal.Parse("test.toml", []byte("models = [\"sol\", \"terra\", \"luna\"]\n"+script))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{upstream: rehearsal.New(parsed, rehearsal.Options{})}
	model := func(t models.Target) models.Model {
		return models.Model{Target: t, Window: 100_000, Tools: true, Images: true, Reasoning: true, Dialect: "openai"}
	}
	client := openai.New(openai.Options{
		Providers: []models.Provider{
			{Name: "p", BaseURL: "http://p/v1", API: models.Responses, Key: "k", KeyEnv: "KEY"},
			{Name: "c", BaseURL: "http://c/v1", API: models.Chat, Key: "k", KeyEnv: "KEY"},
		},
		HTTP: &http.Client{Transport: r.upstream}, Model: model,
	})
	tiers := map[models.Tier][]models.Target{models.Heavy: {sol}, models.Medium: {terra}, models.Light: {luna}}
	board := capacity.New(capacity.Options{Tiers: tiers, Owner: "test"})
	routing := route.Options{
		Client: client, Breakers: board, RateLimiter: board, Tiers: tiers, Model: model,
		Policy: route.Auto, Floor: models.Light, SwitchAfter: 2, Attempts: 4, MaxWait: 30 * time.Second,
		Now: time.Now, Random: func() float64 { return 0.5 },
	}
	serial := 0
	options := Options{
		Tiers:  func() map[models.Tier][]models.Target { return tiers },
		Ladder: []time.Duration{30 * time.Second, 2 * time.Minute},
		Now:    time.Now,
		NewID: func() string {
			r.mu.Lock()
			defer r.mu.Unlock()
			serial++
			return fmt.Sprint(serial)
		},
		Done: func(e Exchange) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.done = append(r.done, e)
		},
	}
	if change != nil {
		change(&options, &routing)
	}
	options.Router = route.New(routing)
	r.Gateway = New(options)
	return r
}

// RoundTrip serves a client in the same process.
func (r *rig) RoundTrip(request *http.Request) (*http.Response, error) {
	in, out := io.Pipe()
	w := &pipeWriter{header: http.Header{}, out: out, begun: make(chan struct{})}
	ctx, cancel := context.WithCancel(request.Context())
	served := request.Clone(ctx)
	served.Host = "localhost"
	if served.Body == nil {
		served.Body = http.NoBody
	}
	go func() {
		r.ServeHTTP(w, served)
		w.WriteHeader(http.StatusOK)
		_ = out.Close()
	}()
	select {
	case <-w.begun:
	case <-request.Context().Done():
		cancel()
		_ = in.CloseWithError(context.Cause(request.Context()))
		return nil, context.Cause(request.Context())
	}
	return &http.Response{
		StatusCode: w.status, Header: w.sent, Request: request, ContentLength: -1,
		Body: &body{PipeReader: in, cancel: cancel},
	}, nil
}

// body is one of a reply; to close it is to hang up.
type body struct {
	*io.PipeReader
	cancel func()
}

func (b *body) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

type pipeWriter struct {
	header, sent http.Header
	status       int
	out          *io.PipeWriter
	once         sync.Once
	begun        chan struct{}
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(p)
}

func (w *pipeWriter) FlushError() error { return nil }

// post sends a request and reads all of the answer.
func (r *rig) post(t testing.TB, path, request string) (status int, header http.Header, answer string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway"+path, strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(b)
}

const full = `
[[reply]]
times = 3
fault = { how = "status", status = 503, code = "server_is_overloaded", message = "Selected model is at capacity." }
`

const hello = `
[default]
reasoning = "Let me think."
text = "Hello, this is a reply."
`

// sdk is a client of OpenAI's own library that does not retry.
func (r *rig) sdk() responses.ResponseService {
	return responses.NewResponseService(option.WithBaseURL("http://gateway/v1/"), option.WithAPIKey("any"),
		option.WithHTTPClient(&http.Client{Transport: r}), option.WithMaxRetries(0))
}

// pinned lets nobody but one target answer.
func pinned(_ *Options, o *route.Options) { o.Policy = route.Never }

func TestAFailureAtTheStartIsNeverSeen(t *testing.T) {
	for _, script := range []struct{ name, text string }{
		{"refused", full},
		{"in an event", strings.ReplaceAll(full, `how = "status", status = 503`, `how = "error"`)},
		{"the connection is closed", "[[reply]]\ntimes = 3\nfault = { how = \"close\" }\n"},
		{"the stream is cut", "[[reply]]\ntimes = 3\nfault = { how = \"cut\" }\n"},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stream %v", script.name, stream), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, script.text+hello, pinned)
					text, err := r.sdkText(t, stream)
					if err != nil || text != "Hello, this is a reply." {
						t.Errorf("got %q, %v", text, err)
					}
					if got := len(r.upstream.Log()); got != 4 {
						t.Errorf("the model was asked %d times, want 4", got)
					}
					if e := r.exchanges(); len(e) != 1 || e[0].Outcome != Answered || e[0].Held < time.Second {
						t.Errorf("told %+v", e)
					}
				})
			})
		}
	}
}

// sdkText asks through the SDK, and gives the words of the reply.
func (r *rig) sdkText(t *testing.T, stream bool) (string, error) {
	t.Helper()
	params := responses.ResponseNewParams{
		Model: "heavy",
		Input: responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("hi")},
	}
	service := r.sdk()
	if !stream {
		res, err := service.New(t.Context(), params)
		if err != nil {
			return "", err
		}
		return res.OutputText(), nil
	}
	events := service.NewStreaming(t.Context(), params)
	var deltas, whole string
	for events.Next() {
		switch e := events.Current(); e.Type {
		case "response.output_text.delta":
			deltas += e.Delta
		case "response.completed":
			whole = e.Response.OutputText()
		case "response.failed":
			return deltas, errors.New(e.Response.Error.Message)
		}
	}
	if err := events.Err(); err != nil {
		return deltas, err
	}
	if deltas != whole {
		return deltas, fmt.Errorf("the response is %q at its end", whole)
	}
	return deltas, nil
}

func TestAnotherTargetAnswersWhenOneIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "[[reply]]\nmodel = \"sol\"\ntimes = -1\n"+
			"fault = { how = \"status\", status = 503, code = \"server_is_overloaded\" }\n"+hello, nil)
		status, _, answer := r.post(t, "/v1/chat/completions",
			`{"model":"heavy","messages":[{"role":"user","content":"hi"}]}`)
		var doc struct {
			Model   string
			Choices []struct {
				Message struct{ Content string }
			}
		}
		if err := json.Unmarshal([]byte(answer), &doc); err != nil || status != 200 || doc.Model != "p/terra" ||
			doc.Choices[0].Message.Content != "Hello, this is a reply." {
			t.Errorf("status %d: %s", status, answer)
		}
	})
}

func TestWithoutRoomTheClientIsToldToComeBack(t *testing.T) {
	const always = "[default]\nfault = { how = \"status\", status = 503, code = \"server_is_overloaded\", message = \"No room.\" }\n"
	for _, tt := range []struct{ name, path, request, want string }{
		{"chat", "/v1/chat/completions", `{"model":"heavy","messages":[{"role":"user","content":"x"}]}`, "server_is_overloaded"},
		{"responses", "/v1/responses", `{"model":"heavy","input":"x"}`, "No room."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r := newRig(t, always, nil)
				status, header, answer := r.post(t, tt.path, tt.request)
				if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(answer, tt.want) {
					t.Errorf("status %d, %v: %s", status, header, answer)
				}
				if took := time.Since(began); took < 2*time.Minute || took > 4*time.Minute+time.Second {
					t.Errorf("it took %v, want about 4 min", took)
				}
			})
		})
		t.Run(tt.name+", streaming", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, always, nil)
				status, header, answer := r.post(t, tt.path, strings.Replace(tt.request, "{", `{"stream":true,`, 1))
				if status != 200 || header.Get("Content-Type") != "text/event-stream; charset=utf-8" ||
					!strings.HasPrefix(answer, ": ") || strings.Count(answer, ": belay is waiting") < 10 {
					t.Errorf("status %d, %v: %s", status, header, answer)
				}
				last := answer[strings.LastIndex(answer, ": belay is waiting"):]
				if strings.Count(answer, "data: ") > 2 || !strings.Contains(last, "server_is_overloaded") {
					t.Errorf("it ends with %s", last)
				}
				if e := r.exchanges(); len(e) != 1 || e[0].Outcome != Refused || e[0].Code != "server_is_overloaded" {
					t.Errorf("told %+v", e)
				}
			})
		})
	}
}

func TestAModelThatFallsSilentIsGivenUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := newRig(t, "[default]\nfault = { how = \"stall\" }\n", pinned)
		status, _, answer := r.post(t, "/v1/responses", `{"model":"heavy","input":"x"}`)
		if status != http.StatusServiceUnavailable || !strings.Contains(answer, "no model has begun a reply within 4m0s") {
			t.Errorf("status %d: %s", status, answer)
		}
		if took := time.Since(began); took != 4*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

func TestAFailureInTheMiddleIsPassedOn(t *testing.T) {
	const broken = "[[reply]]\ntext = \"Hello, this is a reply that breaks.\"\n" +
		"fault = { how = \"error\", at = \"text\", after = 24, code = \"server_is_overloaded\", message = \"No room.\" }\n" + hello
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, broken, pinned)
		text, err := r.sdkText(t, true)
		if text != "Hello, this is a reply t"[:len(text)] || text == "" || err == nil || !strings.Contains(err.Error(), "No room.") {
			t.Errorf("got %q, %v", text, err)
		}
		if e := r.exchanges(); len(e) != 1 || e[0].Outcome != Broken || e[0].Code != "server_is_overloaded" {
			t.Errorf("told %+v", e)
		}
	})
	t.Run("as an error of Chat Completions", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, broken, pinned)
			_, _, answer := r.post(t, "/v1/chat/completions",
				`{"model":"heavy","stream":true,"messages":[{"role":"user","content":"x"}]}`)
			if !strings.Contains(answer, `data: {"error":{"code":"server_is_overloaded"`) || strings.Contains(answer, "[DONE]") {
				t.Errorf("answer %s", answer)
			}
		})
	})
	t.Run("but written again for a client that wants the whole", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, broken, pinned)
			if text, err := r.sdkText(t, false); err != nil || text != "Hello, this is a reply." {
				t.Errorf("got %q, %v", text, err)
			}
		})
	})
}

func TestACallThatBreaksIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const call = "calls = [{ name = \"get\", arguments = { what = \"weather\" } }]\n"
		r := newRig(t, "[[reply]]\n"+call+"fault = { how = \"cut\", at = \"arguments\", after = 5 }\n[default]\n"+call, pinned)
		_, _, answer := r.post(t, "/v1/responses", `{"model":"heavy","input":"x","stream":true,
			"tools":[{"type":"function","name":"get","parameters":{"type":"object","properties":{"what":{"type":"string"}}}}]}`)
		if strings.Count(answer, `"type":"response.output_item.done"`) != 1 || strings.Contains(answer, "error\"}") ||
			!strings.Contains(answer, `"arguments":"{\"what\":\"weather\"}"`) {
			t.Errorf("answer %s", answer)
		}
	})
}

func TestAClientThatLeavesEndsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "[default]\ntext = \"Hello, and so on, and on.\"\nspeed = { delay = \"1s\" }\n", nil)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway/v1/responses",
			strings.NewReader(`{"model":"heavy","input":"x","stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() && !strings.Contains(lines.Text(), "output_text.delta") {
		}
		_ = res.Body.Close()
		synctest.Wait()
		if log := r.upstream.Log(); len(log) != 1 || log[0].Outcome != "left" {
			t.Errorf("upstream %+v", log)
		}
		if e := r.exchanges(); len(e) != 1 || e[0].Outcome != Left {
			t.Errorf("told %+v", e)
		}
		if load := r.Load(); load != (Load{}) {
			t.Errorf("load %+v", load)
		}
	})
}

func TestTheEndOfTheGatewayIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, full+full+full+hello, pinned)
		time.AfterFunc(time.Second, r.Drain)
		status, header, answer := r.post(t, "/v1/responses", `{"model":"heavy","input":"x"}`)
		if status != 503 || header.Get("Retry-After") != "5" || !strings.Contains(answer, "the gateway is ending") {
			t.Errorf("status %d: %s", status, answer)
		}
		if status, _, _ := r.post(t, "/v1/responses", `{"model":"heavy","input":"x"}`); status != 503 {
			t.Errorf("status %d afterwards", status)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "[default]\ntext = \"Hello, and so on, and on.\"\nspeed = { delay = \"1s\" }\n", nil)
		time.AfterFunc(1500*time.Millisecond, r.Drain)
		if text, err := r.sdkText(t, true); err != nil || text != "Hello, and so on, and on." {
			t.Errorf("a reply that had begun is %q, %v", text, err)
		}
	})
}

func TestAReplyCutByItsLimitIsNoError(t *testing.T) {
	const cut = "[default]\ntext = \"Hello, this is a reply.\"\n" +
		"fault = { how = \"incomplete\", at = \"text\", after = 12 }\nusage = { input = 10, output = 5 }\n"
	for _, stream := range []string{"true", "false"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, cut, nil)
			_, _, answer := r.post(t, "/v1/responses",
				`{"model":"heavy","input":"x","max_output_tokens":5,"stream":`+stream+`}`)
			if !strings.Contains(answer, `"incomplete_details":{"reason":"max_output_tokens"}`) ||
				!strings.Contains(answer, "Hello, this ") || !strings.Contains(answer, `"output_tokens":5`) {
				t.Errorf("answer %s", answer)
			}
			_, _, answer = r.post(t, "/v1/chat/completions",
				`{"model":"heavy","messages":[{"role":"user","content":"x"}],"max_tokens":5,"stream":`+stream+`}`)
			if !strings.Contains(answer, `"finish_reason":"length"`) {
				t.Errorf("answer %s", answer)
			}
		})
	}
}
