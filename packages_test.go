package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// pkg is a package of this module: its folder, and its files by name.
type pkg struct {
	dir   string // "." for main
	files map[string]*ast.File
}

func (p pkg) test(name string) bool { return strings.HasSuffix(name, "_test.go") }

// imports lists what a package imports, without its tests.
func (p pkg) imports() []string {
	var list []string
	for name, f := range p.files {
		if !p.test(name) {
			list = append(list, importsOf(f)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func importsOf(f *ast.File) []string {
	var list []string
	for _, spec := range f.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			list = append(list, name)
		}
	}
	return list
}

// packages gives every Go file of the module, which is read once.
func packages(t *testing.T) []pkg {
	t.Helper()
	list, err := readPackages()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var readPackages = sync.OnceValues(func() ([]pkg, error) {
	byDir := map[string]pkg{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 1 && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		if byDir[dir].files == nil {
			byDir[dir] = pkg{dir: dir, files: map[string]*ast.File{}}
		}
		byDir[dir].files[filepath.Base(name)] = f
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []pkg
	for _, p := range byDir {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b pkg) int { return cmp.Compare(a.dir, b.dir) })
	return list, nil
})

// sessionLayers is the order within session: each may use what stands on the left of
// it.
var sessionLayers = [][]string{
	{"sandbox/hold", "queue/scratch"}, {"recovery", "sandbox", "files"}, {"store", "permit", "snapshot"}, {"held"}, {"tools", "rewind"}, {"request"}, {"agent"}, {"steps"}, {"engine"}, {"batch"}, {"queue"},
}

func sessionLayer(name string) int {
	return slices.IndexFunc(sessionLayers, func(names []string) bool { return slices.Contains(names, name) })
}

// inCLI reports whether a folder belongs to the command line.
func inCLI(dir string) bool { return dir == "ui/cli" || strings.HasPrefix(dir, "ui/cli/") }

// cliLayer is the place of a folder of the command line in its order: each may
// use what stands before it. It is -1 for any other folder.
func cliLayer(dir string) int {
	layers := [][]string{
		{"ui/cli/exit", "ui/cli/maintenance", "ui/cli/build"},
		{"ui/cli/app"},
		{"ui/cli/doctor", "ui/cli/statistics", "ui/cli/demo", "ui/cli/bundle"},
		{"ui/cli"},
	}
	return slices.IndexFunc(layers, func(names []string) bool { return slices.Contains(names, dir) })
}

// mayImport says whether one folder may import another of this module.
func mayImport(from, to string) bool {
	top, name, deep := strings.Cut(from, "/")
	toTop, toName, toDeep := strings.Cut(to, "/")
	switch {
	case top == "." || from == to:
		return true
	case from == "ui/locale":
		return false
	case to == "ui/locale":
		return top == "ui"
	case top == "config":
		return false
	case top == "models":
		return deep && (to == "models" || to == "models/redact" || from == "models/openai" && to == "models/diagnose" ||
			from == "models/gateway" && to == "models/route")
	case top == "context":
		return to == "models" || to == "context/repository"
	case from == "session":
		return to == "models"
	case top == "session":
		if toTop == "session" && toDeep {
			return sessionLayer(name) >= 0 && sessionLayer(toName) >= 0 && sessionLayer(toName) < sessionLayer(name)
		}
		return to == "session" || to == "models" || toTop == "models" || toTop == "context"
	case from == "ui":
		return !inCLI(to) && to != "ui/plain" && (toTop == "ui" || to == "models" || to == "session")
	case from == "ui/theme" || from == "ui/keys":
		return to == "models" || to == "session"
	case inCLI(from):
		return cliLayer(to) >= 0 && cliLayer(to) < cliLayer(from) || to == "ui/theme" || to == "ui/keys" ||
			to == "ui/plain" ||
			toTop != "ui"
	case from == "ui/plain":
		return to == "ui/theme" || to == "ui/keys" || toTop != "ui"
	case top == "ui":
		return to == "models" || to == "session" || to == "ui/theme" || to == "ui/keys"
	}
	return false
}

// terminal reports whether an import belongs to the full screen alone.
func terminal(name string) bool {
	return strings.Contains(name, "bubbletea") || strings.HasPrefix(name, "charm.land/bubbles")
}

func TestEveryImportFollowsTheLayers(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range p.imports() {
			to, ours := strings.CutPrefix(name, "belay/")
			if ours && !mayImport(p.dir, to) {
				t.Errorf("%s imports %s", p.dir, name)
			}
		}
	}
}

func TestTheScreensLibraryStaysOnTheScreen(t *testing.T) {
	for _, p := range packages(t) {
		for file, f := range p.files {
			for _, name := range importsOf(f) {
				if outside := !strings.HasPrefix(p.dir, "ui") || inCLI(p.dir) || p.dir == "ui/plain"; outside &&
					terminal(name) {
					t.Errorf("%s/%s imports %s", p.dir, file, name)
				}
				if name == "github.com/openai/openai-go/v3" {
					t.Errorf("%s/%s imports openai-go's root package, which drags every API in", p.dir, file)
				}
			}
		}
	}
}

func TestEveryPackageSaysWhatItDecides(t *testing.T) {
	vague := []string{"util", "utils", "common", "helper", "helpers", "types", "base", "core", "misc"}
	for _, p := range packages(t) {
		want, documented := path.Base(p.dir), 0
		if p.dir == "." {
			want = "main"
		}
		for file, f := range p.files {
			if got := strings.TrimSuffix(f.Name.Name, "_test"); got != want {
				t.Errorf("%s/%s is of package %s, want %s", p.dir, file, f.Name.Name, want)
			}
			if f.Doc != nil && !p.test(file) {
				documented++
			}
		}
		if documented != 1 {
			t.Errorf("%s has %d package docs, want 1", p.dir, documented)
		}
		if slices.Contains(vague, want) {
			t.Errorf("%s has a name that says nothing", p.dir)
		}
		if p.dir == "context" {
			t.Error("a Go file stands directly in context/, where it clashes with the standard package")
		}
	}
}

func TestNothingNewStandsAtTheTop(t *testing.T) {
	known := []string{
		"go.mod",
		"go.sum",
		"main.go",
		"ui",
		"session",
		"context",
		"models",
		"config",
		"testdata",
		"README.md",
		"README.zh.md",
		"LICENSE",
		"AGENTS.md",
		"CHANGELOG.md",
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		built := e.Name() == "belay" || e.Name() == "belay.exe" || e.Name() == "dist" ||
			strings.HasSuffix(e.Name(), ".test") ||
			strings.HasSuffix(e.Name(), ".prof")
		if !built && !strings.HasPrefix(e.Name(), ".") && !strings.HasSuffix(e.Name(), "_test.go") &&
			!slices.Contains(known, e.Name()) {
			t.Errorf("%s stands at the top: put it into one of the folders", e.Name())
		}
	}
}

func TestNoTypeHasMoreMethodsThanAReaderCanHold(t *testing.T) {
	const maxMethods = 60
	for _, p := range packages(t) {
		methods := map[string]int{}
		for name, f := range p.files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && !p.test(name) {
					methods[receiver(fn)]++
				}
			}
		}
		for name, n := range methods {
			if n > maxMethods {
				t.Errorf("%s.%s has %d methods, want at most %d: some belong to a smaller type", p.dir, name, n, maxMethods)
			}
		}
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(fn *ast.FuncDecl) string {
	switch x := fn.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		if id, ok := x.X.(*ast.Ident); ok {
			return id.Name
		}
	case *ast.Ident:
		return x.Name
	}
	return "a generic type"
}

func TestNoLineIsLongerThanAScreen(t *testing.T) {
	const maxCharacters = 120
	for _, p := range packages(t) {
		for name := range p.files {
			data, err := os.ReadFile(filepath.Join(p.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			quoted := quotedCharacters(data)
			number := 0
			for line := range strings.Lines(string(data)) {
				number++
				n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n"))
				if n-quoted[number] > maxCharacters {
					t.Errorf("%s/%s:%d has %d characters, want at most %d", p.dir, name, number, n, maxCharacters)
				}
			}
		}
	}
}

// quotedCharacters counts, for each line of a file, the characters of the string
// literals on it: texts of a wire, regular expressions and SQL stay in one piece.
func quotedCharacters(src []byte) map[int]int {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	quoted := map[int]int{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return quoted
		}
		if tok != token.STRING {
			continue
		}
		number := file.Line(pos)
		for line := range strings.Lines(literal) {
			quoted[number] += utf8.RuneCountInString(line)
			number++
		}
	}
}

func TestMayImport(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"config", "models", false},
		{"models", "session", false},
		{"models/route", "models", true},
		{"models/route", "models/openai", false},
		{"models/openai", "models/diagnose", true},
		{"context/window", "session", false},
		{"session", "session/store", false},
		{"session/agent", "session/tools", true},
		{"session/tools", "session/agent", false},
		{"session/tools", "session/store", true},
		{"session/store", "session/permit", false},
		{"session/rewind", "session/store", true},
		{"session/rewind", "session/tools", false},
		{"session/request", "session/tools", true},
		{"session/request", "session/agent", false},
		{"session/steps", "session/agent", true},
		{"session/steps", "session/engine", false},
		{"session/engine", "ui/theme", false},
		{"ui/transcript", "ui/status", false},
		{"ui/transcript", "ui/theme", true},
		{"ui", "session/engine", false},
		{"ui/cli", "session/engine", true},
		{"ui/cli", "ui/transcript", false},
		{"ui/cli", "ui/cli/app", true},
		{"ui/cli/app", "ui/cli/exit", true},
		{"ui/cli/app", "ui/cli/doctor", false},
		{"ui/cli/doctor", "ui/cli/app", true},
		{"ui/cli/exit", "ui/cli", false},
		{"ui", "ui/cli/app", false},
		{"ui/plain", "ui", false},
	} {
		if got := mayImport(tt.from, tt.to); got != tt.want {
			t.Errorf("mayImport(%s, %s) = %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
}
