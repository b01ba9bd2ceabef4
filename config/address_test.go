package config

import (
	"strings"
	"testing"
)

func TestAddressesThatCannotAnswerAreRefused(t *testing.T) {
	for _, c := range []struct{ address, problem string }{
		{"https://api.example.com/v1", ""},
		{"https://api.example.com/v1/", ""},
		{"http://127.0.0.1:11434/v1", ""},
		{"http://[::1]:8080", ""},
		{"https://name:secret@host/v1", ""},
		{"https://host/v1beta/openai", ""},
		{"https://host/openai/deployments/one", ""},
		{"https://host/team/team/v1", ""},

		{"", "is not an address"},
		{"ftp://host/", "is not an address"},
		{"htps://host/v1", "is not an address"},
		{"https:/host/v1", "is not an address"},
		{"https:///v1", "is not an address"},
		{"https://host:99999/v1", "is not an address"},
		{"https://host:/v1", "is not an address"},
		{"https://host:port/v1", "is not an address"},
		{"https://.example.com/v1", "is not an address"},
		{"https://api..example.com/v1", "is not an address"},
		{"https://name:secret@[bad/v1", "is not an address"},
		{"api.example.com/v1", "has no scheme"},
		{"localhost:11434/v1", "has no scheme"},
		{"host.local:8080", "has no scheme"},
		{"https://https://api.example.com/v1", "twice"},
		{"http://https//api.example.com/v1", "twice"},
		{"https:https://api.example.com/v1", "twice"},
		{" https://api.example.com/v1", "a space"},
		{"https://api.example.com/v1 ", "a space"},
		{"https://api.exa mple.com/v1", "a space"},
		{"https://api.example.com/v1\n", "a line end"},
		{`"https://api.example.com/v1"`, "a quotation mark"},
		{"https://api.example.com/v1’", "a quotation mark"},
		{"https://api.example.com\u200b/v1", "an invisible character"},
		{"https://host/v1?key=1", "? or #"},
		{"https://host/v1/v1", `"/v1" twice`},
		{"https://host/api/v1/api/v1/", `"/api/v1" twice`},
		{"https://host//v1", "doubled slash"},
		{"https://host/v1/chat/completions", "ends in /chat/completions"},
		{"https://host/v1/responses/", "ends in /responses"},
		{"https://host/v1/models", "ends in /models"},
	} {
		problem, hint := checkAddress(c.address)
		if !strings.Contains(problem, c.problem) || (problem == "") != (c.problem == "") {
			t.Errorf("%q: %q, want %q", c.address, problem, c.problem)
		}
		if problem != "" && hint == "" || strings.Contains(problem, "secret") {
			t.Errorf("%q: problem %q, hint %q", c.address, problem, hint)
		}
	}
}

func TestKeysThatWereCopiedWithMoreThanTheKey(t *testing.T) {
	for _, c := range []struct{ key, problem string }{
		{"", ""},
		{"sk-proj-Abc_123.x-y", ""},
		{"abc+/def==", ""},
		{"sk-1 ", "a space"},
		{"\tsk-1", "a space"},
		{"sk-1\n", "a line end"},
		{"sk-1\r\n", "a line end"},
		{`"sk-1"`, "a quotation mark"},
		{"'sk-1'", "a quotation mark"},
		{"sk-1\u200b", "an invisible character"},
		{"sk\u20131", "a character that no key has"},
		{"OPENAI_API_KEY=sk-1", "the name of a variable"},
	} {
		problem := KeyProblem(c.key)
		if !strings.Contains(problem, c.problem) || (problem == "") != (c.problem == "") || strings.Contains(problem, "sk-1") {
			t.Errorf("%q: %q, want %q", c.key, problem, c.problem)
		}
	}
}
