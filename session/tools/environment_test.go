package tools

import (
	"slices"
	"strings"
	"testing"
)

func TestCommandsSeeNoSecrets(t *testing.T) {
	secret := []string{
		"SECRET_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "DB_PASSWORD",
		"npm_config_token", "STRIPE_APIKEY", "GOOGLE_APPLICATION_CREDENTIALS", "CI_JOB_TOKEN", "DATABASE_URL", "SENTRY_DSN",
	}
	plain := []string{"EDITOR", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "MONKEY_BARS"}
	for _, name := range slices.Concat(secret, plain) {
		t.Setenv(name, "x")
	}
	s := workspace(t, nil)
	has := func(name string) bool {
		return slices.ContainsFunc(s.environment(), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	for _, name := range secret {
		if has(name) {
			t.Errorf("%s reaches commands", name)
		}
	}
	for _, name := range plain {
		if !has(name) {
			t.Errorf("%s does not reach commands", name)
		}
	}
	s.o.Pass = []string{"GITHUB_TOKEN", "SECRET_KEY"}
	if !has("GITHUB_TOKEN") || has("SECRET_KEY") {
		t.Error("a name that is passed on is not, or a key of belay's own is")
	}
}
