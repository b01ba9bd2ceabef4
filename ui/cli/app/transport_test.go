package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"belay/config"
	"belay/ui/cli/exit"
)

func TestTheEnvironmentOfTheNetworkIsChecked(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.pem")
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("-----"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ variable, value, problem string }{
		{"HTTPS_PROXY", "http://127.0.0.1:3128", ""},
		{"ALL_PROXY", "socks4://127.0.0.1:1080", "ALL_PROXY: "},
		{"SSL_CERT_FILE", none, "SSL_CERT_FILE: "},
		{"SSL_CERT_FILE", empty, "holds no certificate"},
	} {
		_, err := networkTransport(func(name string) string {
			if name == c.variable {
				return c.value
			}
			return ""
		})
		var wrong *exit.SettingsError
		switch {
		case c.problem == "" && err != nil:
			t.Errorf("%s=%s: %v", c.variable, c.value, err)
		case c.problem != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%s=%s: %v, want %q", c.variable, c.value, err, c.problem)
		}
	}
}

func TestAKeyWithItsQuotationMarksIsNotSent(t *testing.T) {
	t.Setenv("BELAY_HOME", t.TempDir())
	t.Setenv("OPENAI_API_KEY", `"sk-secret"`)
	settings := config.Defaults()
	known := NewCatalog(settings, Options{}, func(string) {})
	_, err := providers(known, settings)
	var wrong *exit.SettingsError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "OPENAI_API_KEY") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v, want one that names the variable and not the key", err)
	}
	if _, err := SaveKey("openai", "sk-secret two"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a key with a space: %v", err)
	}
}
