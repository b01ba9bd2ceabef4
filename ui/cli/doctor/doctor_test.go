package doctor

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"belay/config"
	"belay/models"
	"belay/session"
	"belay/session/store"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
)

const scriptedModels = `
models = ["gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"]
[speed]
first = "1s"
[default]
text = "OK"
`

// saysTool calls the tool when it is asked to.
const saysTool = `
[[reply]]
user = "Call the tool say"
times = -1
[[reply.calls]]
name = "say"
arguments = { word = "OK" }
`

// fault is a reply to a model that fails by an error event.
func fault(model, code string) string {
	return "\n[[reply]]\nmodel = \"" + model + "\"\ntimes = -1\nfault = { how = \"error\", code = \"" + code + "\" }\n"
}

// examine runs the doctor on a script, in a bubble and with a home of its own.
func examine(t *testing.T, script string, asked Options) (string, error) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("BELAY_HOME", filepath.Join(home, "data"))
	path := filepath.Join(home, "script.toml")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return run(t, app.Options{Project: home, Rehearsal: path}, asked)
}

func run(t *testing.T, o app.Options, asked Options) (string, error) {
	t.Helper()
	var out bytes.Buffer
	var err error
	synctest.Test(t, func(t *testing.T) {
		env := app.Env{Out: &out, Err: &out, Version: "test", Now: time.Now, NewID: func() string { return "id" }}
		err = Run(t.Context(), env, o, asked)
	})
	return out.String(), err
}

// findings are the lines of JSON, a word a finding: "short sol" is one that is
// well, "!short sol" is not.
func findings(t *testing.T, out string) (list []string, last verdict) {
	t.Helper()
	for line := range strings.Lines(out) {
		var read struct {
			Finding
			Verdict *verdict `json:"verdict"`
		}
		if err := json.Unmarshal([]byte(line), &read); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if read.Verdict != nil {
			last = *read.Verdict
			continue
		}
		word := strings.TrimSpace(read.Check + " " + strings.TrimPrefix(read.Target, "openai/gpt-5.6-"))
		if !read.OK {
			word = "!" + word
		}
		list = append(list, word)
	}
	return list, last
}

func TestWhatIsExamined(t *testing.T) {
	const before = "settings, commands, key openai, endpoint openai, name sol, name terra, name luna, "
	for name, tt := range map[string]struct {
		script string
		asked  Options
		want   string
		class  string
		code   int
	}{
		"the first model of each tier": {scriptedModels + saysTool, Options{},
			before + "short sol, stream sol, tool sol, large sol, short terra, stream terra, tool terra, large terra, " +
				"short luna, stream luna, tool luna, large luna", "well", exit.Done},
		"every model, with a structured answer": {strings.Replace(scriptedModels, `"OK"`, "'''{\"word\": \"OK\"}'''", 1) +
			saysTool, Options{Fallbacks: true},
			before + "short sol, stream sol, tool sol, json sol, short terra, stream terra, tool terra, json terra, " +
				"short luna, stream luna, tool luna, json luna", "well", exit.Done},
		"a full model by all its probes": {scriptedModels + fault("gpt-5.6-sol", "server_is_overloaded") + saysTool,
			Options{}, before + "!short sol, !stream sol, !tool sol, !large sol, short terra, stream terra, tool terra, " +
				"large terra, short luna, stream luna, tool luna, large luna", "capacity", exit.Capacity},
		"no more of a model whose next probe would fail alike": {scriptedModels +
			fault("gpt-5.6-sol", "insufficient_quota") + saysTool, Options{},
			before + "!short sol, short terra, stream terra, tool terra, large terra, " +
				"short luna, stream luna, tool luna, large luna", "billing", exit.Account},
		"a name that the endpoint does not have": {strings.Replace(scriptedModels, "5.6-sol", "5.6-s0l", 1) + saysTool,
			Options{}, "settings, commands, key openai, endpoint openai, !name sol, name terra, name luna, !short sol, " +
				"short terra, stream terra, tool terra, large terra, short luna, stream luna, tool luna, large luna",
			"name", exit.Settings},
		"models that call no tools": {scriptedModels, Options{}, before +
			"short sol, stream sol, !tool sol, large sol, short terra, stream terra, !tool terra, large terra, " +
			"short luna, stream luna, !tool luna, large luna", "ability", exit.Settings},
	} {
		t.Run(name, func(t *testing.T) {
			tt.asked.JSON = true
			out, err := examine(t, tt.script, tt.asked)
			list, last := findings(t, out)
			if got := strings.Join(list, ", "); got != tt.want {
				t.Errorf("examined\n%s, want\n%s", got, tt.want)
			}
			if strings.Contains(out, `"curl"`) {
				t.Error("commands were printed that nobody asked for")
			}
			code := exit.Done
			if err != nil {
				code = exit.Code(err)
			}
			if last.Class != tt.class || code != tt.code {
				t.Errorf("the verdict is %s, code %d; want %s, code %d", last.Class, code, tt.class, tt.code)
			}
		})
	}
}

func TestWhatIsPrinted(t *testing.T) {
	out, err := examine(t, scriptedModels+fault("gpt-5.6-luna", "server_is_overloaded")+saysTool, Options{Curl: true})
	if exit.Code(err) != exit.Capacity {
		t.Errorf("Run = %v, want code %d", err, exit.Capacity)
	}
	for _, want := range []string{
		"✓ settings  the defaults; no file and no variable changes them\n",
		"✓ key       openai  none is needed in a " + app.RehearsalBanner + "\n",
		"✓ endpoint  openai  the script in its place answers and lists 3 models\n",
		"✓ name      openai/gpt-5.6-sol  the endpoint has it\n",
		"✓ short     openai/gpt-5.6-sol  answered in 1s  first token 1.0s\n",
		"✓ stream    openai/gpt-5.6-sol  answered in 1s  first token 1.0s\n",
		"✓ tool      openai/gpt-5.6-sol  called the tool in 1s",
		"✗ short     openai/gpt-5.6-luna  no room at the model (server_is_overloaded) at openai/gpt-5.6-luna",
		"curl ",
		"\n☑ the settings have no fault\n",
		"\n☐ a short request is answered on each tier\n",
		"\n☑ there is another model to switch to\n",
		"\n☐ what may run without asking was chosen\n",
		"\nverdict: capacity. this model has no room just now; others answer\n",
		"\n  because  short openai/gpt-5.6-luna: no room at the model",
		"\n  next     let belay switch",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("not printed: %q", want)
		}
	}
	if n := strings.Count(out, "\ncurl "); n != 4 {
		t.Errorf("%d commands that make a failed request again, want 4", n)
	}
}

func TestARecordThatTheDiskHasAlteredIsNamed(t *testing.T) {
	home := t.TempDir()
	t.Setenv("BELAY_HOME", home)
	err := app.ChangeStore(t.Context(), io.Discard, func(st *store.Store) error {
		s, err := st.Create(t.Context(), session.Created{Project: home})
		if err == nil {
			_, _, err = st.Append(t.Context(), s.ID, 0, session.Noted{Text: "some words"})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{"SELECT 1", "UPDATE events SET time = time + 1 WHERE seq = 2"} {
		want := strings.HasPrefix(change, "UPDATE")
		db, err := sql.Open("sqlite", filepath.Join(home, store.File))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(change); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		record, err := readHistory(t.Context(), time.Now())
		if named := len(record.altered) > 0; named != want || err != nil {
			t.Errorf("%s: altered are %v, %v", change, record.altered, err)
		}
		if want && !strings.Contains(alteredFinding(record.altered).Text, "record 2 of session") {
			t.Errorf("it says %q", alteredFinding(record.altered).Text)
		}
	}
}

func TestWithoutAKeyNothingIsSent(t *testing.T) {
	home := t.TempDir()
	t.Setenv("BELAY_HOME", home)
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OPENAI_BASE_URL", "http://belay.invalid/v1")
	out, err := run(t, app.Options{Project: home}, Options{JSON: true})
	list, last := findings(t, out)
	if got, want := strings.Join(list, ", "), "settings, commands, !key openai"; got != want || last.Class != "account" {
		t.Errorf("examined %s, verdict %s; want %s, verdict account", got, last.Class, want)
	}
	if got, want := strings.Join(last.Next, "\n"), app.MissingKeyHint("OPENAI_API_KEY"); got != want {
		t.Errorf("next is %q, want %q", got, want)
	}
	if exit.Code(err) != exit.Account {
		t.Errorf("Run = %v, want code %d", err, exit.Account)
	}
}

func TestWithAFaultInTheSettingsNothingElseIsExamined(t *testing.T) {
	home := t.TempDir()
	t.Setenv("BELAY_HOME", home)
	t.Setenv("BELAY_CONFIG", filepath.Join(home, "config.toml"))
	wrong := []byte("[retry]\nattempts = \"many\"\n")
	if err := os.WriteFile(filepath.Join(home, "config.toml"), wrong, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, app.Options{Project: home}, Options{JSON: true})
	if list, _ := findings(t, out); strings.Join(list, ", ") != "!settings" || !strings.Contains(out, "attempts") {
		t.Errorf("printed %s", out)
	}
	var told *exit.Error
	if !errors.As(err, &told) || told.Code != exit.Settings {
		t.Errorf("Run = %v, want code %d", err, exit.Settings)
	}
}

func TestAnExaminationThatIsInterrupted(t *testing.T) {
	t.Setenv("BELAY_HOME", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env := app.Env{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Now: time.Now}
	err := Run(ctx, env, app.Options{Project: t.TempDir(), Rehearsal: app.BuiltIn}, Options{})
	if exit.Code(err) != exit.Interrupted {
		t.Errorf("Run = %v, want code %d", err, exit.Interrupted)
	}
}

func TestWhichModelsAreProbed(t *testing.T) {
	const sol, terra, luna = "openai/gpt-5.6-sol", "openai/gpt-5.6-terra", "openai/gpt-5.6-luna"
	settings := config.Defaults()
	settings.Tiers.Heavy = []string{sol, terra, luna}
	settings.Tiers.Medium = []string{terra}
	settings.Tiers.Light = []string{sol}
	options := app.Options{Rehearsal: app.BuiltIn}
	for fallbacks, want := range map[bool]string{false: sol + " " + terra, true: sol + " " + terra + " " + luna} {
		synctest.Test(t, func(t *testing.T) {
			env := app.Env{Out: &bytes.Buffer{}, Now: time.Now}
			x := &examination{Options: Options{Fallbacks: fallbacks}, env: env, settings: settings}
			transport, err := app.NewTransport(env, app.NewCatalog(settings, options, nil), settings, options, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = transport.Close() }()
			x.client = transport.Client
			x.targets(t.Context())
			var probed []string
			for _, f := range x.findings {
				if f.probe == probeShort {
					probed = append(probed, f.Target)
				}
			}
			if got := strings.Join(probed, " "); got != want {
				t.Errorf("with fallbacks %v, probed %s; want %s", fallbacks, got, want)
			}
		})
	}
}

func TestEachProbeChangesOneThing(t *testing.T) {
	short := probeShort.request()
	if !short.NoStream || len(short.Tools) != 0 {
		t.Fatalf("the short request is %+v", short)
	}
	for k, want := range map[probeKind]struct {
		tools int
		text  string
	}{
		probeStream: {0, "Say OK."},
		probeTool:   {1, "Call the tool"},
		probeJSON:   {0, "JSON object"},
		probeLarge:  {0, "Say OK."},
	} {
		req := k.request()
		text := req.Items[0].Text
		if req.NoStream || len(req.Tools) != want.tools || !strings.Contains(text, want.text) ||
			req.Instructions != short.Instructions || req.Operation != "doctor" {
			t.Errorf("%s asks for %+v", k, req)
		}
		if large := len(text) > largeProbe/2; large != (k == probeLarge) {
			t.Errorf("%s sends %d bytes", k, len(text))
		}
	}
}

func TestHowAReplyIsJudged(t *testing.T) {
	call := func(name, arguments string) []models.Item {
		return []models.Item{{Kind: models.Call, Name: name, Arguments: arguments}}
	}
	const (
		noCall     = "answered without calling the tool: not fit for work with tools"
		brokenCall = "called the tool with arguments that are not JSON"
		structured = "gave a structured answer"
		unreadable = "the structured answer cannot be read"
	)
	for name, tt := range map[string]struct {
		probe probeKind
		text  string
		calls []models.Item
		ok    bool
		says  string
	}{
		"words":                        {probeShort, "OK", nil, true, "answered"},
		"no words":                     {probeStream, " \n", nil, false, "answered without a word"},
		"a call":                       {probeTool, "", call("say", `{"word":"OK"}`), true, "called the tool"},
		"words in place of a call":     {probeTool, "OK", nil, false, noCall},
		"a call with broken arguments": {probeTool, "", call("say", `{"word":`), false, brokenCall},
		"a call of another tool":       {probeTool, "", call("shout", `{}`), false, brokenCall},
		"an object":                    {probeJSON, `{"word": "OK"}`, nil, true, structured},
		"an object in a fence":         {probeJSON, "Here:\n```json\n{\"word\": \"OK\"}\n```", nil, true, structured},
		"an object without the word":   {probeJSON, `{"words": "OK"}`, nil, false, unreadable},
		"no object":                    {probeJSON, "} OK {", nil, false, unreadable},
	} {
		t.Run(name, func(t *testing.T) {
			if ok, says := tt.probe.judge(tt.text, tt.calls); ok != tt.ok || says != tt.says {
				t.Errorf("judge = %v, %q; want %v, %q", ok, says, tt.ok, tt.says)
			}
		})
	}
}

func TestANameIsComparedWithThoseOfTheEndpoint(t *testing.T) {
	for name, tt := range map[string]struct {
		listed []string
		ok     bool
		says   string
	}{
		"it is there":        {[]string{"gpt-5.6-terra", "gpt-5.6-sol"}, true, "the endpoint has it"},
		"it is misspelled":   {[]string{"gpt-5.6-s0l"}, false, `the nearest is "gpt-5.6-s0l": `},
		"nothing is like it": {[]string{"llama"}, false, "the endpoint does not list it"},
	} {
		t.Run(name, func(t *testing.T) {
			x := &examination{env: app.Env{Out: &bytes.Buffer{}}}
			x.checkName(first, tt.listed)
			if got := x.findings[0]; got.OK != tt.ok || !strings.Contains(got.Text, tt.says) || (got.Fault == nil) != tt.ok {
				t.Errorf("found %+v; want %v, %q", got, tt.ok, tt.says)
			}
		})
	}
}
