package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"belay/models"
	"belay/models/route"
)

func apiOf(responses bool) (models.API, string) {
	if responses {
		return models.Responses, "/v1/responses"
	}
	return models.Chat, "/v1/chat/completions"
}

func TestWhoMayComeIn(t *testing.T) {
	const token = "a-token-of-twenty-signs"
	for _, tt := range []struct {
		name, token, host string
		header            map[string]string
		want              int
	}{
		{"a program on this computer", "", "127.0.0.1:8790", nil, 200},
		{"by name", "", "localhost:8790", nil, 200},
		{"by IPv6", "", "[::1]:8790", nil, 200},
		{"another address of loopback", "", "127.0.0.2", nil, 200},
		{"a name that leads here", "", "page.example:8790", nil, 403},
		{"a name that begins like it", "", "127.0.0.1.page.example", nil, 403},
		{"no name", "", "", nil, 403},
		{"an address of the network", "", "10.0.0.1:8790", nil, 403},
		{"a page", "", "127.0.0.1:8790", map[string]string{"Origin": "http://page.example"}, 403},
		{"a page of this computer", "", "127.0.0.1:8790", map[string]string{"Origin": "http://localhost:3000"}, 403},
		{"a page without an origin of its own", "", "127.0.0.1:8790", map[string]string{"Origin": "null"}, 403},
		{"a page of its own", "", "127.0.0.1:8790", map[string]string{"Origin": "http://127.0.0.1:8790"}, 200},
		{"with the token, from anywhere", token, "10.0.0.1", map[string]string{"Authorization": "Bearer " + token}, 200},
		{"in small letters", token, "10.0.0.1", map[string]string{"Authorization": "bearer " + token}, 200},
		{"without the token", token, "127.0.0.1", nil, 401},
		{"with a part of it", token, "127.0.0.1", map[string]string{"Authorization": "Bearer " + token[:9]}, 401},
		{"with more than it", token, "127.0.0.1", map[string]string{"Authorization": "Bearer " + token + "x"}, 401},
		{"in another scheme", token, "127.0.0.1", map[string]string{"Authorization": "Basic " + token}, 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, hello, func(o *Options, _ *route.Options) { o.Token = tt.token })
			request := httptest.NewRequest(http.MethodGet, "/v1/models", http.NoBody)
			request.Host = tt.host
			for name, value := range tt.header {
				request.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			r.ServeHTTP(w, request)
			if w.Code != tt.want {
				t.Errorf("status %d, want %d: %s", w.Code, tt.want, w.Body)
			}
			if tt.want != 200 && strings.Contains(w.Body.String(), token) {
				t.Error("the token is told")
			}
		})
	}
}

func TestRequestsAreBounded(t *testing.T) {
	ask := func(r *rig, method, path, body string, length int64) (int, string) {
		request := httptest.NewRequest(method, path, strings.NewReader(body))
		request.Host, request.ContentLength = "localhost", length
		w := httptest.NewRecorder()
		r.ServeHTTP(w, request)
		return w.Code, w.Body.String()
	}
	small := func(o *Options, _ *route.Options) { o.MaxBody, o.MaxStreams = 100, 2 }
	large := `{"model":"heavy","input":"` + strings.Repeat("x", 200) + `"}`
	r := newRig(t, hello, small)
	for name, length := range map[string]int64{"stated": int64(len(large)), "unstated": -1} {
		if status, answer := ask(r, http.MethodPost, "/v1/responses", large, length); status != 413 ||
			!strings.Contains(answer, "request_too_large") {
			t.Errorf("%s: status %d: %s", name, status, answer)
		}
	}
	for path, want := range map[string]int{
		"/v1/responses/resp_1": 404, "/v1/embeddings": 404, "/": 404, "/v1/models": 405, "/v1/models/heavy": 405,
	} {
		if status, answer := ask(r, http.MethodPost, path, "{}", 2); status != want || !strings.Contains(answer, `"error"`) {
			t.Errorf("%s: status %d, want %d: %s", path, status, want, answer)
		}
	}
	for _, body := range []string{"", "x", "[]", "null", `{"model":5}`, "\xff", `{}`} {
		if status, answer := ask(r, http.MethodPost, "/v1/responses", body, int64(len(body))); status != 400 {
			t.Errorf("%q: status %d: %s", body, status, answer)
		}
	}
	if got := r.bodies.Load(); got != 0 {
		t.Errorf("%d bytes are still counted", got)
	}
	r.running.Add(2) // two others
	if status, answer := ask(r, http.MethodPost, "/v1/responses", `{"model":"heavy","input":"x"}`, -1); status != 503 ||
		!strings.Contains(answer, "as many requests as it may") {
		t.Errorf("status %d: %s", status, answer)
	}
	r.running.Add(-2)
	r.bodies.Add(maxBodies * r.o.MaxBody)
	if status, _ := ask(r, http.MethodPost, "/v1/responses", `{"model":"heavy","input":"x"}`, 29); status != 503 {
		t.Errorf("status %d where the memory is full", status)
	}
}

func TestAModelIsNamedInThreeWays(t *testing.T) {
	r := newRig(t, hello, func(o *Options, _ *route.Options) {
		o.Offered = func() []models.Target { return []models.Target{{Provider: "p", Model: "x/large"}} }
		o.Known = func(provider string) bool { return provider == "p" }
	})
	for name, want := range map[string]bool{
		"heavy": true, "Light": true, "p/sol": true, "luna": true, "p/anything": true, "x/large": true, "p/x/large": true,
		"q/sol": false, "unknown": false, "/": false,
	} {
		if _, bad := r.control(name); (bad == nil) != want {
			t.Errorf("%s: %+v", name, bad)
		}
	}
	if _, bad := r.control("lunna"); bad == nil || !strings.Contains(bad.message, "Near it: luna") {
		t.Errorf("near lunna: %+v", bad)
	}
}

func TestWhatIsGuardedBesideTheGatewayDoesNotCallItselfOne(t *testing.T) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, change := range map[string]func(*http.Request){
		"without the token": func(*http.Request) {},
		"by another name":   func(r *http.Request) { r.Host = "page.example" },
		"from a page":       func(r *http.Request) { r.Header.Set("Origin", "http://page.example") },
	} {
		token := ""
		if name == "without the token" {
			token = "a-token-of-twenty-signs"
		}
		request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/metrics", http.NoBody)
		change(request)
		w := httptest.NewRecorder()
		Guard(token, next).ServeHTTP(w, request)
		if w.Code/100 != 4 || strings.Contains(w.Body.String(), "gateway") || !strings.Contains(w.Body.String(), "this address") &&
			!strings.Contains(w.Body.String(), "This address") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
