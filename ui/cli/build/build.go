// Package build decides what a belay says of how it was made: version, commit, compiler
// and the sums of its modules, all of it from the binary itself.
package build

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Set by the linker where the binary is not built in a checkout, as packages of
// distributions are: -ldflags "-X belay/ui/cli/build.version=v1.2.3".
var (
	version string
	commit  string
	date    string // RFC 3339
)

// Info is what is known of a build.
type Info struct {
	V        int      `json:"v"`
	Version  string   `json:"version"`          // dev: of no release
	Commit   string   `json:"commit,omitempty"` // empty: not known
	Date     string   `json:"date,omitempty"`   // of the commit, RFC 3339
	Modified bool     `json:"modified"`         // the checkout held changes
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	CGO      bool     `json:"cgo"`
	Modules  []Module `json:"modules"`
}

// Module is a module that is part of the binary.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum,omitempty"` // as in go.sum; empty: it was replaced
}

// Read is what this binary knows of itself.
func Read() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(info)
}

// of reads the facts that the compiler noted. What the linker was told goes before.
func of(info *debug.BuildInfo) Info {
	facts := Info{
		V: 1, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Modules: []Module{},
	}
	main := info.Main.Version
	if main == "(devel)" {
		main = ""
	}
	facts.Version = cmp.Or(version, main, "dev")
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			facts.Commit = setting.Value
		case "vcs.time":
			facts.Date = setting.Value
		case "vcs.modified":
			facts.Modified = setting.Value == "true"
		case "CGO_ENABLED":
			facts.CGO = setting.Value == "1"
		}
	}
	facts.Commit, facts.Date = cmp.Or(commit, facts.Commit), cmp.Or(date, facts.Date)
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		facts.Modules = append(facts.Modules, Module{module.Path, module.Version, module.Sum})
	}
	return facts
}

// Time is when the commit was made; zero: not known.
func (i Info) Time() time.Time {
	at, _ := time.Parse(time.RFC3339, i.Date)
	return at
}

// Text tells the facts to people, one a line.
func (i Info) Text() string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-9s %s\n", name, value)
		}
	}
	changed := ""
	if i.Modified {
		changed = " (with changes)"
	}
	fmt.Fprintf(&b, "belay %s\n", i.Version)
	line("commit", strings.TrimSpace(i.Commit+changed))
	line("date", i.Date)
	line("go", i.Go)
	line("platform", i.Platform)
	line("modules", fmt.Sprintf("%d; belay version --json names them with their sums", len(i.Modules)))
	return b.String()
}
