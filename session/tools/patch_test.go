package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const someGo = "package a\n\nfunc one() int {\n\treturn 1\n}\n\nfunc two() int {\n\treturn 1\n}\n"

func TestPatches(t *testing.T) {
	update := func(lines ...string) string {
		return "*** Begin Patch\n*** Update File: a.go\n" + strings.Join(lines, "\n") + "\n*** End Patch"
	}
	for _, row := range []struct {
		name, patch string
		want        string // of a.go; empty: the patch is refused
		says        string
	}{
		{"by a context line", update("@@ func two() int {", "-\treturn 1", "+\treturn 2"),
			strings.Replace(someGo, "two() int {\n\treturn 1", "two() int {\n\treturn 2", 1), "changed a.go"},
		{"by lines around", update(" func two() int {", "-\treturn 1", "+\treturn 2", " }"),
			strings.Replace(someGo, "two() int {\n\treturn 1", "two() int {\n\treturn 2", 1), "changed"},
		{"two chunks", update("@@", "-package a", "+package b", "@@ func two() int {", "-\treturn 1", "+\treturn 2"),
			strings.Replace(strings.Replace(someGo, "package a", "package b", 1), "two() int {\n\treturn 1",
				"two() int {\n\treturn 2", 1), "changed"},
		{"white space that differs", update(" func one() int {   ", "-  return 1", "+\treturn 9"),
			strings.Replace(someGo, "return 1", "return 9", 1), "changed"},
		{"an empty line without its space", update(" package a", "", "+// one", " func one() int {"),
			strings.Replace(someGo, "func one", "// one\nfunc one", 1), "changed"},
		{"at the end", update("-}", "+} // end", "*** End of File"), strings.TrimSuffix(someGo, "}\n") + "} // end\n", "changed"},
		{"only added lines", update("+// last"), someGo + "// last\n", "changed"},
		{"below a context", update("@@ package a", "+// doc"), strings.Replace(someGo, "package a\n", "package a\n// doc\n", 1),
			"changed"},
		{"in a fence", "```\n" + update("-package a", "+package b") + "\n```\n",
			strings.Replace(someGo, "package a", "package b", 1), "changed"},
		{"not there", update("-return 7"), "", "the old text was not found"},
		{"a context that is not there", update("@@ func three()", "-x"), "", `no line "func three()"`},
		{"nothing", update(" package a"), "", "already has exactly this content"},
		{"a line without a sign", update("package a"), "", "line 2 of the patch: it begins with none of"},
		{"a second file", update("-package a", "+package b", "*** Update File: b.go", "-x"), "", "one file a call"},
		{"a removed file", "*** Begin Patch\n*** Delete File: a.go\n*** End Patch", "", "use shell to delete"},
		{"an existing file", "*** Begin Patch\n*** Add File: a.go\n+x\n*** End Patch", "", "exists: update it"},
		{"a missing file", strings.ReplaceAll(update("-x"), "a.go", "b.go"), "", "b.go does not exist: add it"},
		{"outside", strings.ReplaceAll(update("-x"), "a.go", "../../etc/passwd"), "", "not"},
		{"no end", "*** Begin Patch\n*** Update File: a.go\n-x", "", `ends with the line "*** End Patch"`},
		{"no patch", "change it please", "", `begins with the line "*** Begin Patch"`},
		{"no header", "*** Begin Patch\n*** End Patch", "", "the patch is empty"},
		{"no change", "*** Begin Patch\n*** Update File: a.go\n*** End Patch", "", "changes nothing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, ends := range []string{"\n", "\r\n"} {
				s := workspace(t, map[string]string{"a.go": strings.ReplaceAll(someGo, "\n", ends)})
				args, err := json.Marshal(map[string]string{"patch": row.patch})
				if err != nil {
					t.Fatal(err)
				}
				_, r := call(t, s, "apply_patch", string(args))
				if r.Error != (row.want == "") || !strings.Contains(r.Output, row.says) {
					t.Errorf("%+v, want %q", r, row.says)
				}
				content, err := os.ReadFile(filepath.Join(s.o.Root, "a.go"))
				if err != nil {
					t.Fatal(err)
				}
				want := row.want
				if want == "" {
					want = someGo
				}
				if got := string(content); got != strings.ReplaceAll(want, "\n", ends) {
					t.Errorf("a.go is %q", got)
				}
			}
		})
	}
	s := workspace(t, nil)
	_, r := call(t, s, "apply_patch", `{"patch":"*** Begin Patch\n*** Add File: new/b.txt\n+one\n+\n+two\n*** End Patch\n"}`)
	content, err := os.ReadFile(filepath.Join(s.o.Root, "new", "b.txt"))
	if r.Error || err != nil || string(content) != "one\n\ntwo\n" {
		t.Errorf("%+v, %v, %q", r, err, content)
	}
}

// Whatever a model writes is applied whole or refused, and never lost in silence.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{"@@ func one() int {\n-\treturn 1\n+\treturn 2", " package a\n\n", "+x\n*** End of File", "@@\n@@ }\n-"} {
		f.Add("*** Begin Patch\n*** Update File: a.go\n" + seed + "\n*** End Patch")
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePatch(text)
		if err != nil || p.create {
			return
		}
		got, err := p.apply(someGo)
		if err != nil {
			return
		}
		for _, chunk := range p.chunks {
			for _, line := range chunk.lines {
				if added, ok := strings.CutPrefix(line, "+"); ok && !strings.Contains(got, added) {
					t.Errorf("%q lacks %q", got, added)
				}
			}
		}
	})
}
