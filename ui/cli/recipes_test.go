package cli

import (
	"io/fs"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"belay/models/answer"
	"belay/ui/cli/app"
)

func recipe(t *testing.T, name string) string {
	t.Helper()
	text, err := readRecipe(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryRecipeIsListed(t *testing.T) {
	entries, err := fs.ReadDir(recipeFiles, "recipes")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, r := range recipes {
		listed = append(listed, r.name)
		recipe(t, r.name)
	}
	for _, entry := range entries {
		if !slices.Contains(listed, entry.Name()) {
			t.Errorf("%s is not listed", entry.Name())
		}
	}
	if _, err := answer.NewSchema([]byte(recipe(t, "review.schema.json"))); err != nil {
		t.Error(err)
	}
}

// workflow is what GitHub reads of a workflow, as far as it is used here.
type workflow struct {
	Name        string                 `yaml:"name"`
	On          map[string]any         `yaml:"on"`
	Permissions map[string]string      `yaml:"permissions"`
	Concurrency map[string]any         `yaml:"concurrency"`
	Jobs        map[string]workflowJob `yaml:"jobs"`
}

type workflowJob struct {
	If      string            `yaml:"if"`
	RunsOn  string            `yaml:"runs-on"`
	Timeout int               `yaml:"timeout-minutes"`
	Env     map[string]string `yaml:"env"`
	Steps   []workflowStep    `yaml:"steps"`
}

type workflowStep struct {
	Name string         `yaml:"name"`
	If   string         `yaml:"if"`
	Uses string         `yaml:"uses"`
	With map[string]any `yaml:"with"`
	Run  string         `yaml:"run"`
}

func TestTheWorkflowIsOne(t *testing.T) {
	var w workflow
	decoder := yaml.NewDecoder(strings.NewReader(recipe(t, "github-actions.yml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&w); err != nil {
		t.Fatal(err)
	}
	if w.Name == "" || w.On["pull_request"] != nil || w.On["schedule"] == nil || w.Permissions["contents"] != "read" {
		t.Errorf("its head is %+v", w)
	}
	pinned := regexp.MustCompile(`^actions/[a-z-]+@v\d+$`)
	for name, job := range w.Jobs {
		if job.RunsOn == "" || job.Timeout == 0 || job.If == "" {
			t.Errorf("job %s: %+v", name, job)
		}
		for i, step := range job.Steps {
			if (step.Uses == "") == (step.Run == "") || step.Uses != "" && !pinned.MatchString(step.Uses) {
				t.Errorf("step %d of %s uses %q and runs %q", i+1, name, step.Uses, step.Run)
			}
			if step.Run != "" {
				checkShell(t, name, step.Run)
			}
		}
	}
	if len(w.Jobs) != 2 {
		t.Errorf("it has %d jobs", len(w.Jobs))
	}
}

func TestTheScriptsAreOnes(t *testing.T) {
	for _, r := range recipes {
		if strings.HasSuffix(r.name, ".sh") {
			checkShell(t, r.name, recipe(t, r.name))
		}
	}
}

var (
	belayLine = regexp.MustCompile(`\bbelay ((?:[a-z]+ )+)([^|;&>]*)`)
	longFlag  = regexp.MustCompile(`(?:^|\s)--([a-z-]+)`)
	expanded  = regexp.MustCompile(`\$\{\{.*?\}\}`)
)

// checkShell reports what a shell does not understand, and flags and recipes that do
// not exist.
func checkShell(t *testing.T, where, script string) {
	t.Helper()
	script = strings.ReplaceAll(expanded.ReplaceAllString(script, "x"), "\\\n", " ")
	if sh, err := exec.LookPath("sh"); err == nil {
		command := exec.Command(sh, "-n")
		command.Stdin = strings.NewReader(script)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", where, err, out)
		}
	}
	root := CLI{Env: app.Env{Version: "test"}}.rootCommand()
	for line := range strings.SplitSeq(script, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, found := range belayLine.FindAllStringSubmatch(line, -1) {
			words := strings.Fields(found[1])
			if len(words) == 2 && words[0] == "help" {
				recipe(t, strings.Fields(found[2])[0])
				continue
			}
			command, rest, err := root.Find(words)
			if err != nil || len(rest) > 0 || !command.HasParent() {
				t.Errorf("%s: there is no command belay %s", where, strings.Join(words, " "))
				continue
			}
			for _, flag := range longFlag.FindAllStringSubmatch(found[2], -1) {
				if command.Flags().Lookup(flag[1]) == nil && command.InheritedFlags().Lookup(flag[1]) == nil {
					t.Errorf("%s: belay %s has no flag --%s", where, strings.Join(words, " "), flag[1])
				}
			}
		}
	}
}
