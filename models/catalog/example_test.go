package catalog_test

import (
	"fmt"

	"belay/models"
	"belay/models/catalog"
)

// A provider of the user's own and a model the catalogue has never heard of.
func Example() {
	window := int64(32768)
	c := catalog.New(catalog.Options{
		Providers: map[string]catalog.ProviderOverride{"local": {BaseURL: "http://127.0.0.1:11434/v1"}},
		Models:    map[string]catalog.ModelOverride{"local/qwen3-coder": {Window: &window}},
	})
	p, _ := c.Provider("local")
	m := c.Model(models.Target{Provider: "local", Model: "qwen3-coder"})
	fmt.Println(p.BaseURL, p.API, p.Local)
	fmt.Println(m.Short, m.Window, m.Known)

	sol := c.Model(models.Target{Provider: "openai", Model: "gpt-5.6-sol"})
	fmt.Println(sol.Short, sol.Reasoning)
	// Output:
	// http://127.0.0.1:11434/v1 chat true
	// qwen3-coder 32768 true
	// sol true
}
