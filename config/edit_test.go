package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func set(key string, value any) Assignment {
	path, err := splitKey(key)
	if err != nil {
		panic(err)
	}
	return Assignment{path, value}
}

func TestAnAssignmentKeepsAllElse(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		set  Assignment
		want string
	}{
		"a value": {
			"# mine\n[tiers]\nheavy = [\"a/b\"] # the best\nlight=[]\n", set("tiers.heavy", []string{"c/d", "a/b"}),
			"# mine\n[tiers]\nheavy = [\"c/d\", \"a/b\"] # the best\nlight=[]\n",
		},
		"a dotted key": {
			"tiers.default = \"heavy\"\n", set("tiers.default", "light"), "tiers.default = \"light\"\n",
		},
		"beside a dotted key": {
			"tiers.default = \"heavy\" # x\n\n[screen]\n", set("tiers.heavy", []string{"a/b"}),
			"tiers.default = \"heavy\" # x\ntiers.heavy = [\"a/b\"]\n\n[screen]\n",
		},
		"below the last of its table": {
			"[tiers]\n  heavy = [\n    \"a/b\", # one\n  ]\n\n# next\n[screen]\n", set("tiers.default", "heavy"),
			"[tiers]\n  heavy = [\n    \"a/b\", # one\n  ]\n  default = \"heavy\"\n\n# next\n[screen]\n",
		},
		"to the front of a list with comments": {
			"[tiers]\nheavy = [\n  \"a/b\", # one\n  \"c/d\" # two\n]\n", set("tiers.heavy", []string{"e/f", "a/b", "c/d"}),
			"[tiers]\nheavy = [\"e/f\", \n  \"a/b\", # one\n  \"c/d\" # two\n]\n",
		},
		"forward in a list with comments": {
			"[tiers]\nheavy = [\n  \"a/b\", # one\n  \"c/d\" # two\n]\n", set("tiers.heavy", []string{"c/d", "a/b"}),
			"[tiers]\nheavy = [\"c/d\", \n  \"a/b\", # one\n   # two\n]\n",
		},
		"into an empty table": {
			"[tiers] # these\n[screen]\n", set("tiers.default", "heavy"), "[tiers] # these\ndefault = \"heavy\"\n[screen]\n",
		},
		"a new table": {
			"[tiers]\ndefault = \"heavy\"", set(`providers.box.base_url`, "http://127.0.0.1:1/v1"),
			"[tiers]\ndefault = \"heavy\"\n\n[providers.box]\nbase_url = \"http://127.0.0.1:1/v1\"\n",
		},
		"a new table in an empty file": {"", set("screen.theme", "dark"), "[screen]\ntheme = \"dark\"\n"},
		"a quoted name": {
			"[models.\"a/b.c\"]\nwindow = 1\n", set(`models."a/b.c".images`, true),
			"[models.\"a/b.c\"]\nwindow = 1\nimages = true\n",
		},
		"beside inline tables": {
			"switch = { policy = \"ask\" } # so\n", set("switch.floor", "light"),
			"switch = { policy = \"ask\", floor = \"light\" } # so\n",
		},
		"into an empty inline table": {"switch = {}\n", set("switch.floor", "light"), "switch = { floor = \"light\" }\n"},
		"within an inline table": {
			"[switch]\nafter = { interactive = 2, step = 3 }\n", set("switch.after.step", int64(4)),
			"[switch]\nafter = { interactive = 2, step = 4 }\n",
		},
		"where dotted keys made the table": {
			"[providers]\nbox.headers.A = \"1\"\n[screen]\n", set("providers.box.api", "chat"),
			"[providers]\nbox.headers.A = \"1\"\nbox.api = \"chat\"\n[screen]\n",
		},
		"with the line breaks of the file": {
			"[tiers]\r\ndefault = \"heavy\"\r\n", set("screen.theme", "dark"),
			"[tiers]\r\ndefault = \"heavy\"\r\n\r\n[screen]\r\ntheme = \"dark\"\r\n",
		},
		"what looks like a key in a text": {
			"[record]\nteam = '''\n[tiers]\ndefault = \"x\"'''\n", set("tiers.default", "light"),
			"[record]\nteam = '''\n[tiers]\ndefault = \"x\"'''\n\n[tiers]\ndefault = \"light\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := edited([]byte(tt.text), []Assignment{tt.set})
			if err != nil || string(got) != tt.want {
				t.Errorf("%v\ngot:\n%s\nwant:\n%s", err, got, tt.want)
			}
		})
	}
}

func TestWhatCannotBeWrittenIsRefused(t *testing.T) {
	for text, set := range map[string]Assignment{
		"[request]\neffort = \"high\"\n":                 set("request.effort.heavy", "low"),
		"[tiers]\nheavy = []\n":                          set("tiers", "x"),
		"[tiers]\nheavy = [\n\"a/b\", # one\n\"c/d\"]\n": set("tiers.heavy", []string{"e/f"}),
		"[[providers]]\nname = 1\n":                      set("providers.x.api", "chat"),
		"[tiers\n":                                       set("tiers.default", "light"),
		"[models.\"a/b\"]\nwindow = nan # compared, it is not itself\n": set("tiers.default", "light"),
	} {
		if got, err := edited([]byte(text), []Assignment{set}); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestEditOfAFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "real.toml")
	link := filepath.Join(dir, "config.toml")
	const text = "# mine\n[tiers]\nheavy = [\"openai/a\"]\n"
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	from := Sources{UserFile: link, Providers: func() []string { return []string{"openai"} }}
	if err := Edit(from, set("tiers.default", "huge")); err == nil || !strings.Contains(err.Error(), "unknown value") {
		t.Errorf("a wrong value: %v", err)
	}
	if err := Edit(from, set("tiers.light", []string{"nobody/x"})); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("an unknown provider: %v", err)
	}
	if got, _ := os.ReadFile(file); string(got) != text {
		t.Errorf("a refused change wrote %q", got)
	}
	err := Edit(from, set("providers.box.base_url", "http://127.0.0.1:9/v1"), set("providers.box.api", "chat"),
		set("tiers.light", []string{"box/x"}))
	if err != nil {
		t.Fatal(err)
	}
	const want = "# mine\n[tiers]\nheavy = [\"openai/a\"]\nlight = [\"box/x\"]\n\n" +
		"[providers.box]\nbase_url = \"http://127.0.0.1:9/v1\"\napi = \"chat\"\n"
	if got, _ := os.ReadFile(file); string(got) != want {
		t.Errorf("got %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 2 {
		t.Errorf("left behind: %v", list)
	}
	if err := os.WriteFile(file, []byte("[tiers]\nheavy = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Edit(from, set("tiers.default", "light")); err == nil || !strings.Contains(err.Error(), "mend them first") {
		t.Errorf("a file with mistakes: %v", err)
	}
	fresh := filepath.Join(dir, "new", "config.toml")
	if err := Edit(Sources{UserFile: fresh}, set("screen.theme", "dark")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(fresh); string(got) != "[screen]\ntheme = \"dark\"\n" {
		t.Errorf("a new file: %q", got)
	}
}

func TestAFileThatChangesMeanwhileStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(path, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(path, []byte("seen before"), []byte("ours")); err == nil {
		t.Error("it was written over")
	}
	if got, _ := os.ReadFile(path); string(got) != "theirs" {
		t.Errorf("got %q", got)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("[tiers]\nheavy = [\"a/b\"] # c\n", "tiers.heavy", "x")
	f.Add("a.b = { c = 1 }\r\n", "a.b.d", "y\n\x00\u202e")
	f.Add("[[a]]\nb = 1\n[a.c]\n", "a.c.d", "")
	f.Add("a = [1, # x\n]\n[b]", "\"b c\".d", "é")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		path, err := splitKey(key)
		if err != nil {
			t.Skip()
		}
		got, err := edited([]byte(text), []Assignment{{path, value}})
		if err != nil {
			return
		}
		before, _, fault := parseTOML([]byte(text))
		if fault != nil {
			t.Fatal("what is no TOML was changed")
		}
		after, _, fault := parseTOML(got)
		if fault != nil {
			t.Fatalf("%q became %q: %v", text, got, fault)
		}
		if want, err := withValue(before, path, value); err != nil || !reflect.DeepEqual(after, want) {
			t.Fatalf("%q became %q, which is %v, want %v", text, got, after, want)
		}
		again, err := edited(got, []Assignment{{path, value}})
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q again became %q: %v", got, again, err)
		}
	})
}
