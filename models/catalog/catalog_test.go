package catalog

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"belay/models"
)

func openai(model string) models.Target { return models.Target{Provider: "openai", Model: model} }

func TestTheThreeTiersOfTheDefaultsAreKnown(t *testing.T) {
	c := New(Options{})
	for name, short := range map[string]string{"gpt-5.6-sol": "sol", "gpt-5.6-terra": "terra", "gpt-5.6-luna": "luna"} {
		m := c.Model(openai(name))
		if !m.Known || m.Short != short || m.Window < 200_000 || m.MaxOutput <= 0 || !m.Tools || !m.Reasoning ||
			!slices.Contains(m.Efforts, "high") {
			t.Errorf("Model(%s) = %+v", name, m)
		}
		if p := m.Price; p.Input <= 0 || p.Output <= p.Input || p.Cached <= 0 || p.Cached >= p.Input {
			t.Errorf("prices of %s = %+v; reading from the cache must cost less than sending anew", name, p)
		}
	}
}

func TestPricesOfTheCacheAreNeverHigher(t *testing.T) {
	for _, p := range embedded.GetAll() {
		for _, m := range p.Models {
			if got := readPrice(m); got > m.CostPer1MIn {
				t.Errorf("%s/%s: cached %v above input %v", p.ID, m.ID, got, m.CostPer1MIn)
			}
		}
	}
}

func TestEndpointsOfTheCatalogueCanBeUsedByName(t *testing.T) {
	c := New(Options{Key: func(provider, variable string) string { return provider + " " + variable }})
	for _, tt := range []struct {
		name, base, key string
		api             models.API
	}{
		{"openai", "https://api.openai.com/v1", "OPENAI_API_KEY", models.Responses},
		{"openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", models.Chat},
		{"groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", models.Chat},
		{"deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", models.Chat},
		{"anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", models.Chat},
		{"gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", models.Chat},
	} {
		p, ok := c.Provider(tt.name)
		if !ok || p.BaseURL != tt.base || p.KeyEnv != tt.key || p.API != tt.api || p.Key != tt.name+" "+tt.key ||
			p.Local ||
			p.Concurrency != 3 {
			t.Errorf("Provider(%s) = %+v, %v", tt.name, p, ok)
		}
	}
	for _, name := range []string{"bedrock", "vertexai", "azure", "minimax", "nobody", ""} {
		if p, ok := c.Provider(name); ok {
			t.Errorf("Provider(%q) = %+v; its address is not known or speaks another protocol", name, p)
		}
		if slices.Contains(c.Providers(), name) {
			t.Errorf("Providers() hold %q", name)
		}
	}
	for _, name := range c.Providers() {
		if p, ok := c.Provider(name); !ok || !strings.HasPrefix(p.BaseURL, "https://") {
			t.Errorf("Provider(%s) = %+v, %v", name, p, ok)
		}
	}
}

func TestSettingsWin(t *testing.T) {
	c := New(Options{
		Providers: map[string]ProviderOverride{
			"openai": {
				BaseURL:     "https://proxy.example/v1/",
				API:         models.Chat,
				KeyEnv:      "WORK_KEY",
				Concurrency: 9,
				Headers:     map[string]string{"X-Team": "a"},
			},
			"local": {BaseURL: "http://127.0.0.1:11434/v1"},
			"azure": {BaseURL: "https://me.openai.azure.com/openai/v1", API: models.Responses},
		},
		Models: map[string]ModelOverride{
			"local/qwen3-coder":  {Window: new(int64(32768)), Tools: new(false), Short: new("qwen")},
			"openai/gpt-5.6-sol": {Window: new(int64(272000)), Input: new(1.5)},
		},
	})
	p, ok := c.Provider("openai")
	want := models.Provider{
		Name: "openai", BaseURL: "https://proxy.example/v1", API: models.Chat, KeyEnv: "WORK_KEY", Concurrency: 9,
		Headers: map[string]string{"X-Team": "a"},
	}
	if !ok || !reflect.DeepEqual(p, want) {
		t.Errorf("Provider(openai) = %+v, want %+v", p, want)
	}
	if p, ok := c.Provider("local"); !ok || !p.Local || p.API != models.Chat || p.Concurrency != 1 {
		t.Errorf("Provider(local) = %+v, %v", p, ok)
	}
	if p, ok := c.Provider("azure"); !ok || p.API != models.Responses || p.KeyEnv != "AZURE_OPENAI_API_KEY" {
		t.Errorf("Provider(azure) = %+v, %v", p, ok)
	}
	if m := c.Model(models.Target{Provider: "local", Model: "qwen3-coder"}); !m.Known || m.Window != 32768 || m.Tools ||
		m.Short != "qwen" {
		t.Errorf("Model(local/qwen3-coder) = %+v", m)
	}
	if m := c.Model(openai("gpt-5.6-sol")); m.Window != 272000 || m.Price.Input != 1.5 || m.Price.Output == 0 ||
		m.MaxOutput == 0 {
		t.Errorf("Model(sol) = %+v; what the settings leave open stays the catalogue's", m)
	}
}

func TestUnknownModelsStayAsTheyAre(t *testing.T) {
	c := New(Options{Providers: map[string]ProviderOverride{"work": {BaseURL: "https://work.example/v1"}}})
	m := c.Model(models.Target{Provider: "work", Model: "house-model"})
	if want := (models.Model{Target: models.Target{Provider: "work", Model: "house-model"}, Short: "house-model",
		Tools: true}); !reflect.DeepEqual(
		m,
		want,
	) {
		t.Errorf("Model(unknown) = %+v, want %+v", m, want)
	}
	m = c.Model(models.Target{Provider: "work", Model: "gpt-5.6-sol"})
	if !m.Known || m.Window == 0 || m.Price != (models.Price{}) {
		t.Errorf("Model(a known name elsewhere) = %+v; the window is known, the price there is not", m)
	}
	if m := c.Model(openai("gpt-5-2025-08-07")); !m.Known || m.Target.Model != "gpt-5-2025-08-07" {
		t.Errorf("Model(snapshot) = %+v; its date must not hide it, nor be dropped from the name", m)
	}
}

func TestShortNamesFitTheStrip(t *testing.T) {
	for name, want := range map[string]string{
		"gpt-5.6-sol": "sol", "gpt-5.4-mini": "5.4-mini", "gpt-5": "gpt-5", "gpt-5.1-codex-max": "5.1-codex",
		"gpt-4o": "gpt-4o", "gpt-5.5-pro": "5.5-pro",
		"claude-opus-4-5": "opus-4-5", "anthropic/claude-sonnet-4.5": "sonnet-4.5",
		"claude-sonnet-4-5-20250929": "sonnet-4-5",
		"qwen/qwen3-coder:free":      "qwen3-coder", "deepseek-chat": "deepseek", "gemini-3-pro-preview": "gemini-3-pro",
		"o3": "o3", "": "", "/": "", "ein-sehr-langer-name": "ein-sehr", "averyveryverylongname": "averyveryver",
		"模型模型模型模型模型模型模型": "模型模型模型模型模型模型",
	} {
		if got := Short(name); got != want {
			t.Errorf("Short(%q) = %q, want %q", name, got, want)
		}
	}
	for _, p := range embedded.GetAll() {
		for _, m := range p.Models {
			if got := Short(m.ID); got == "" || len([]rune(got)) > shortest {
				t.Errorf("Short(%q) = %q", m.ID, got)
			}
		}
	}
}

func TestNothingIsReadBeforeItIsNeeded(t *testing.T) {
	read := false
	c := New(Options{
		Providers: map[string]ProviderOverride{
			"openai": {BaseURL: "https://x.example/v1", API: models.Chat, KeyEnv: "K"},
		},
	})
	c.known = sync.OnceValue(func() map[string]catwalk.Provider { read = true; return nil })
	if _, ok := c.Provider("openai"); !ok || read {
		t.Errorf("Provider(whole in the settings) = %v, read the catalogue: %v", ok, read)
	}
	if c.Model(openai("gpt-5.6-sol")); !read {
		t.Error("Model() did not read the catalogue")
	}
}

func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		if len(embedded.GetAll()) == 0 {
			b.Fatal("the catalogue is empty")
		}
	}
}

func BenchmarkModel(b *testing.B) {
	c := New(Options{})
	c.known() // reading the catalogue is BenchmarkRead's subject
	for b.Loop() {
		if m := c.Model(openai("gpt-5.6-luna")); !m.Known {
			b.Fatal(m)
		}
	}
}

func TestWhoEditsByPatches(t *testing.T) {
	edit, patch := "edit", models.EditByPatch
	c := New(Options{
		Providers: map[string]ProviderOverride{
			"relay": {BaseURL: "https://relay.example/v1", API: models.Responses},
			"chat":  {BaseURL: "https://api.openai.com/v1", API: models.Chat},
		},
		Models: map[string]ModelOverride{"openai/gpt-5.6-luna": {EditForm: &edit}, "relay/gpt-5.6-sol": {EditForm: &patch}},
	})
	for name, want := range map[string]string{
		"openai/gpt-5.6-sol": patch, "openai/gpt-5.6-luna": edit, "openai/gpt-4.1": "",
		"relay/gpt-5.6-sol": patch, "relay/gpt-5.6-terra": "", "chat/gpt-5.6-sol": "",
	} {
		target, err := models.ParseTarget(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Model(target).EditForm; got != want {
			t.Errorf("%s edits by %q, want %q", name, got, want)
		}
	}
}
