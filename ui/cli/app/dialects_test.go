package app

import (
	"os"
	"slices"
	"strings"
	"testing"

	"belay/config"
	"belay/models/openai"
)

// The settings take every dialect that the client knows, and no other.
func TestTheSettingsKnowEveryDialect(t *testing.T) {
	for _, name := range append(openai.Dialects(), "klingon") {
		file := t.TempDir() + "/c.toml"
		if err := os.WriteFile(file, []byte("[models.\"openai/x\"]\ndialect = \""+name+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(config.Sources{UserFile: file, Named: true})
		if known := slices.Contains(openai.Dialects(), name); (err == nil) != known {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			for _, other := range openai.Dialects() {
				if !strings.Contains(err.Error(), other) {
					t.Errorf("%v does not offer %s", err, other)
				}
			}
		}
	}
}
