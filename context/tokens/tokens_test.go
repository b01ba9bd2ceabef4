package tokens

import (
	"strings"
	"sync"
	"testing"

	"belay/models"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

func file(t testing.TB) string {
	t.Helper()
	text, err := assets.Assets.ReadFile(vocabularyFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func loaded(t testing.TB) *Counter {
	t.Helper()
	c := New()
	if err := c.Load(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnEstimateServesUntilTheVocabularyIsLoaded(t *testing.T) {
	c := New()
	if c.Loaded() {
		t.Error("loaded before Load")
	}
	if got := c.Text(strings.Repeat("x", 340)); got < 90 || got > 110 {
		t.Errorf("Text = %d, want about 100", got)
	}
	if err := c.Load(); err != nil || !c.Loaded() {
		t.Fatalf("not loaded: %v", err)
	}
	if got := c.Text(" hello world"); got != 2 {
		t.Errorf("Text = %d, want 2", got)
	}
}

func TestACountIsRememberedWithinBounds(t *testing.T) {
	c := loaded(t)
	text := strings.Repeat("ab 12 ", 300)
	first := c.Text(text)
	if got := c.Text(text); got != first || len(c.known) != 1 {
		t.Errorf("Text = %d then %d, %d known", first, got, len(c.known))
	}
	for i := range uint64(mostKnown) {
		c.known[i] = 1
	}
	c.Text(text + "x")
	if got := len(c.known); got > mostKnown {
		t.Errorf("%d known, want %d at most", got, mostKnown)
	}
}

func TestCountsAreTheSameFromManyGoroutines(t *testing.T) {
	c := New()
	texts := append([]string{strings.Repeat("abc", 20_000), strings.Repeat("func main() {}\n", 500)}, nasty...)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := c.Load(); err != nil {
				t.Error(err)
			}
			for _, text := range texts {
				if got, want := c.Text(text), c.vocab.count(text); got != want {
					t.Errorf("Text(%.20q) = %d, want %d", text, got, want)
				}
				c.Calibrate(models.Target{Model: "m"}, 2000, 2200)
				c.Factor(models.Target{Model: "m"})
			}
		})
	}
	wg.Wait()
}

func TestItemsAndToolsAreCountedWhole(t *testing.T) {
	c := loaded(t)
	call := models.Item{Kind: models.Call, Name: "read", Arguments: `{"path":"main.go"}`}
	if got, want := c.Item(call), perItem+c.Text("read")+c.Text(call.Arguments); got != want {
		t.Errorf("Item = %d, want %d", got, want)
	}
	picture := models.Item{Kind: models.Message, Text: "look", Images: make([]models.Image, 2)}
	if got, want := c.Item(picture), perItem+c.Text("look")+2*perImage; got != want {
		t.Errorf("Item = %d, want %d", got, want)
	}
	tool := models.ToolSpec{Name: "grep", Description: "searches", Schema: []byte(`{"type":"object"}`)}
	if got, want := c.Tool(tool), perTool+c.Text("grep")+c.Text("searches")+c.Text(`{"type":"object"}`); got != want {
		t.Errorf("Tool = %d, want %d", got, want)
	}
}

func TestCalibrate(t *testing.T) {
	sol, luna := models.Target{Provider: "openai", Model: "sol"}, models.Target{Provider: "openai", Model: "luna"}
	type report struct{ ours, reported int64 }
	for name, tc := range map[string]struct {
		reports []report
		want    float64
	}{
		"nothing reported leaves counts alone":      {nil, 1},
		"a first report is taken as it is":          {[]report{{10_000, 11_000}}, 1.1},
		"twice our count doubles":                   {[]report{{10_000, 20_000}}, 2},
		"half our count halves":                     {[]report{{10_000, 5_000}}, 0.5},
		"a report out of reason is clamped":         {[]report{{10_000, 1 << 62}}, 2},
		"a report of next to nothing is clamped":    {[]report{{1 << 40, 1}}, 0.5},
		"a small request is ignored":                {[]report{{999, 1998}}, 1},
		"no usage is ignored":                       {[]report{{10_000, 0}, {10_000, -5}}, 1},
		"no count of ours is ignored":               {[]report{{0, 10_000}, {-1, 10_000}}, 1},
		"one that disagrees moves it a quarter":     {[]report{{10_000, 10_000}, {10_000, 10_000}, {10_000, 10_000}, {10_000, 10_000}, {10_000, 20_000}}, 1.25},
		"the second report counts as much as first": {[]report{{10_000, 10_000}, {10_000, 12_000}}, 1.1},
	} {
		t.Run(name, func(t *testing.T) {
			c := New()
			for _, r := range tc.reports {
				c.Calibrate(sol, r.ours, r.reported)
			}
			if got := c.Factor(sol); got < tc.want-1e-9 || got > tc.want+1e-9 {
				t.Errorf("Factor = %v, want %v", got, tc.want)
			}
			if got, want := c.Measured(sol), tc.want != 1; got != want {
				t.Errorf("Measured = %v, want %v", got, want)
			}
			if got, want := c.Scale(sol, 1000), int64(tc.want*1000+0.5); got != want {
				t.Errorf("Scale = %d, want %d", got, want)
			}
			if c.Factor(luna) != 1 || c.Measured(luna) {
				t.Error("another target is scaled too")
			}
		})
	}
	t.Run("a server that changes its mind is followed", func(t *testing.T) {
		c := New()
		c.Calibrate(sol, 10_000, 10_000)
		for range 20 {
			c.Calibrate(sol, 10_000, 20_000)
		}
		if got := c.Factor(sol); got < 1.98 || got > 2 {
			t.Errorf("Factor = %v, want nearly 2", got)
		}
	})
}

func TestExact(t *testing.T) {
	for model, want := range map[string]bool{
		"gpt-5": true, "gpt-5.6-sol": true, "gpt-5-mini": true, "gpt-4o": true, "gpt-4o-mini-2024-07-18": true, "gpt-4.1-nano": true, "o1": true, "o3-pro": true, "o4-mini": true, "chatgpt-4o-latest": true, "GPT-5": true,
		"openai/gpt-5": true, "openai/gpt-5:nitro": true, "ft:gpt-4o:org::id": true, "gpt-oss:20b": true, "openai/gpt-oss-120b": true,
		"": false, "gpt-4": false, "gpt-4-turbo": false, "gpt-3.5-turbo": false, "gpt-50": false, "gpt-5o": false, "o10": false, "o4": false, "claude-opus": false, "qwen3-coder": false, "llama-gpt-5": false, "gpt-6": false, "/": false,
	} {
		if got := Exact(model); got != want {
			t.Errorf("Exact(%q) = %v, want %v", model, got, want)
		}
	}
}

func BenchmarkTextKnown(b *testing.B) {
	c := loaded(b)
	text := megabyte(code(b))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		c.Text(text)
	}
}
