package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// release is what is read here of the settings of goreleaser, which checks the rest
// itself (see .ci/package).
type release struct {
	Version int `yaml:"version"`
	Builds  []struct {
		Env     []string `yaml:"env"`
		GOOS    []string `yaml:"goos"`
		GOARCH  []string `yaml:"goarch"`
		Flags   []string `yaml:"flags"`
		LDFlags []string `yaml:"ldflags"`
	} `yaml:"builds"`
	Archives []struct {
		Files []any `yaml:"files"`
	} `yaml:"archives"`
	Packages []struct {
		Formats  []string `yaml:"formats"`
		Contents []struct {
			Source      string `yaml:"src"`
			Destination string `yaml:"dst"`
		} `yaml:"contents"`
	} `yaml:"nfpms"`
	Images []struct {
		File string `yaml:"dockerfile"`
	} `yaml:"dockers_v2"`
}

func readRelease(t *testing.T) (r release) {
	t.Helper()
	text, err := os.ReadFile(".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Version != 2 || len(r.Builds) != 1 || len(r.Archives) != 1 || len(r.Packages) != 1 || len(r.Images) != 1 {
		t.Fatalf("the settings of a release are %+v", r)
	}
	return r
}

func TestTheReleaseIsForEverySystem(t *testing.T) {
	r := readRelease(t)
	build := r.Builds[0]
	for _, want := range []struct{ got, of []string }{
		{build.GOOS, []string{"linux", "darwin", "windows"}},
		{build.GOARCH, []string{"amd64", "arm64"}},
		{build.Env, []string{"CGO_ENABLED=0"}},
		{build.Flags, []string{"-trimpath"}},
		{r.Packages[0].Formats, []string{"deb", "rpm", "apk"}},
	} {
		if !slices.Equal(want.got, want.of) {
			t.Errorf("it is %v, want %v", want.got, want.of)
		}
	}
}

// The linker says nothing of a variable that is not there.
func TestTheReleaseSetsVariablesThatExist(t *testing.T) {
	source, err := os.ReadFile("ui/cli/build/build.go")
	if err != nil {
		t.Fatal(err)
	}
	set := 0
	for _, flag := range readRelease(t).Builds[0].LDFlags {
		variable := regexp.MustCompile(`^-X belay/ui/cli/build\.(\w+)=`).FindStringSubmatch(flag)
		if variable == nil {
			continue
		}
		set++
		if !regexp.MustCompile(`(?m)^\t` + variable[1] + ` +string`).Match(source) {
			t.Errorf("package build has no variable %s", variable[1])
		}
	}
	if set != 3 {
		t.Errorf("%d variables are set, want version, commit and date", set)
	}
}

// What is not in the repository is made by .release/prepare.
func TestTheReleasePacksFilesThatExist(t *testing.T) {
	r := readRelease(t)
	names := []string{".release/prepare", r.Images[0].File}
	for _, file := range r.Archives[0].Files {
		if name, plain := file.(string); plain {
			names = append(names, name)
		}
	}
	prepared := map[string]bool{
		".release/out/completions/belay.bash": true, ".release/out/completions/belay.zsh": true,
		".release/out/completions/belay.fish": true, ".release/out/man/": true,
	}
	packed := map[string]bool{}
	for _, content := range r.Packages[0].Contents {
		if prepared[content.Source] {
			packed[content.Source] = true
			continue
		}
		names = append(names, content.Source)
	}
	if len(packed) != len(prepared) {
		t.Errorf("of what is prepared only %v is packed", packed)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.FromSlash(name)); err != nil {
			t.Error(err)
		}
	}
	prepare, err := os.ReadFile(".release/prepare")
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{"for shell in bash zsh fish", "belay.ps1", `help man "$out/man"`} {
		if !strings.Contains(string(prepare), made) {
			t.Errorf(".release/prepare lacks %q", made)
		}
	}
}
