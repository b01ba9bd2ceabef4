package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	ignore "github.com/sabhiram/go-gitignore"

	"belay/context/repository"
	"belay/session/files"
)

// The bounds of one search.
const (
	maxGlobFiles   = 200     // paths that glob returns
	maxWalkedFiles = 200_000 // files that a walk looks at
	maxWalkDepth   = 64      // folders deep that a walk goes
	maxIgnoreFile  = 1 << 20 // bytes of a .gitignore
)

type globTool struct{}

func (globTool) prepare(s *Set, raw []byte) (Call, error) {
	var args struct{ Pattern, Path string }
	if err := json.Unmarshal(raw, &args); err != nil {
		return Call{}, err
	}
	if !doublestar.ValidatePattern(args.Pattern) {
		return Call{}, fmt.Errorf("%q is not a valid pattern", args.Pattern)
	}
	p, err := s.resolve(orDefault(args.Path, "."))
	if err != nil {
		return Call{}, err
	}
	title := args.Pattern
	if args.Path != "" {
		title += " in " + p.rel
	}
	return Call{Title: title, Path: p.abs, Outside: p.outside,
		Run: func(ctx context.Context, _ func(string)) Result {
			return s.glob(ctx, p, args.Pattern, s.focused(args.Path))
		}}, nil
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (s *Set) glob(ctx context.Context, dir location, pattern string, focus []string) Result {
	names, err := listFiles(ctx, dir.abs)
	if err != nil {
		return errorResult(err)
	}
	type found struct {
		path string
		time int64
	}
	var hits []found
	for _, f := range names {
		// A pattern without a slash means the name, as people expect of globs.
		ok, _ := doublestar.Match(pattern, f)
		if !ok && !strings.Contains(pattern, "/") {
			ok, _ = doublestar.Match(pattern, path.Base(f))
		}
		if ok && within(f, focus) {
			hit := found{path: f}
			if info, err := os.Stat(filepath.Join(dir.abs, filepath.FromSlash(f))); err == nil {
				hit.time = info.ModTime().UnixNano()
			}
			hits = append(hits, hit)
		}
	}
	if len(hits) == 0 {
		return Result{Output: "no file matches " + pattern, Summary: "no files"}
	}
	slices.SortStableFunc(hits, func(a, b found) int { return int(min(max(b.time-a.time, -1), 1)) })
	var b strings.Builder
	for i, h := range hits {
		if i == maxGlobFiles {
			fmt.Fprintf(&b, "… and %d more: use a narrower pattern\n", len(hits)-i)
			break
		}
		b.WriteString(s.name(dir, h.path) + "\n")
	}
	return Result{Output: b.String(), Summary: plural(len(hits), "file", "files")}
}

// name is how the model is told a file below p: relative to the workspace
// when it is inside.
func (s *Set) name(p location, file string) string {
	if p.outside {
		return filepath.Join(p.abs, filepath.FromSlash(file))
	}
	return path.Join(p.rel, file)
}

// Files lists what is below a workspace, without what .gitignore leaves out, as
// slash-separated relative paths; with a focus, only those in it.
func Files(ctx context.Context, root string, focus []string) ([]string, error) {
	all, err := listFiles(ctx, root)
	return slices.DeleteFunc(all, func(f string) bool { return !within(f, focus) }), err
}

// listFiles lists what is below a folder, without what .gitignore leaves out, as
// slash-separated relative paths. In a repository git itself is asked.
func listFiles(ctx context.Context, dir string) ([]string, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("look at %s: %w", dir, err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	if names, err := repository.Files(ctx, dir); err == nil {
		return names, nil
	}
	return walk(ctx, dir)
}

// walk is listFiles without git.
func walk(ctx context.Context, dir string) ([]string, error) {
	var list []string
	rules := map[string]*ignore.GitIgnore{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if d != nil && d.IsDir() {
				return fs.SkipDir // unreadable: its neighbours are still there
			}
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (d.Name() == ".git" || ignored(rules, rel+"/") || strings.Count(rel, "/") > maxWalkDepth) {
				return fs.SkipDir
			}
			if text, err := files.Read(files.At(filepath.Join(p, ".gitignore")), maxIgnoreFile); err == nil {
				rules[rel] = ignore.CompileIgnoreLines(strings.Split(string(text), "\n")...)
			}
			return nil
		}
		if d.Type().IsRegular() && !ignored(rules, rel) {
			list = append(list, rel)
		}
		if len(list) >= maxWalkedFiles {
			return fs.SkipAll
		}
		return nil
	})
	return list, err
}

// ignored asks the .gitignore of each folder above a path.
func ignored(rules map[string]*ignore.GitIgnore, rel string) bool {
	dir := strings.TrimSuffix(rel, "/")
	for dir != "." {
		dir = path.Dir(dir)
		if g := rules[dir]; g != nil && g.MatchesPath(strings.TrimPrefix(rel, strings.TrimPrefix(dir+"/", "./"))) {
			return true
		}
	}
	return false
}

var errEnough = errors.New("enough")
