package config

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestKeysAreKeptForTheUserAlone(t *testing.T) {
	k := Keys{Dir: filepath.Join(t.TempDir(), "belay")}
	if got, err := k.Get("openai"); got != "" || err != nil {
		t.Errorf("Get of nothing = %q, %v", got, err)
	}
	where, err := k.Set("openai", "sk-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Set("other", "sk-2"); err != nil {
		t.Fatal(err)
	}
	if got, err := k.Get("openai"); got != "sk-1" || err != nil {
		t.Errorf("Get = %q, %v", got, err)
	}
	if info, err := os.Stat(where); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v (%v), want 0600", info.Mode(), err)
	}
}

func TestAKeyFileThatIsBrokenIsNotOverwritten(t *testing.T) {
	k := Keys{Dir: t.TempDir()}
	path := filepath.Join(k.Dir, keyFile)
	if err := os.WriteFile(path, []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Set("openai", "sk-1"); err == nil {
		t.Error("Set over a broken file succeeded")
	}
	if b, _ := os.ReadFile(path); string(b) != "{torn" {
		t.Errorf("the file became %q", b)
	}
}

func TestTheFileForALocalModelLoads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config.toml")
	if err := Create(path, Local("ollama", "http://127.0.0.1:11434/v1", `big`, `mid`, `odd"name:7b`)); err != nil {
		t.Fatal(err)
	}
	s, err := Load(Sources{UserFile: path, Named: true})
	if err != nil || s.Tiers.Light[0] != `ollama/odd"name:7b` || s.Tiers.Heavy[0] != "ollama/big" {
		t.Errorf("Load = %v, %v", s.Tiers, err)
	}
	if err := Create(path, "x"); err == nil {
		t.Error("Create over a file succeeded")
	}
}
