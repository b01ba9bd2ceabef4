package tools

import (
	_ "embed" // for the prose

	"belay/models"
	"belay/session"
)

// The names of the tools that belay itself makes calls of.
const (
	ReadFile   = "read"
	RunCommand = "shell"
)

// entry is a tool as it is told to the model, and what matters of it elsewhere.
type entry struct {
	name, schema, prose string
	tool                tool
	traits              models.ToolTraits
	class               session.Class // how much a call changes
	freeform            *models.Freeform
	explores            bool // it looks at the workspace and changes nothing
}

//go:embed read.md
var readProse string

//go:embed write.md
var writeProse string

//go:embed edit.md
var editProse string

//go:embed apply_patch.md
var patchProse string

//go:embed glob.md
var globProse string

//go:embed grep.md
var grepProse string

//go:embed shell.md
var shellProse string

//go:embed plan.md
var planProse string

// catalog is in the order in which the model reads it. The order is part of the
// request, so a change of it costs every session its cache once.
var catalog = []entry{
	{
		name: ReadFile, prose: readProse, tool: readTool{}, class: session.Read, explores: true,
		traits: models.ToolTraits{ReadsFile: true},
		schema: `{"type":"object","additionalProperties":false,"required":["path"],"properties":{
"path":{"type":"string","minLength":1,"description":"relative to the workspace, or absolute"},
"from":{"type":"integer","minimum":1,"description":"first line, counted from 1"},
"lines":{"type":"integer","minimum":1,"description":"how many lines; all by default"}}}`,
	},
	{
		name: "glob", prose: globProse, tool: globTool{}, class: session.Read, explores: true,
		schema: `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
"pattern":{"type":"string","minLength":1,"description":"such as **/*.go or cmd/*/main.go"},
"path":{"type":"string","description":"folder to look in; the workspace by default"}}}`,
	},
	{
		name: "grep", prose: grepProse, tool: grepTool{}, class: session.Read, explores: true,
		schema: `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
"pattern":{"type":"string","minLength":1,"description":"regular expression"},
"path":{"type":"string","description":"file or folder to look in; the workspace by default"},
"glob":{"type":"string","description":"only files whose path matches, such as *.go"},
"ignore_case":{"type":"boolean"}}}`,
	},
	{
		name: "edit", prose: editProse, tool: editTool{}, class: session.Write,
		traits: models.ToolTraits{EditsFile: true},
		schema: `{"type":"object","additionalProperties":false,"required":["path","edits"],"properties":{
"path":{"type":"string","minLength":1},
"edits":{"type":"array","minItems":1,"items":{"type":"object","additionalProperties":false,
"required":["old","new"],"properties":{
"old":{"type":"string","minLength":1,"description":"the exact text to replace, with its white space"},
"new":{"type":"string"},
"all":{"type":"boolean","description":"replace every occurrence"}}}}}}`,
	},
	{
		name: "apply_patch", prose: patchProse, tool: patchTool{}, class: session.Write,
		traits:   models.ToolTraits{EditsFile: true},
		freeform: &models.Freeform{Parameter: "patch", Grammar: patchGrammar, Replaces: "edit"},
		schema: `{"type":"object","additionalProperties":false,"required":["patch"],"properties":{
"patch":{"type":"string","minLength":1}}}`,
	},
	{
		name: "write", prose: writeProse, tool: writeTool{}, class: session.Write,
		traits: models.ToolTraits{EditsFile: true},
		schema: `{"type":"object","additionalProperties":false,"required":["path","content"],"properties":{
"path":{"type":"string","minLength":1},
"content":{"type":"string","description":"the whole new content of the file"}}}`,
	},
	{
		name: RunCommand, prose: shellProse, tool: shellTool{}, class: session.Run,
		schema: `{"type":"object","additionalProperties":false,"required":["command"],"properties":{
"command":{"type":"string","minLength":1},
"dir":{"type":"string","description":"working folder; the workspace by default"},
"timeout":{"type":"integer","minimum":1,"maximum":3600,"description":"seconds; 120 by default"}}}`,
	},
	{
		name: "plan", prose: planProse, tool: planTool{}, class: session.Read,
		traits: models.ToolTraits{KeepsOutput: true},
		schema: `{"type":"object","additionalProperties":false,"required":["tasks"],"properties":{
"tasks":{"type":"array","maxItems":30,"items":{"type":"object","additionalProperties":false,
"required":["text","status"],"properties":{
"text":{"type":"string","minLength":1,"maxLength":200},
"status":{"enum":["pending","active","done"]}}}}}}`,
	},
}
