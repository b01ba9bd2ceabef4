package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

func TestLiteralsThatEachMatchHolds(t *testing.T) {
	for expr, want := range map[string]string{
		"TODO":              "TODO",
		"func\\s+(\\w+)\\(": "func",
		"TODO|FIXME":        "TODO FIXME",
		"(foo|bar)+baz":     "foo bar",
		"x{2,3}yz":          "yz",
		"a*bc":              "bc",
		"(?i)Hello":         "hello i",
		"(?i)task":          "ta i",
		"(?i)sk":            "",
		"[a-z]+":            "",
		"a|[b-c]":           "",
		"(abc)?":            "",
		"":                  "",
		"^package (main)$":  "package ",
	} {
		f := newFinder(regexp.MustCompile(expr))
		var got []string
		for _, l := range f.literals {
			got = append(got, string(l))
		}
		if f.fold {
			got = append(got, "i")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q needs %q, want %q", expr, got, want)
		}
	}
}

// FuzzLiteralsLoseNoLine compares with a search of each line.
func FuzzLiteralsLoseNoLine(f *testing.F) {
	for _, seed := range [][2]string{
		{"a+b|c", "aab\nc\r\nd"}, {"(?i)kS", "\u212as\nKs\nx"}, {"x$", "x\r\nyx"}, {"(ab|cd){2}e?", "abcd\ncdabe"}, {"\n", "a\n\nb"},
		{"^$", "\n\na"}, {"(?i:A)b", "ab\nAB"}, {"é|ü", "é\nÜ"}, {"", "a\nb"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		re, err := regexp.Compile(expr)
		if _, syntaxErr := syntax.Parse(expr, syntax.Perl); err != nil || syntaxErr != nil || len(expr) > 100 {
			return
		}
		var want, got []int
		number := 0
		for line := range strings.Lines(text) {
			if number++; re.MatchString(strings.TrimRight(line, "\r\n")) {
				want = append(want, number)
			}
		}
		for _, line := range newFinder(re).lines(t.Context(), []byte(text), 1<<20) {
			got = append(got, line.number)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q in %q: lines %d, want %d", expr, text, got, want)
		}
	})
}

// forest is a repository with many files.
func forest(t testing.TB, n int) *Set {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("\tresult := compute(ctx, input) // the usual line of a program\n", 60)
	for i := range n {
		dir := filepath.Join(root, fmt.Sprintf("pkg%02d/part%d", i%50, i/50%10))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("package part\n%sfunc Name%d() {}\n", filler, i)
		if i%100 == 7 {
			text += "// TODO: look again\n"
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%05d.go", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "init", "-q")
	cmd.Dir = root
	if err := cmd.Run(); err != nil {
		t.Skip(err)
	}
	s, err := New(Options{Root: root, NewID: func() string { return "id" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (s *Set) ownGrep(ctx context.Context, expr string) (hits, error) {
	var h hits
	p, err := s.resolve(".")
	if err == nil {
		err = s.goGrep(ctx, p, "", regexp.MustCompile(expr), &h)
	}
	return h, err
}

func TestASearchOnAllCoresKeepsTheOrderOfFiles(t *testing.T) {
	s := forest(t, 700)
	h, err := s.ownGrep(t.Context(), "TODO|Name\\d*99\\(")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(h.b.String()), "\n")
	if !slices.IsSorted(lines) || len(lines) != 14 || !strings.Contains(lines[0], ":63:// TODO: look again") {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
	if h, err = s.ownGrep(t.Context(), "result"); !errors.Is(err, errEnough) || h.n != maxHits || !h.more {
		t.Errorf("%d hits, more: %v, %v", h.n, h.more, err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.ownGrep(stopped, "TODO"); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped search gave %v", err)
	}
}

// BenchmarkGrep searches 10,000 files, and has ripgrep do so where there is one.
func BenchmarkGrep(b *testing.B) {
	s := forest(b, 10_000)
	for name, expr := range map[string]string{
		"literal": "TODO: look", "words": `func\s+Name99\d\b`, "either": "FIXME|TODO", "folded": "(?i)todo: LOOK", "none": `[A-Z]{4}: \w+`,
	} {
		b.Run(name+"/own", func(b *testing.B) {
			for b.Loop() {
				if _, err := s.ownGrep(b.Context(), expr); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/rg", func(b *testing.B) {
			rg, err := exec.LookPath("rg")
			if err != nil {
				b.Skip(err)
			}
			for b.Loop() {
				var h hits
				p, err := s.resolve(".")
				if err == nil {
					err = s.ripgrep(b.Context(), rg, p, grepArgs{Pattern: expr}, &h)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
