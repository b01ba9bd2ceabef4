package build

import (
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestTheFactsAreThoseOfTheCompiler(t *testing.T) {
	info := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.0.0", Sum: "h1:a"},
			{Path: "example.com/b", Version: "v2.0.0", Replace: &debug.Module{Path: "../b"}},
		},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-12-01T10:00:00Z"},
			{Key: "vcs.modified", Value: "true"}, {Key: "CGO_ENABLED", Value: "0"},
		},
	}
	got := of(info)
	want := []Module{{"example.com/a", "v1.0.0", "h1:a"}, {"../b", "", ""}}
	if got.Version != "v1.2.3" || got.Commit != "abc" || !got.Modified || got.CGO || !slices.Equal(got.Modules, want) {
		t.Errorf("the facts are %+v", got)
	}
	if got.Time().Year() != 2026 {
		t.Errorf("its time is %s", got.Time())
	}
	for _, line := range []string{"belay v1.2.3\n", "commit    abc (with changes)\n", "modules   2; "} {
		if !strings.Contains(got.Text(), line) {
			t.Errorf("the text lacks %q:\n%s", line, got.Text())
		}
	}
}

func TestWhatIsNotKnownIsNotSaid(t *testing.T) {
	got := of(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}})
	if got.Version != "dev" || !got.Time().IsZero() || strings.Contains(got.Text(), "commit") ||
		strings.Contains(got.Text(), "date") {
		t.Errorf("the facts are %+v:\n%s", got, got.Text())
	}
}

func TestTheLinkerIsBelievedFirst(t *testing.T) {
	version, commit = "v9.0.0", "fff"
	defer func() { version, commit = "", "" }()
	got := of(&debug.BuildInfo{
		Main:     debug.Module{Version: "v0.0.0-20261201"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}},
	})
	if got.Version != "v9.0.0" || got.Commit != "fff" {
		t.Errorf("the facts are %+v", got)
	}
}
