package openai_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"belay/models"
	"belay/models/openai"
)

func TestCurlSendsTheSame(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	for _, api := range []models.API{models.Responses, models.Chat} {
		for size, text := range map[string]string{"short": `it's "$HOME" and \n` + "\u009b31m\u202e\U000e0041",
			"long": strings.Repeat("don't ", 40_000)} {
			t.Run(string(api)+" "+size, func(t *testing.T) {
				type sent struct {
					path   string
					header http.Header
					body   any
				}
				var got []sent
				server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					s := sent{path: r.Method + " " + r.URL.String(), header: r.Header}
					if err := json.NewDecoder(r.Body).Decode(&s.body); err != nil {
						t.Error(err)
					}
					s.header.Del("X-Client-Request-Id") // new for each
					s.header.Del("Accept-Encoding")     // of the transport
					s.header.Del("Content-Length")
					got = append(got, s)
				}))
				defer server.Close()
				p := provider(api)
				p.BaseURL, p.Headers = server.URL+"/v1", map[string]string{"X-Gate": "open-sesame"}
				c := openai.New(openai.Options{Providers: []models.Provider{p}, HTTP: server.Client()})
				req := hello()
				req.Items[0].Text, req.Operation = text, "op"
				attempt(t, t.Context(), c, req)
				line, err := c.Curl(target, req)
				if err != nil {
					t.Fatal(err)
				}
				for _, secret := range []string{p.Key, "open-sesame", "\u009b", "\u202e"} {
					if strings.Contains(line, secret) {
						t.Errorf("the command holds %q", secret)
					}
				}
				shell := exec.CommandContext(t.Context(), "sh")
				shell.Stdin, shell.Env = strings.NewReader(line), append(shell.Environ(), p.KeyEnv+"="+p.Key,
					"X_GATE=open-sesame")
				if out, err := shell.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				if len(got) != 2 || !reflect.DeepEqual(got[0], got[1]) {
					t.Errorf("sent\n%.2000v, curl\n%.2000v", got[0], got[1:])
				}
			})
		}
	}
}
