package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// sources makes sources of a user's and a project's file.
func sources(user, project string) Sources {
	files := map[string]string{"/u.toml": user, "/p.toml": project}
	return Sources{
		UserFile: "/u.toml", ProjectFile: "/p.toml", Trusted: true,
		ReadFile: func(name string) ([]byte, error) { return []byte(files[name]), nil },
	}
}

func load(t *testing.T, s Sources) Settings {
	t.Helper()
	got, err := Load(s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestNoSourcesGiveTheDefaults(t *testing.T) {
	got := load(t, Sources{
		UserFile:    "/none",
		ProjectFile: "/none",
		Trusted:     true,
		ReadFile:    func(string) ([]byte, error) { return nil, fs.ErrNotExist },
	})
	if !reflect.DeepEqual(got, Defaults()) {
		t.Errorf("Load() = %+v, want the defaults", got)
	}
}

func TestLaterSourcesWin(t *testing.T) {
	s := sources(`
[tiers]
default = "medium"
light = ["openai/a", "local/b"]
[providers.local]
base_url = "http://127.0.0.1:11434/v1"
api = "chat"
[switch]
after = { step = 5, batch = 5 }
failback_after = "90s"
[retry]
attempts = 2
`, `
[tiers]
default = "light"
[retry]
attempts = 3
[park]
ladder = ["1s", "1m"]
[context]
budget = { light = 5000 }
`)
	s.Env = func(name string) (string, bool) { return "https://proxy.example/v1", name == "OPENAI_BASE_URL" }
	s.Flags = map[string]string{
		"retry.attempts": "7",
		"limits.cost":    "1.5",
		"limits.wait":    "2m",
		"tiers.heavy":    "openai/x, openai/y",
		"switch.local":   "true",
		"context.budget": "9000",
	}
	got := load(t, s)
	want := Defaults()
	want.Tiers = Tiers{
		Heavy:   []string{"openai/x", "openai/y"},
		Medium:  want.Tiers.Medium,
		Light:   []string{"openai/a", "local/b"},
		Default: "light",
	}
	want.Providers["local"] = Provider{BaseURL: "http://127.0.0.1:11434/v1", API: "chat"}
	openai := want.Providers["openai"]
	openai.BaseURL = "https://proxy.example/v1"
	want.Providers["openai"] = openai
	want.Switch.After.Step, want.Switch.FailbackAfter, want.Switch.Local = 5, 90*time.Second, true
	want.Retry.Attempts = 7
	want.Park.Ladder = []time.Duration{time.Second, time.Minute}
	want.Context.Budget = TokenBudget{9000, 9000, 9000}
	want.Limits.Cost, want.Limits.Wait = 1.5, 2*time.Minute
	for key, origin := range map[string]Origin{
		"tiers.default":             {"project file", "/p.toml", 3},
		"tiers.light":               {"user file", "/u.toml", 4},
		"switch.after.step":         {"user file", "/u.toml", 9},
		"providers.openai.base_url": {"environment", "OPENAI_BASE_URL", 0},
		"retry.attempts":            {"flag", "retry.attempts", 0},
		"retry.max_wait":            {"default", "", 0},
	} {
		if o := got.Origin(key); o != origin {
			t.Errorf("Origin(%s) = %+v, want %+v", key, o, origin)
		}
	}
	wantIgnored := "/u.toml:9: switch.after.batch: does nothing any more and is ignored: there is no queued work"
	if list := got.Ignored(); len(list) != 1 || list[0].Error() != wantIgnored {
		t.Errorf("Ignored() = %v", list)
	}
	got.ignored = nil
	got.origins, want.origins = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Load() =\n%+v, want\n%+v", got, want)
	}
}

func TestEveryFaultIsReportedWithItsPlace(t *testing.T) {
	s := sources(`[tiers]
heavvy = ["openai/x"]
light = ["gpt"]
medium = ["opnai/x"]
[swich]
policy = "auto"
[switch]
policy = "sometimes"
after = { step = 0, stp = 1 }
failback_after = 5
[retry]
attempts = "many"
max_wait = "2 minutes"
base_url = "x"
[providers."a b"]
api = "chat"
[providers.x]
base_url = "ftp://user:hunter2@host/"
key_env = "sk-secret-key-1"
[limits]
cost = nan
steps = 1.5
[park]
ladder = ["2m", "1m"]
[models.nameless]
window = 1
[models."openai/x"]
encoding = "p50k_base"
`, "")
	s.Flags = map[string]string{"tiers.default": "huge", "nonsense": "1", "screen..theme": "x"}
	s.Providers = func() []string { return []string{"openai", "groq"} }
	_, err := Load(s)
	var faults Faults
	if !errors.As(err, &faults) {
		t.Fatalf("Load() = %v, want Faults", err)
	}
	want := []string{
		`/u.toml:2: tiers.heavvy: unknown key (did you mean heavy?)`,
		`/u.toml:3: tiers.light: entry 1: "gpt" is not provider/model`,
		`/u.toml:4: tiers.medium: unknown provider "opnai" (did you mean openai?`,
		`/u.toml:5: swich: unknown key (did you mean switch?)`,
		`/u.toml:8: switch.policy: unknown value "sometimes" (use auto, ask or never)`,
		`/u.toml:9: switch.after.step: 0 is out of range (use 1 to 100)`,
		`/u.toml:9: switch.after.stp: unknown key (did you mean step?)`,
		`/u.toml:10: switch.failback_after: cannot be the number 5 (write a number with a unit`,
		`/u.toml:12: retry.attempts: cannot be the text "many" (write a whole number)`,
		`/u.toml:13: retry.max_wait: "2 minutes" is not a length of time`,
		`/u.toml:14: retry.base_url: unknown key (it belongs into [providers.NAME])`,
		`/u.toml:15: providers."a b": is no name for a provider`,
		`/u.toml:18: providers.x.base_url: "ftp://host/" is not an address`,
		`/u.toml:19: providers.x.key_env: is not the name of a variable`,
		`/u.toml:21: limits.cost: is not a finite number`,
		`/u.toml:22: limits.steps: cannot be the number 1.5`,
		`/u.toml:24: park.ladder: entry 2: 1m is shorter`,
		`/u.toml:25: models.nameless: is not provider/model`,
		`/u.toml:28: models."openai/x".encoding: unknown value "p50k_base" (use o200k_base or cl100k_base)`,
		`nonsense: unknown key (known here: lang, providers, tiers`,
		`screen..theme: is no key`,
		`tiers.default: unknown value "huge"`,
	}
	got := strings.Split(err.Error(), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("fault %d of\n%s\nwant\n%s", i+1, strings.Join(got, "\n"), strings.Join(want, "\n"))
			break
		}
	}
	for _, secret := range []string{"hunter2", "sk-secret"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the faults repeat %q", secret)
		}
	}
}

func TestInvalidTOMLIsReportedWithItsLine(t *testing.T) {
	_, err := Load(sources("[tiers]\ndefault = \"heavy\ncost = 1\n", ""))
	if err == nil || !strings.HasPrefix(err.Error(), "/u.toml:2: is not TOML: ") {
		t.Errorf("Load() = %v, want the line", err)
	}
}

func TestANamedFileMustExist(t *testing.T) {
	s := Sources{UserFile: filepath.Join(t.TempDir(), "none.toml"), Named: true}
	if _, err := Load(s); err == nil || !strings.Contains(err.Error(), "none.toml: cannot be read: no such file") {
		t.Errorf("Load() = %v, want that it cannot be read", err)
	}
	s.Named = false
	if _, err := Load(s); err != nil {
		t.Errorf("Load() = %v; the usual file may be missing", err)
	}
}

func TestAProjectCannotLoosenTheUsersSettings(t *testing.T) {
	const user = "[permissions]\nmode = \"edits\"\n[limits]\ncost = 2.0\n"
	for _, tt := range []struct{ name, project, fault string }{
		{"no endpoints", "[providers.openai]\nbase_url = \"https://evil.example/v1\"", "a project may not say where"},
		{"no key variables", "[providers.openai]\nkey_env = \"AWS_SECRET\"", "a project may not say where"},
		{"no headers", "[providers.openai]\nheaders = { X = \"y\" }", "a project may not say where"},
		{"no new providers", "[providers.evil]\nbase_url = \"https://evil.example/v1\"", "a project may not say where"},
		{"no looser mode", "[permissions]\nmode = \"all\"", "only be stricter"},
		{"no higher limit", "[limits]\ncost = 3.0", "only lower"},
		{"no lifted limit", "[limits]\ncost = 0.0", "only lower"},
		{"no command", "[alerts]\ncommand = \"curl evil.example\"", "what is recorded and what runs"},
		{"no forgetting", "[record]\nretention = \"1s\"", "what is recorded and what runs"},
		{"no secrets for commands", "[permissions]\nenv = [\"GITHUB_TOKEN\"]", "may not say which secrets"},
		{"no way out of the sandbox", "[sandbox]\nenabled = false", "what its commands reach"},
		{"no more places", "[sandbox]\nwrite = [\"~/.bashrc\"]", "what its commands reach"},
		{"no secrets", "[sandbox]\nread = [\"~/.ssh\"]", "what its commands reach"},
		{"no network", "[sandbox]\nnetwork = \"allow\"", "only be stricter"},
		{"less network", "[sandbox]\nnetwork = \"deny\"", ""},
		{"a stricter mode", "[permissions]\nmode = \"ask\"", ""},
		{"a lower limit", "[limits]\ncost = 1.0\nsteps = 5", ""},
		{"tiers", "[tiers]\ndefault = \"light\"", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sources(user, tt.project)
			got, err := Load(s)
			ignored := Faults(got.Ignored()).Error()
			if err != nil || (tt.fault == "") != (len(got.Ignored()) == 0) || !strings.Contains(ignored, tt.fault) {
				t.Errorf("Load() leaves out %q, %v, want %q", ignored, err, tt.fault)
			}
			if tt.fault != "" && (got.Permissions.Mode != "edits" || got.Limits.Cost != 2 || len(got.Permissions.Env) > 0) {
				t.Errorf("Load() = %+v; want the project's file left out", got)
			}
			s.Trusted = false
			got, err = Load(s)
			if err != nil || got.Permissions.Mode != "edits" || got.Tiers.Default != "heavy" {
				t.Errorf("Load() untrusted = %+v, %v; want the project's file unread", got, err)
			}
		})
	}
}

// uncomment makes every line with one # take effect.
func uncomment(text string) string { return regexp.MustCompile(`(?m)^# `).ReplaceAllString(text, "") }

func TestTheExampleNamesTheVariablesThatAreRead(t *testing.T) {
	named := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^# ([a-z_]+) = .*\bor ([A-Z][A-Z_]+)\b`).FindAllStringSubmatch(Example(), -1) {
		named[m[2]] = m[1]
	}
	for _, v := range variables {
		if key := v.key[strings.LastIndex(v.key, ".")+1:]; named[v.name] != key {
			t.Errorf("the example does not say beside %s that %s sets it", key, v.name)
		}
		delete(named, v.name)
	}
	for name, key := range named {
		t.Errorf("the example says that %s sets %s, and nobody reads it", name, key)
	}
	if found := regexp.MustCompile(`"\$\{?[A-Z]+`).FindString(Example()); found != "" {
		t.Errorf("the example promises that %s… is replaced: nothing is", found)
	}
}

func TestTheExampleHoldsEveryKeyWithItsDefault(t *testing.T) {
	whole := uncomment(Example())
	got := load(t, sources(whole, ""))
	for _, v := range Defaults().Values() {
		if !got.Set(v.Key) {
			t.Errorf("the example lacks %s", v.Key)
		}
	}
	got.origins = map[string]Origin{}
	if !reflect.DeepEqual(got, Defaults()) {
		t.Errorf("the example gives\n%+v, want\n%+v", got, Defaults())
	}
	asIs := load(t, sources(Example(), ""))
	if !reflect.DeepEqual(asIs, Defaults()) {
		t.Errorf("the example as it stands sets something: %+v", asIs.origins)
	}
	all := load(t, sources(regexp.MustCompile(`(?m)^##? (\[|[a-z_]+ = )`).ReplaceAllString(Example(), "$1"), ""))
	model := reflect.ValueOf(all.Models["local/qwen3-coder"])
	for i := range model.NumField() {
		if model.Field(i).IsNil() {
			t.Errorf("the example lacks a model's %s", model.Type().Field(i).Tag.Get("toml"))
		}
	}
}

func TestTheReadmesSettingsLoad(t *testing.T) {
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Skip("there is no README yet")
	}
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(data), -1)
	for _, b := range blocks {
		if _, err := Load(sources(b[1], "")); err != nil {
			t.Errorf("README: %v", err)
		}
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	got := load(
		t,
		sources(
			"[providers.w]\nbase_url = \"https://user:hunter2@host/v1\"\nheaders = { Authorization = \"Bearer hunter2\" }\n",
			"",
		),
	)
	if string(got.Providers["w"].Headers["Authorization"]) != "Bearer hunter2" {
		t.Error("the header's value is lost")
	}
	encoded, err := json.Marshal(got.Providers["w"].Headers)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{fmt.Sprint(got.Values()),
		fmt.Sprintf("%v %+v %#v", got.Providers["w"].Headers, got.Providers["w"].Headers, got.Providers["w"].Headers),
		string(encoded)} {
		if strings.Contains(shown, "hunter2") {
			t.Errorf("shown: %s", shown)
		}
	}
}

func TestValuesAreWrittenAsAFileHoldsThem(t *testing.T) {
	got := load(
		t,
		sources(
			"[models.\"local/a.b\"]\nwindow = 5\n[context]\nbudget = { heavy = 5000 }\n[record]\nretention = \"1d12h\"\n[alerts]\nnotify = [\"screen\", \"command\"]\n",
			"",
		),
	)
	var text strings.Builder
	for _, v := range got.Values() {
		fmt.Fprintf(&text, "%s = %s\n", v.Key, v.Value)
	}
	for _, want := range []string{`models."local/a.b".window = 5`,
		`context.budget = { heavy = 5000, medium = "auto", light = "auto" }`, `switch.failback_after = "5m"`, `park.ladder = ["30s", "2m", "10m", "30m"]`, `limits.wait = "0s"`, `record.retention = "36h"`, `alerts.notify = ["screen", "command"]`} {
		if !strings.Contains(text.String(), want+"\n") {
			t.Errorf("Values() lack %s:\n%s", want, text.String())
		}
	}
	again := load(t, sources(text.String(), ""))
	again.origins, got.origins = nil, nil
	if !reflect.DeepEqual(again, got) {
		t.Errorf("what is shown loads as\n%+v, want\n%+v", again, got)
	}
}

func TestPathsFollowThePlatform(t *testing.T) {
	for _, tt := range []struct {
		system string
		env    map[string]string
		home   string
		file   string
		named  bool
	}{
		{"linux", map[string]string{"HOME": "/h"}, "/h/.local/share/belay", "/h/.config/belay/config.toml", false},
		{"linux", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c"}, "/d/belay",
			"/c/belay/config.toml", false},
		{"linux", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "relative"}, "/h/.local/share/belay",
			"/h/.config/belay/config.toml", false},
		{"darwin", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/d"}, "/h/Library/Application Support/belay",
			"/h/Library/Application Support/belay/config.toml", false},
		{"windows", map[string]string{"LocalAppData": "/l", "AppData": "/r"}, "/l/belay", "/r/belay/config.toml", false},
		{"linux", map[string]string{"BELAY_HOME": "/b", "BELAY_CONFIG": "/x.toml"}, "/b", "/x.toml", true},
	} {
		env := func(name string) string { return tt.env[name] }
		if got, err := home(tt.system, env); err != nil || filepath.ToSlash(got) != tt.home {
			t.Errorf("home(%s, %v) = %q, %v; want %q", tt.system, tt.env, got, err, tt.home)
		}
		if got, named, err := file(tt.system, env); err != nil || filepath.ToSlash(got) != tt.file ||
			named != tt.named {
			t.Errorf("file(%s, %v) = %q, %v, %v; want %q", tt.system, tt.env, got, named, err, tt.file)
		}
	}
	if _, err := home("linux", func(string) string { return "" }); err == nil {
		t.Error("home() without any variable succeeded")
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(Example(), "tiers.default", "light")
	f.Add(uncomment(Example()), `models."a/b".window`, "5")
	f.Add("[[tiers]]\nx = 1", "", "")
	f.Add("a.b.c = { d = [{}] }", `"`, "x")
	f.Add("providers = 1\nmodels.\"x/y\" = {window = 1979-05-27}", "a..b", "")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		s := sources(text, text)
		s.Flags = map[string]string{key: value}
		got, err := Load(s)
		if err != nil {
			var faults Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Errorf("Load() = %T, want Faults", err)
			}
			return
		}
		var shown strings.Builder
		for _, v := range got.Values() {
			if strings.Contains(v.Key, "headers") {
				continue
			}
			fmt.Fprintf(&shown, "%s = %s\n", v.Key, v.Value)
		}
		if _, err := Load(sources(shown.String(), "")); err != nil {
			t.Errorf("what is shown does not load: %v\n%s", err, shown.String())
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	s := sources(uncomment(Example()), "")
	for b.Loop() {
		if _, err := Load(s); err != nil {
			b.Fatal(err)
		}
	}
}

func TestQuietHours(t *testing.T) {
	at := func(text string) time.Time {
		clock, err := time.Parse("15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		return clock
	}
	for _, tt := range []struct {
		hours, at string
		want      bool
	}{
		{"22:00-07:00", "23:30", true}, {"22:00-07:00", "06:59", true}, {"22:00-07:00", "07:00", false},
		{"12:00-13:00", "12:30", true}, {"12:00-13:00", "13:00", false}, {"", "12:00", false}, {"9:00-9:00", "09:00", false},
	} {
		if got := (Screen{Quiet: tt.hours}).Silent(at(tt.at)); got != tt.want {
			t.Errorf("%s at %s: %v, want %v", tt.hours, tt.at, got, tt.want)
		}
	}
	if problem, _ := checkHours("at night"); problem == "" {
		t.Error("at night is taken for hours")
	}
}

func TestAProjectCannotNameACommandForNotifications(t *testing.T) {
	_, err := merge(Sources{ProjectFile: "p.toml", Trusted: true, ReadFile: func(string) ([]byte, error) {
		return []byte("[screen]\ncommand = \"evil\"\n"), nil
	}})
	if err == nil || !strings.Contains(err.Error(), "a project may not say what runs") {
		t.Errorf("got %v", err)
	}
}
