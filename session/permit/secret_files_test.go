package permit

import (
	"os"
	"path/filepath"
	"testing"

	"belay/session"
)

func TestFilesWithSecretsAskInEveryMode(t *testing.T) {
	root := workspace(t)
	for _, name := range []string{
		".env", ".ENV", ".env.production", "deploy/prod.env", "server.key", "cert.pem", "id_ed25519", "config/master.key",
		"credentials.json", "service-account-prod.json", "terraform.tfstate", "prod.tfvars", ".npmrc", "store.jks",
	} {
		path := filepath.Join(root, name)
		read := Call{Tool: "read", Class: session.Read, Path: path, Root: root}
		for _, mode := range []session.Mode{session.Ask, session.Edits, session.All} {
			decision := Judge(mode, read, nil)
			if decision.Verdict != Ask || len(decision.Grants) == 0 {
				t.Errorf("%s in mode %s: %+v", name, mode, decision)
				continue
			}
			if got := Judge(mode, read, decision.Grants); got.Verdict != Allow {
				t.Errorf("%s, once always allowed: %+v", name, got)
			}
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		command := Call{Tool: "shell", Class: session.Run, Command: "cat " + name, Path: root, Root: root}
		if got := Judge(session.Ask, command, nil); got.Verdict != Ask {
			t.Errorf("cat %s: %+v", name, got)
		}
	}
	for _, name := range []string{
		".env.example", ".env.sample", "env.go", "id_rsa.pub", "key.go", "keys.go", "environment", "credentials.go", "token.txt",
		"secrets.example.yaml", "a.go",
	} {
		read := Call{Tool: "read", Class: session.Read, Path: filepath.Join(root, name), Root: root}
		if got := Judge(session.Ask, read, nil); got.Verdict != Allow {
			t.Errorf("%s: %+v", name, got)
		}
	}
	rules := []string{ReadableRule(".env.*"), ReadableRule("cert.pem")}
	for name, want := range map[string]Verdict{".env.test": Allow, "cert.pem": Allow, "key.pem": Ask, ".env": Ask} {
		read := Call{Tool: "read", Class: session.Read, Path: filepath.Join(root, name), Root: root}
		if got := Judge(session.Ask, read, rules); got.Verdict != want {
			t.Errorf("%s with the rules of the settings: %+v, want %s", name, got, want)
		}
	}
}
