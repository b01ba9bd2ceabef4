package models

import (
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "qwen3-coder", "llama3"}
	for name, want := range map[string]string{
		"gpt-5.6-Sol": "gpt-5.6-sol", " gpt-5.6-sol": "gpt-5.6-sol", "gpt-5.6\u200b-sol": "gpt-5.6-sol",
		"gpt‑5.6‑sol":  "gpt-5.6-sol",
		"gpt-5.6-tera": "gpt-5.6-terra", "qwen3": "qwen3-coder", "lama3": "llama3",
	} {
		if got := Nearest(name, known); len(got) == 0 || got[0] != want {
			t.Errorf("nearest of %q is %q, want %q first", name, got, want)
		}
	}
	if got := Nearest("zzz", known); len(got) != 0 {
		t.Errorf("nearest of zzz is %q, want none", got)
	}
}
