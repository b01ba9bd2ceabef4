package app

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestEveryKeyVariableThatIsSetIsFound(t *testing.T) {
	env := map[string]string{"OPENROUTER_API_KEY": "a", "GROQ_API_KEY": "b", "PATH": "/bin", "DEEPSEEK_API_KEY": ""}
	var got []string
	for _, found := range foundKeys(func(name string) string { return env[name] }) {
		got = append(got, found.Provider+" "+found.Variable)
		if found.Large == "" || found.Small == "" {
			t.Errorf("%s is offered without models: %+v", found.Provider, found)
		}
	}
	if want := []string{"groq GROQ_API_KEY", "openrouter OPENROUTER_API_KEY"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestANewKeyIsCheckedOnce(t *testing.T) {
	for _, tt := range []struct {
		name    string
		status  int
		body    string
		refused bool
	}{
		{"it is taken", http.StatusOK, `{"data":[{"id":"gpt-5.6-sol"}]}`, false},
		{"it is refused", http.StatusUnauthorized, `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`, true},
		{"the endpoint lists nothing", http.StatusNotFound, `not found`, false},
		{"the endpoint is down", http.StatusServiceUnavailable, ``, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer sk-new" {
					t.Errorf("asked for %s with %q", r.URL.Path, r.Header.Get("Authorization"))
				}
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			t.Setenv("BELAY_HOME", t.TempDir())
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			t.Setenv("OPENAI_BASE_URL", server.URL+"/v1")
			err := CheckKey(t.Context(), Env{Version: "test"}, Options{Project: t.TempDir()}, "openai", "sk-new")
			if (err != nil) != tt.refused || asked != 1 {
				t.Errorf("asked %d times, %v; want once, refused: %v", asked, err, tt.refused)
			}
			if err != nil && (strings.Contains(err.Error(), "sk-new") || !strings.Contains(err.Error(), "Incorrect API key")) {
				t.Errorf("the refusal says %q", err)
			}
		})
	}
}
