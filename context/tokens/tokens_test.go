package tokens

import (
	"strings"
	"sync"
	"testing"

	"belay/models"
)

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

func TestEachModelIsCountedInItsOwnEncoding(t *testing.T) {
	c := New()
	own, other := c.For(models.O200k), c.For(models.CL100k)
	text := strings.Repeat("字AB字CD वर्ष ", 30)
	for _, counter := range []*Counter{c, own, other} {
		if counter.Exact() || counter.Text(text) != Estimate(text) {
			t.Error("exact before its vocabulary is loaded")
		}
	}
	if err := c.Load(); err != nil {
		t.Fatal(err)
	}
	t.Run("and only what is needed is read", func(t *testing.T) {
		if !own.Loaded() || !own.Exact() || other.Loaded() {
			t.Errorf("o200k_base loaded: %v, cl100k_base loaded: %v", own.Loaded(), other.Loaded())
		}
	})
	if err := other.Load(); err != nil || !other.Exact() {
		t.Fatalf("Exact = %v, %v", other.Exact(), err)
	}
	for _, counter := range []*Counter{own, other} {
		want := read(t, counter.encoding).count(text)
		if first, again := counter.Text(text), counter.Text(text); first != want || again != want ||
			len(counter.known) != 1 {
			t.Errorf("%s: Text = %d, then %d, want %d; %d known", counter.encoding.name, first, again, want,
				len(counter.known))
		}
	}
	if own.Text(text) == other.Text(text) {
		t.Error("both encodings count the same; the text proves nothing")
	}
	t.Run("or in o200k_base, inexactly, when that is not known", func(t *testing.T) {
		for _, name := range []string{"", "p50k_base"} {
			if got := c.For(name); got.Exact() || !got.Loaded() || got.Text(text) != own.Text(text) {
				t.Errorf("For(%q): exact %v, loaded %v", name, got.Exact(), got.Loaded())
			}
		}
	})
	t.Run("from whichever counter it is asked", func(t *testing.T) {
		if c.For(models.CL100k) != other || own.For(models.CL100k) != other || other.For("") != c {
			t.Error("counters of one family differ")
		}
		target := models.Target{Model: "gpt-4"}
		if other.Calibrate(target, 10_000, 11_000); c.Factor(target) != other.Factor(target) || !c.Measured(target) {
			t.Error("what was measured is not shared")
		}
	})
}

func TestACountIsRememberedWithinBounds(t *testing.T) {
	c := loaded(t)
	text := strings.Repeat("ab 12 ", 300)
	first := c.Text(text)
	if got := c.Text(text); got != first || len(c.known) != 1 {
		t.Errorf("Text = %d then %d, %d known", first, got, len(c.known))
	}
	for i := range uint64(maxKnown) {
		c.known[i] = 1
	}
	c.Text(text + "x")
	if got := len(c.known); got > maxKnown {
		t.Errorf("%d known, want %d at most", got, maxKnown)
	}
}

func TestCountsAreTheSameFromManyGoroutines(t *testing.T) {
	c := New()
	texts := append([]string{strings.Repeat("abc", 20_000), strings.Repeat("func main() {}\n", 500)}, nasty...)
	var wg sync.WaitGroup
	for range 4 {
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
		"nothing reported leaves counts alone":   {nil, 1},
		"a first report is taken as it is":       {[]report{{10_000, 11_000}}, 1.1},
		"twice our count doubles":                {[]report{{10_000, 20_000}}, 2},
		"half our count halves":                  {[]report{{10_000, 5_000}}, 0.5},
		"a report out of reason is clamped":      {[]report{{10_000, 1 << 62}}, 2},
		"a report of next to nothing is clamped": {[]report{{1 << 40, 1}}, 0.5},
		"a small request is ignored":             {[]report{{999, 1998}}, 1},
		"no usage is ignored":                    {[]report{{10_000, 0}, {10_000, -5}}, 1},
		"no count of ours is ignored":            {[]report{{0, 10_000}, {-1, 10_000}}, 1},
		"one that disagrees moves it a quarter": {[]report{{10_000, 10_000}, {10_000, 10_000}, {10_000, 10_000},
			{10_000, 10_000}, {10_000, 20_000}}, 1.25},
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

func BenchmarkTextKnown(b *testing.B) {
	c := loaded(b)
	text := megabyte(code(b))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		c.Text(text)
	}
}
