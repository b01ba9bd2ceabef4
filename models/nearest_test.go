package models

import (
	"slices"
	"strings"
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

func TestANameWithoutATagMeansTheLatest(t *testing.T) {
	known := []string{"qwen3:latest", "qwen3:8b", "sol"}
	for name, want := range map[string]bool{
		"qwen3": true, "qwen3:latest": true, "qwen3:8b": true, "sol:latest": true,
		"qwen3:4b": false, "qwen": false, "": false, ":latest": false,
	} {
		if got := Lists(known, name); got != want {
			t.Errorf("lists %q: %v, want %v", name, got, want)
		}
	}
	if got := Nearest("qwen3", known); slices.Contains(got, "qwen3:latest") {
		t.Errorf("nearest of qwen3 is %q, which has its own name", got)
	}
}

func TestTheNamesOfAnEndpointCorrectWhatA404Said(t *testing.T) {
	known := []string{"gpt-5.6-sol:latest", "other"}
	for _, c := range []struct {
		name    string
		fault   Fault
		kind    Kind
		hint    string
		nearest int
	}{
		{"the name is right, so the path is wrong",
			Fault{Kind: KindModel, PathInDoubt: true, Target: Target{Model: "gpt-5.6-sol"}}, KindRequest, "base_url", 0},
		{"the endpoint says that it is the name",
			Fault{Kind: KindModel, Target: Target{Model: "gpt-5.6-sol"}}, KindModel, "said", 0},
		{"another name was meant",
			Fault{Kind: KindModel, PathInDoubt: true, Target: Target{Model: "gpt-5.6-so"}}, KindModel, "gpt-5.6-sol", 1},
		{"nothing is near",
			Fault{Kind: KindModel, PathInDoubt: true, Target: Target{Model: "zzz"}}, KindModel, "said", 0},
		{"another failure", Fault{Kind: KindServer, Target: Target{Model: "zzz"}}, KindServer, "said", 0},
	} {
		f := c.fault
		f.Hint = "said"
		f.CheckName(known)
		if f.Kind != c.kind || !strings.Contains(f.Hint, c.hint) || len(f.Nearest) != c.nearest {
			t.Errorf("%s: %s, %q, nearest %q", c.name, f.Kind, f.Hint, f.Nearest)
		}
	}
}
