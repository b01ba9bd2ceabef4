package openai_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"belay/models/openai"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestProxiesFromTheEnvironment(t *testing.T) {
	const https, plain = "https://api.example.com/v1", "http://api.example.com/v1"
	for _, c := range []struct {
		name      string
		variables []string
		address   string
		want      string
	}{
		{"none", nil, https, ""},
		{"HTTPS_PROXY", []string{"HTTPS_PROXY", "http://p:1"}, https, "http://p:1"},
		{"not for http", []string{"HTTPS_PROXY", "http://p:1"}, plain, ""},
		{"HTTP_PROXY", []string{"HTTP_PROXY", "http://p:1"}, plain, "http://p:1"},
		{"without a scheme", []string{"HTTPS_PROXY", "p:1"}, https, "http://p:1"},
		{"lower case first", []string{"HTTPS_PROXY", "p:1", "https_proxy", "p:2"}, https, "http://p:2"},
		{"ALL_PROXY", []string{"ALL_PROXY", "socks5://p:1"}, https, "socks5://p:1"},
		{"ALL_PROXY for http", []string{"ALL_PROXY", "socks5h://p:1"}, plain, "socks5h://p:1"},
		{"all_proxy", []string{"all_proxy", "http://p:1", "ALL_PROXY", "http://p:2"}, https, "http://p:1"},
		{"the scheme's own before ALL_PROXY", []string{"ALL_PROXY", "p:1", "https_proxy", "p:2"}, https, "http://p:2"},
		{"ALL_PROXY for what is left", []string{"ALL_PROXY", "p:1", "https_proxy", "p:2"}, plain, "http://p:1"},
		{"socks of a desktop", []string{"ALL_PROXY", "socks://p:1/"}, https, "socks5://p:1/"},
		{"NO_PROXY", []string{"ALL_PROXY", "p:1", "NO_PROXY", "example.com"}, https, ""},
		{"no_proxy", []string{"ALL_PROXY", "p:1", "no_proxy", ".example.com"}, https, ""},
		{"NO_PROXY for all", []string{"ALL_PROXY", "p:1", "NO_PROXY", "*"}, https, ""},
		{"NO_PROXY of others", []string{"ALL_PROXY", "p:1", "NO_PROXY", "other.com"}, https, "http://p:1"},
		{"loopback", []string{"ALL_PROXY", "p:1"}, "http://127.0.0.1:11434/v1", ""},
		{"localhost", []string{"ALL_PROXY", "p:1"}, "http://localhost:11434/v1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			proxy, err := openai.Proxies(environment(c.variables...))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			u, err := proxy(httptest.NewRequest(http.MethodPost, c.address, nil))
			if u != nil {
				got = u.String()
			}
			if err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestAProxyThatCannotBeUsedIsAnError(t *testing.T) {
	for variable, address := range map[string]string{
		"ALL_PROXY": "socks4://name:secret@p:1", "HTTPS_PROXY": "http://name:secret@[p", "HTTP_PROXY": "http://",
	} {
		_, err := openai.Proxies(environment(variable, address))
		if err == nil || !strings.HasPrefix(err.Error(), variable+": ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s=%s: %v", variable, address, err)
		}
	}
}

func TestACertificateOfOnesOwnIsTrusted(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	roots, err := openai.Certificates(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: openai.NewTransport(nil, roots)}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if _, err := openai.Certificates([]byte("no certificate")); err == nil {
		t.Error("a file without a certificate was taken")
	}
}
