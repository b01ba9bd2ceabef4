package cli

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"belay/ui/cli/exit"
	"belay/ui/locale"
)

//go:embed recipes
var recipeFiles embed.FS

// recipes are files to begin with, and what each is for.
var recipes = []struct{ name, does string }{
	{"step.sh", "a step of a pipeline, with a time of its own, that may be run again"},
	{"resume.sh", "after no room (75): wait, and go on from what was done"},
	{"notice.sh", "no room is a notice, and does not turn the build red"},
	{"review.sh", "a review of a change, as JSON by a schema"},
	{"review.schema.json", "the schema of that review"},
	{"fix-test.sh", "mend what a test says is broken, and believe only the test"},
	{"nightly.sh", "a list of tasks each night, and what failed once more"},
	{"github-actions.yml", "a workflow for GitHub: reviews, and tasks of the night"},
}

// recipesTopic lists the recipes.
func recipesTopic() string {
	var b strings.Builder
	b.WriteString(locale.T("Files to begin with, for pipelines and nights. Print one, and change it as you like:\n\n") +
		"  belay help recipes step.sh > step.sh\n\n")
	for _, recipe := range recipes {
		fmt.Fprintf(&b, "  %-19s %s\n", recipe.name, locale.T(recipe.does))
	}
	b.WriteString("\n" + locale.T(`What they rely on: the exit codes (75 is no room: the work is parked, and
belay resume ID goes on from the last thing that was done), the answer alone on
standard output, and belay resume printing the answer of a turn that is done
again. Keep BELAY_HOME between the runs of a pipeline: the sessions are there.
`))
	return b.String()
}

// readRecipe is one of the recipes.
func readRecipe(name string) ([]byte, error) {
	text, err := recipeFiles.ReadFile(path.Join("recipes", name))
	if err != nil {
		return nil, &exit.UsageError{Err: fmt.Errorf("there is no recipe %q", name), See: "belay help recipes, which lists them"}
	}
	return text, nil
}
