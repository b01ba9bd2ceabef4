package keys

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// screenFiles parses the packages of the screen, without this one and the tests.
func screenFiles(t *testing.T) (*token.FileSet, []*ast.File) {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case "cli", "plain", "keys":
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d files of the screen were found", len(files))
	}
	return set, files
}

// keyNames are the names of all keys in the tables.
func keyNames() map[string]bool {
	names := map[string]bool{}
	for _, b := range Table {
		for _, key := range b.Keys {
			names[key] = true
		}
	}
	for _, p := range parts() {
		for _, r := range p.rows {
			for _, key := range r.keys {
				names[key] = true
			}
		}
	}
	return names
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// compared calls f with each string that a file compares, switches on, or looks
// up in a map that it writes down.
func compared(f *ast.File, visit func(e ast.Expr, s string)) {
	each := func(list ...ast.Expr) {
		for _, e := range list {
			if s, ok := literal(e); ok {
				visit(e, s)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			each(n.List...)
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				each(n.X, n.Y)
			}
		case *ast.CompositeLit:
			if _, ok := n.Type.(*ast.MapType); ok {
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						each(kv.Key)
					}
				}
			}
		}
		return true
	})
}

func TestNoOtherPackageComparesKeys(t *testing.T) {
	set, files := screenFiles(t)
	names := keyNames()
	for _, f := range files {
		compared(f, func(e ast.Expr, s string) {
			if names[s] {
				t.Errorf("%s compares with the key %q: match an action of a part of keys", set.Position(e.Pos()), s)
			}
		})
	}
}

// namedKey finds a key that is named in a text for people.
var namedKey = regexp.MustCompile(`\b(?:(?:ctrl|alt|shift)\+|F\d+\b|esc\b|enter\b|pgup\b|pgdn\b|tab\b)`)

func TestNoOtherPackageNamesKeysInItsTexts(t *testing.T) {
	set, files := screenFiles(t)
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if s, ok := literal(n); ok && namedKey.MatchString(s) {
					t.Errorf("%s names a key in %q: take its label from keys", set.Position(n.Pos()), s)
				}
			}
			return true
		})
	}
}

func TestEveryActionOfAPartIsHandled(t *testing.T) {
	used := map[string]bool{}
	_, files := screenFiles(t)
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "keys" {
					used[sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	f, err := parser.ParseFile(token.NewFileSet(), "actions.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range f.Decls {
		for _, spec := range decl.(*ast.GenDecl).Specs {
			name := spec.(*ast.ValueSpec).Names[0].Name
			if !used[name] {
				t.Errorf("nothing on the screen knows %s", name)
			}
		}
	}
}

func TestNoKeyOfAPartHasTwoMeanings(t *testing.T) {
	for i, p := range parts() {
		seen := map[string]Action{}
		for _, r := range p.rows {
			for _, key := range r.keys {
				if before, ok := seen[key]; ok {
					t.Errorf("part %d: %s means %s and %s", i, key, before, r.action)
				}
				seen[key] = r.action
			}
		}
	}
}
