package models

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEveryKindHasItsPolicy(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "kinds.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for name := range file.Scope.Objects {
		if strings.HasPrefix(name, "Kind") && file.Scope.Objects[name].Kind == ast.Con {
			declared++
		}
	}
	kinds := Kinds()
	if slices.Sort(kinds); len(slices.Compact(kinds)) != declared {
		t.Errorf("the table has %d kinds, %d are declared", len(kinds), declared)
	}
	exits := []int{ExitFailed, ExitUnreachable, ExitCapacity, ExitAccount, ExitSettings, ExitInterrupted}
	texts := map[string]bool{}
	for _, k := range Kinds() {
		p := k.Policy()
		if p.Text == "" || p.Text == string(k) && k != KindBilling || texts[p.Text] {
			t.Errorf("%s: no text of its own: %q", k, p.Text)
		}
		texts[p.Text] = true
		if p.Scope == "" || p.Cause == "" || !slices.Contains(exits, p.Exit) {
			t.Errorf("%s: scope %q, cause %q, exit code %d", k, p.Scope, p.Cause, p.Exit)
		}
		if p.Other != OtherAny && p.Switch == SwitchNever {
			t.Errorf("%s: which other target may be asked, but none may", k)
		}
		if p.Uncounted && p.Retry == RetryNever {
			t.Errorf("%s: its retries are not counted, but there are none", k)
		}
		if p.Breaker == BreakerRefused && (p.Retry != RetryNever || p.Park != ParkNever) {
			t.Errorf("%s: retried or parked although only a person can help", k)
		}
	}
}

// The exit codes are a contract with scripts: the numbers stay.
func TestExitCodes(t *testing.T) {
	for kind, want := range map[Kind]int{
		KindCapacity: 75, KindRate: 75, KindUsage: 75,
		KindNetwork: 69, KindAbsent: 69, KindGateway: 69,
		KindAuth: 77, KindBilling: 77,
		KindModel: 78, KindRequest: 78,
		KindCancelled: 130,
		KindSize:      1, KindServer: 1, KindStream: 1, KindMalformed: 1, KindIncomplete: 1,
	} {
		if got := kind.Policy().Exit; got != want {
			t.Errorf("%s: exit code %d, want %d", kind, got, want)
		}
	}
}

func TestAKindFromANewerVersionIsShownByItsName(t *testing.T) {
	f := &Fault{Kind: "weather"}
	p := f.Kind.Policy()
	if f.Text() != "weather" || p.Exit != ExitFailed || p.Retry != RetryNever || p.Park != ParkNever {
		t.Errorf("%q, %+v", f.Text(), p)
	}
}

// What follows from a kind stands in the table; a switch over many kinds
// anywhere else would be a second one. diagnose is where kinds come from.
func TestNoOtherPackageHasATableOfKinds(t *testing.T) {
	const most = 3
	files := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "diagnose" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			path == "../models/kinds.go" {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.SwitchStmt, *ast.CompositeLit:
				if found := kindsIn(n); len(found) > most {
					t.Errorf("%s: names %d kinds of failures; add what it needs to the table in models/kinds.go",
						files.Position(n.Pos()), len(found))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// kindsIn are the kinds that a switch has cases for, or a literal has keys for.
func kindsIn(n ast.Node) map[string]bool {
	found := map[string]bool{}
	note := func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "models" && strings.HasPrefix(s.Sel.Name, "Kind") {
					found[s.Sel.Name] = true
				}
			}
			return true
		})
	}
	switch n := n.(type) {
	case *ast.SwitchStmt:
		for _, clause := range n.Body.List {
			for _, e := range clause.(*ast.CaseClause).List {
				note(e)
			}
		}
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				note(pair.Key)
			} else {
				note(e)
			}
		}
	}
	return found
}
