package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belay/models"
)

// openLive opens everything on settings of one's own, which the test may change.
func openLive(t *testing.T, settings string) (a *App, file string) {
	t.Helper()
	home := t.TempDir()
	file = filepath.Join(home, "config.toml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BELAY_HOME", home)
	t.Setenv("BELAY_CONFIG", file)
	t.Setenv("OPENAI_API_KEY", "sk-test")
	t.Setenv("OPENAI_BASE_URL", "")
	a, err := Open(t.Context(), Env{
		Err: &strings.Builder{}, Version: "test", Now: time.Now, NewID: func() string { return "id" },
	}, Options{Project: t.TempDir(), Program: "test", NonInteractive: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, file
}

// listing is an endpoint that lists its models to whoever has its key.
func listing(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer sk-own" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"one"},{"id":"two"}]}`))
	}))
	t.Cleanup(server.Close)
	return server
}

func text(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAnEndpointOfOnesOwnIsOfferedAndKept(t *testing.T) {
	const settings = "# mine\nlang = \"en\" # stays\n"
	a, file := openLive(t, settings)
	server := listing(t)
	if err := a.CheckEndpoint(t.Context(), server.URL+"/v1", "sk-no"); err == nil {
		t.Error("a wrong key was taken")
	}
	if err := a.CheckEndpoint(t.Context(), server.URL+"/v1", "sk-own"); err != nil {
		t.Error(err)
	}
	name, err := a.AddEndpoint(t.Context(), server.URL+"/v1", "sk-own")
	if err != nil || name != "own" {
		t.Fatalf("AddEndpoint() = %q, %v", name, err)
	}
	if got := text(t, file); !strings.HasPrefix(got, settings) || !strings.Contains(got, server.URL) ||
		strings.Contains(got, "sk-own") {
		t.Errorf("the settings are\n%s", got)
	}
	two := models.Target{Provider: "own", Model: "two"}
	found := false
	for _, m := range a.Offer(t.Context(), "").Models {
		if m.Target == two {
			found = m.Missing == "" && m.Tier == ""
		}
	}
	if !found {
		t.Error("its models are not offered")
	}
	said, err := a.KeepTarget(t.Context(), models.Medium, two)
	if err != nil || !strings.Contains(said, "medium begins with own/two") {
		t.Errorf("KeepTarget() = %q, %v", said, err)
	}
	if got := a.live.tiers()[models.Medium]; len(got) == 0 || got[0] != two {
		t.Errorf("medium is %v", got)
	}
	if outlook := a.Engine.Outlook(""); len(outlook) < 2 || outlook[1].Target != two {
		t.Errorf("the router has %v", outlook)
	}
	if second, err := a.AddEndpoint(t.Context(), server.URL+"/v1", ""); err != nil || second != "own2" {
		t.Errorf("a second one is called %q, %v", second, err)
	}
}

func TestSettingsReadAnewCountAtOnce(t *testing.T) {
	a, file := openLive(t, "")
	change := func(text string) error {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return a.Reload(t.Context())
	}
	if err := change("[tiers]\nlight = [\"openai/gpt-mini\"]\n"); err != nil {
		t.Fatal(err)
	}
	mini := models.Target{Provider: "openai", Model: "gpt-mini"}
	if got := a.live.tiers()[models.Light]; len(got) != 1 || got[0] != mini {
		t.Errorf("light is %v", got)
	}
	if err := change("[tiers]\nlight = 7\n"); err == nil {
		t.Error("wrong settings were taken")
	}
	if got := a.live.tiers()[models.Light]; len(got) != 1 || got[0] != mini {
		t.Errorf("after wrong settings light is %v", got)
	}
}

func TestAThemeIsKeptInTheSettings(t *testing.T) {
	const settings = "# mine\n[screen]\ntheme = \"auto\" # of the terminal\nmouse = false\n"
	a, file := openLive(t, settings)
	if err := a.KeepTheme(t.Context(), "contrast"); err != nil {
		t.Fatal(err)
	}
	if got, want := text(t, file), strings.Replace(settings, "auto", "contrast", 1); got != want {
		t.Errorf("the settings are\n%s\nwant\n%s", got, want)
	}
	if got := ScreenSettings().Screen.Theme; got != "contrast" {
		t.Errorf("the next screen has %q", got)
	}
}

func TestALockedKeyringIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unlocked := make(chan bool)
		lookUp := func(name string) (models.Provider, bool) {
			if name == "locked" {
				<-unlocked
			}
			return models.Provider{Name: name, Key: "k"}, true
		}
		began := time.Now()
		found, all := lookUpWithin(keyLimit, []string{"a", "b", "locked", "behind"}, lookUp)
		if took := time.Since(began); all || took != keyLimit || len(found) != 2 || found["b"].Key != "k" {
			t.Errorf("found %v, all of it: %v, after %v", found, all, took)
		}
		close(unlocked)
		if found, all := lookUpWithin(keyLimit, []string{"a", "locked"}, lookUp); !all || len(found) != 2 {
			t.Errorf("unlocked: found %v, all of it: %v", found, all)
		}
	})
}
