package transcript

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"belay/session"
)

// linkedWords are the links of a text: what is shown, and where it leads.
func linkedWords(text string) map[string]string {
	found := map[string]string{}
	for _, part := range strings.Split(text, "\x1b]8;")[1:] {
		head, words, _ := strings.Cut(part, "\a")
		if _, address, _ := strings.Cut(head, ";"); address != "" {
			found[ansi.Strip(words)] = address
		}
	}
	return found
}

func linkedPane(files ...string) (p *Pane, asked *int) {
	p = pane(80, 40)
	th := *plainTheme
	asked = new(int)
	th.Address = func(path string) string {
		*asked++
		for _, f := range files {
			if f == path {
				return "file://here/w/" + f
			}
		}
		return ""
	}
	p.SetTheme(&th)
	return p, asked
}

func TestFilesThatAreNamedAreLinks(t *testing.T) {
	call := func(title string, failed bool) session.Event {
		return session.ToolEnded{CallID: title, Tool: "read", Title: title, Error: failed}
	}
	long := strings.Repeat("deep/", 20) + "end.go"
	for name, tt := range map[string]struct {
		event session.Event
		want  map[string]string
	}{
		"a span of code":        {said("see `a/b.go` now"), map[string]string{"a/b.go": "a/b.go"}},
		"with its place":        {said("see `a/b.go:12` now"), map[string]string{"a/b.go:12": "a/b.go"}},
		"with a range of lines": {said("see `a/b.go:12-40`."), map[string]string{"a/b.go:12-40": "a/b.go"}},
		"in a list":             {said("- one\n- `a/b.go#L7`"), map[string]string{"a/b.go#L7": "a/b.go"}},
		"not in bare words":     {said("see a/b.go now"), nil},
		"not what is no file":   {said("see `a/c.go` and `fmt.Println`"), nil},
		"not a part of a path":  {said("`b.go` is not `x/a/b.go` or a/b.go.old"), map[string]string{"b.go": "b.go"}},
		"not in a block":        {said("```\n`a/b.go`\n```"), nil},
		"a page":                {said("[a page](https://x.y/z)"), map[string]string{"https://x.y/z": "https://x.y/z"}},
		"a link to a file":      {said("[it](a/b.go)"), map[string]string{"a/b.go": "a/b.go"}},
		"a link to a line":      {said("- see [that](b.go#L7) there"), map[string]string{"b.go#L7": "b.go"}},
		"links to files of one name": {said("[one](b.go) and [two](a/b.go)"),
			map[string]string{"b.go": "b.go", "a/b.go": "a/b.go"}},
		"a link whose words end like it":   {said("[x/b.go](b.go) and `y/b.go`"), map[string]string{"b.go": "b.go"}},
		"a link to no file":                {said("[it](c.go) and [up](../b.go)"), nil},
		"never a file by its address":      {said("[a page](file:///etc/passwd) and [b](vscode://x)"), nil},
		"a mention":                        {asked("read @a/b.go, please"), map[string]string{"a/b.go": "a/b.go"}},
		"a mention of lines":               {asked("read @a/b.go:20-45"), map[string]string{"a/b.go:20-45": "a/b.go"}},
		"one with spaces":                  {asked(`read @"a b.go"`), map[string]string{"a b.go": "a b.go"}},
		"not an address of mail":           {asked("ask me@b.go"), nil},
		"a call's path":                    {call("a/b.go:1-20", false), map[string]string{"a/b.go:1-20": "a/b.go"}},
		"of one that failed":               {call("a/b.go", true), map[string]string{"a/b.go": "a/b.go"}},
		"cut, it leads there all the same": {call(long, false), map[string]string{"…" + long[len(long)-58:]: long}},
		"not a command":                    {call("cat a/b.go", false), nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := linkedPane("a/b.go", "b.go", "a b.go", long)
			play(p, tt.event)
			got := linkedWords(strings.Join(p.View(), "\n"))
			for words, file := range tt.want {
				want := "file://here/w/" + file
				if strings.HasPrefix(file, "http") {
					want = file
				}
				if got[words] != want {
					t.Errorf("%q leads to %q, want %q; links: %q", words, got[words], want, got)
				}
			}
			for words := range got {
				if _, ok := tt.want[words]; !ok && !strings.HasPrefix(got[words], "http") {
					t.Errorf("%q leads to %q", words, got[words])
				}
			}
		})
	}
}

func TestALinkChangesNoCellAndIsLookedUpOnce(t *testing.T) {
	events := []session.Event{
		asked("read @a/b.go"), said("see `a/b.go:12`, and `a/b.go` in " + strings.Repeat("words ", 30)),
		session.ToolEnded{CallID: "c", Tool: "read", Title: "a/b.go"},
	}
	p, asked := linkedPane("a/b.go")
	play(p, events...)
	bare := pane(80, 40)
	play(bare, events...)
	if got, want := shown(p), shown(bare); got != want {
		t.Errorf("with links\n%s\nwithout\n%s", got, want)
	}
	before := *asked
	for range 20 {
		p.View()
	}
	if *asked != before || before == 0 {
		t.Errorf("looked up %d times, then %d", before, *asked)
	}
}

func TestATerminalWithoutLinksGetsNone(t *testing.T) {
	p := pane(80, 40)
	play(p, said("see `a/b.go` on [a page](https://x.y/z) and https://q.r/s"))
	if view := strings.Join(p.View(), "\n"); strings.Contains(view, "\x1b]8;") || !strings.Contains(view, "a page") {
		t.Errorf("%q", view)
	}
}
