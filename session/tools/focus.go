package tools

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Focus keeps searches that name no path to some folders or patterns of the
// workspace; none takes that back.
func (s *Set) Focus(paths []string) error {
	var patterns []string
	for _, p := range paths {
		p = strings.TrimSuffix(path.Clean(strings.ReplaceAll(p, `\`, "/")), "/")
		if p == "." || path.IsAbs(p) || strings.HasPrefix(p, "..") || !doublestar.ValidatePattern(p) {
			return fmt.Errorf("focus on %q: name a folder or a pattern inside the workspace, such as orders or **/*.go", p)
		}
		patterns = append(patterns, p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.focus = patterns
	return nil
}

// focused are the patterns that a search without a path keeps to.
func (s *Set) focused(searched string) []string {
	if searched != "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.focus
}

// within reports whether a file of the workspace is in focus.
func within(file string, focus []string) bool {
	return len(focus) == 0 || slices.ContainsFunc(focus, func(pattern string) bool {
		if file == pattern || strings.HasPrefix(file, pattern+"/") {
			return true
		}
		ok, _ := doublestar.Match(pattern, file)
		return ok
	})
}
