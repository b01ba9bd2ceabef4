package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"belay/models"
	"belay/models/openai"
)

// A model that was trained to patch is called with text, and others get the same
// call as one with arguments.
func TestAPatchIsTextWhereTheModelKnowsIt(t *testing.T) {
	const text = "*** Begin Patch\n*** Update File: a\n-\"x\"\n+y\n*** End Patch\n"
	call := map[string]any{"patch": text}
	reply := "[[reply]]\ncalls = [{ id = \"c1\", name = \"apply_patch\", arguments = { patch = " + compact(t, text) + " } }]\n"
	server := script(t, reply+"[default]\ntext = \"done\"")
	c := openai.New(openai.Options{
		Providers: []models.Provider{
			{Name: "openai", BaseURL: "https://api.openai.com/v1", API: models.Responses},
			{Name: "chat", BaseURL: "https://api.openai.com/v1", API: models.Chat},
			{Name: "box", BaseURL: "http://box/v1", API: models.Responses},
		},
		HTTP: &http.Client{Transport: server},
	})
	tools := []models.ToolSpec{
		{Name: "ls"}, {Name: "edit"},
		{
			Name: "apply_patch", Schema: []byte(`{"type":"object","properties":{"patch":{"type":"string"}}}`),
			Freeform: &models.Freeform{Parameter: "patch", Grammar: "start: /x/", Replaces: "edit"},
		},
	}
	patching := models.Model{EditForm: models.EditByPatch}.Offered(tools)
	editing := models.Model{}.Offered(tools)
	req := models.Request{Items: []models.Item{models.NewMessage(models.User, "change it")}, Tools: patching}
	patcher := models.Target{Provider: "openai", Model: "gpt-5.6-sol"}
	got := attemptAt(t, t.Context(), c, patcher, req)
	if got.fault != nil || len(got.items) != 1 {
		t.Fatal(got.fault, got.items)
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(got.items[0].Arguments), &args); err != nil || args["patch"] != call["patch"] {
		t.Errorf("arguments %s, want %v", got.items[0].Arguments, call)
	}
	req.Items = append(req.Items, got.items[0], models.Item{Kind: models.Output, CallID: "c1", Text: "changed a"})
	for _, row := range []struct {
		target models.Target
		tools  []models.ToolSpec
		has    []string
		lacks  []string
	}{
		{
			patcher, patching,
			[]string{`"type":"custom"`, `"syntax":"lark"`, `"custom_tool_call"`, `"custom_tool_call_output"`, `"fc_`},
			[]string{`"name":"edit"`, `"function_call"`},
		},
		{
			models.Target{Provider: "openai", Model: "gpt-5.6-terra"}, patching,
			[]string{`"custom_tool_call"`, `"custom_tool_call_output"`},
			[]string{`"name":"edit"`, `"function_call"`, `"fc_`},
		},
		{
			models.Target{Provider: "openai", Model: "gpt-4"}, editing,
			[]string{`"name":"edit"`, `"function_call"`, `"function_call_output"`}, []string{"custom", "lark"},
		},
		{
			models.Target{Provider: "box", Model: "gpt-5-like"}, editing,
			[]string{`"name":"edit"`, `"function_call"`, `"function_call_output"`}, []string{"custom", "lark"},
		},
		{models.Target{Provider: "chat", Model: "gpt-4"}, editing, []string{`"name":"edit"`, `\"patch\"`}, []string{"custom"}},
	} {
		t.Run(row.target.String(), func(t *testing.T) {
			req.Tools = row.tools
			if got := attemptAt(t, t.Context(), c, row.target, req); got.fault != nil || got.text != "done" {
				t.Fatal(got.fault, got.text)
			}
			log := server.Log()
			body := string(log[len(log)-1].Body)
			for _, want := range row.has {
				if !strings.Contains(body, want) {
					t.Errorf("no %s in %s", want, body)
				}
			}
			for _, no := range row.lacks {
				if strings.Contains(body, no) {
					t.Errorf("%s in %s", no, body)
				}
			}
		})
	}
}
