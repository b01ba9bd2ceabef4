package locale

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestATranslationTakesTheArgumentsOfItsText keeps "%!s(MISSING)" off the screen.
func TestATranslationTakesTheArgumentsOfItsText(t *testing.T) {
	c := parse(chinese)
	if len(c.texts) == 0 {
		t.Fatal("the catalogue is empty")
	}
	for id, told := range c.texts {
		if told == "" || told == id && people(id) {
			t.Errorf("%q is not translated", id)
		}
		want, got := arguments(id), arguments(told)
		if !slices.Equal(got, want) {
			t.Errorf("%q has the arguments %v, its translation %q has %v", id, want, told, got)
		}
		if filled := fmt.Sprintf(strings.ReplaceAll(told, "%w", "%v"), samples(id)...); len(want) > 0 && strings.Contains(filled, "%!") {
			t.Errorf("%q is said as %q: an index stands right before its verb, as in %%.2[3]f", id, filled)
		}
	}
}

// samples gives an argument for each that a format uses.
func samples(text string) []any {
	list := make([]any, 1+slices.Max(append(arguments(text), -1)))
	for i := range list {
		list[i] = "x"
	}
	next := 0
	for _, found := range verbPattern.FindAllStringSubmatch(text, -1) {
		if found[2] == "%" {
			continue
		}
		if found[1] != "" {
			next = position(found[1])
		}
		switch found[2] {
		case "d", "c", "x":
			list[next] = 1
		case "f", "g":
			list[next] = 1.5
		}
		next++
	}
	return list
}

// arguments gives the numbers of the arguments that a format uses, in order.
func arguments(text string) []int {
	var list []int
	next := 0
	for _, found := range verbPattern.FindAllStringSubmatch(text, -1) {
		if found[2] == "%" {
			continue
		}
		if found[1] != "" {
			next = position(found[1])
		}
		list = append(list, next)
		next++
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestAllWordsAreTranslated reads what the program says from its source. It fails with
// the texts that the catalogue lacks, written as the catalogue wants them.
func TestAllWordsAreTranslated(t *testing.T) {
	known := parse(chinese)
	var composed strings.Builder // texts that are put together are translated as a whole
	for id := range known.texts {
		composed.WriteString(id + "\x00")
	}
	said := readSaid(t, filepath.Join("..", ".."))
	for _, text := range slices.Sorted(maps.Keys(said)) {
		bare := strings.TrimSpace(text)
		if _, ok := known.texts[bare]; ok || bare == "" || !people(bare) {
			continue
		}
		if part := strings.Trim(bare, " ;:,.\n"); said[text].part && strings.Contains(composed.String(), part) {
			continue
		}
		t.Errorf("%s:\nmsgid %s\nmsgstr \"\"\n", said[text].where, strconv.Quote(bare))
	}
}

// origin is where a text is said.
type origin struct {
	where string
	part  bool // it may be part of a text that is put together
}

// sources are the files, or folders, of which each text that looks like words is read
// by a person, and found again by its format when it is shown.
var sources = []string{
	"config", "models/kinds.go", "models/diagnose/hint.go", "models/ledger/alerts.go", "session/permit/risk.go",
	"session/permit", "session/disk_error.go", "session/agent", "session/engine", "session/steps", "session/rewind",
	"session/sandbox/grip.go", "session/request_hint.go", "session/planedit.go", "session/store/errors.go",
	"session/store/writer_lock.go", "session/store/repair.go", "session/snapshot/errors.go", "models/ledger/alert.go",
	"models/route", "session/batch/place.go", "context/window/prune.go", "ui/cli", "ui/plain", "ui/controls.go", "ui/perform.go", "ui/handlers.go", "ui/keyboard.go", "ui/opener.go",
	"ui/session_commands.go", "ui/toast.go", "ui/plan_file.go", "ui/plan_follower.go", "ui/rewind_dialog.go", "ui/steps_panel.go",
	"ui/entry.go", "ui/capacity_panel.go", "ui/own_command.go", "ui/update.go", "ui/failure_page.go",
}

// unsaid are files and folders whose texts no person reads as belay's own: they are for
// models, for programs, or part of a script.
var unsaid = []string{
	"models/rehearsal", "session/tools", "session/held", "session/sandbox/hold", "ui/plain/json.go",
	"ui/cli/statistics/csv.go", "ui/cli/curl_command.go", "models/openai/curl.go", "config/local.go", "ui/cli/doctor/probes.go",
	"ui/cli/bundle/manifest.go", "ui/cli/build",
}

// comparing are functions whose words are looked for in what others say.
var comparing = []string{"named", "pairs", "words", "Contains", "containsAny", "Fields", "hasSub", "caption"}

// typed are the beginnings of texts that no language changes: lines to type, names of
// programs, and what the demo's person says.
var typed = []string{
	"Library/Application", "No space left", "Disk quota", "Permission denied", "Read-only file", "insufficient permission",
	"(?i)", "output of !", "Look at this above all", "curl wget ", "make cmake ", "The till is wrong", "belay sessions checkpoints 7k3",
	`belay run "add a test`, "belay stats --since 7d", "belay permissions revoke 2",
	"belay sessions export 4kf", "belay help recipes step.sh",
	"belay version",
}

// statement is one of a database.
var statement = regexp.MustCompile(`^(SELECT|INSERT|DELETE|UPDATE|PRAGMA|ATTACH|DETACH|WHERE|ORDER|AND|FROM|CREATE) `)

// told are the beginnings of texts that a model is told.
var told = []string{
	"You ", "Your ", "The user ", "They say", "Interrupted, ", "These calls ", "This call ", "Not run: ", "It had said",
	"done before the interruption", "was changed as asked", "They say", "The check of this step", "What shows that",
	"This command decides", "# ", "Do this step and nothing", "That cannot be read", "%s\n\n# The task", "this step",
}

// command is a line that can be typed, and how a command is called.
var command = regexp.MustCompile(`^((git diff \\| )?belay( [-%\w"<>.…-]+)+|[a-z]+( \[?[A-Z]+\]?)+)$`)

// translating are the functions whose first argument is translated.
var translating = []string{"T", "doing", "answering", "Hint", "hint", "add", "event", "say", "Say"}

// readSaid gives all texts of the program that a person may read.
func readSaid(t *testing.T, root string) map[string]origin {
	t.Helper()
	said := map[string]origin{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && name != root):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		path, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		if within(path, unsaid) {
			return nil
		}
		at := func(p token.Pos) string { return fmt.Sprintf("%s:%d", path, files.Position(p).Line) }
		r := reader{said: said, at: at, whole: within(path, sources), screen: strings.HasPrefix(path, "ui/")}
		ast.Inspect(file, r.read)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// within reports whether a file is one of a list, or lies in a folder of it.
func within(path string, list []string) bool {
	return slices.ContainsFunc(list, func(of string) bool { return path == of || strings.HasPrefix(path, of+"/") })
}

// reader collects the texts of a file.
type reader struct {
	said   map[string]origin
	at     func(token.Pos) string
	whole  bool // all that look like words
	screen bool // the file may translate texts itself
}

func (r reader) add(text string, where token.Pos, part bool) {
	if before, ok := r.said[text]; !ok || before.part && !part {
		r.said[text] = origin{r.at(where), part}
	}
}

func (r reader) read(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.Field:
		return node.Tag == nil
	case *ast.CallExpr:
		if _, name := called(node); slices.Contains(comparing, name) {
			return false
		}
		r.call(node)
	case ast.Expr:
		if text, ok := literal(node); ok {
			same := func(beginning string) bool { return strings.HasPrefix(strings.TrimLeft(text, " \n"), beginning) }
			elsewhere := command.MatchString(text) || statement.MatchString(strings.TrimSpace(text)) ||
				slices.ContainsFunc(typed, same) || slices.ContainsFunc(told, same)
			if r.whole && sentence.MatchString(text) && !elsewhere {
				r.add(text, node.Pos(), true)
			}
			return false
		}
	}
	return true
}

func (r reader) call(call *ast.CallExpr) {
	of, name := called(call)
	switch {
	case of == "errors" && name == "New", of == "fmt" && name == "Errorf":
		if text, ok := literal(call.Args[0]); ok && sentence.MatchString(text) {
			r.add(text, call.Pos(), true)
		}
	case !r.screen:
	case name == "N" && of == "locale" && len(call.Args) > 2: // the text of many is the key
		if text, ok := literal(call.Args[2]); ok {
			r.add(text, call.Pos(), false)
		}
	case name == "Plural" && len(call.Args) == 2:
		if text, ok := literal(call.Args[1]); ok {
			r.add("%d "+text+"s", call.Pos(), false)
		}
	case slices.Contains(translating, name) && len(call.Args) > 0:
		if text, ok := literal(call.Args[0]); ok {
			r.add(text, call.Pos(), false)
		}
	}
}

// called gives the package, or the variable, and the name of a function.
func called(call *ast.CallExpr) (of, name string) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return "", f.Name
	case *ast.SelectorExpr:
		if of, ok := f.X.(*ast.Ident); ok {
			return of.Name, f.Sel.Name
		}
		return "", f.Sel.Name
	}
	return "", ""
}

// sentence is what looks like words for a person, and not like a name or a key.
var sentence = regexp.MustCompile(`\pL{2,}[,;:.]? +\pL`)

// literal gives a string that is written out, in one part or several.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		right, also := literal(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	case *ast.ParenExpr:
		return literal(e.X)
	}
	return "", false
}

var word = regexp.MustCompile(`\pL{2,}`)

// people reports whether a text has a word in it.
func people(text string) bool { return word.MatchString(verbPattern.ReplaceAllString(text, "")) }
