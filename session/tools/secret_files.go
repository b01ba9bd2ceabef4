package tools

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"belay/context/repository"
	"belay/session/permit"
)

// The bounds of the look for files that hold secrets.
const (
	maxSecretLook  = 4000 // entries of folders
	maxSecretFiles = 64
)

// bulkyFolders hold what others wrote, and too much of it.
var bulkyFolders = []string{".git", "node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "__pycache__"}

// isSecret reports a file that holds secrets by its name or its place; a relative one
// is of the workspace.
func (s *Set) isSecret(file string) bool {
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.o.Root, filepath.FromSlash(file))
	}
	return permit.HoldsSecrets(file) || s.sandbox.IsSecret(file)
}

// secretFiles lists the files of the workspace that, going by their names, hold secrets:
// a command that nobody was asked about does not read them, however it comes to them.
// What a repository keeps is no secret any more, and git would take it for changed.
func (s *Set) secretFiles(ctx context.Context) []string {
	found := s.secretLooking()
	if len(found) == 0 {
		return nil
	}
	key := strings.Join(found, "\x00")
	if info, err := os.Stat(filepath.Join(s.o.Root, ".git", "index")); err == nil {
		key += info.ModTime().String()
	}
	s.mu.Lock()
	known, closed := s.closed.key == key, s.closed.files
	s.mu.Unlock()
	if known {
		return closed
	}
	tracked := repository.Tracked(ctx, s.o.Root, found)
	closed = slices.DeleteFunc(found, func(file string) bool { return slices.Contains(tracked, file) })
	s.mu.Lock()
	s.closed = closedFiles{key, closed}
	s.mu.Unlock()
	return closed
}

// closedFiles are those that reading commands do not read, as they were found last.
type closedFiles struct {
	key   string // what they follow from
	files []string
}

// secretLooking lists the files whose names look so. Folders near the top are looked at
// first.
func (s *Set) secretLooking() []string {
	root, err := follow(s.o.Root)
	if err != nil {
		return nil
	}
	var found []string
	folders := []string{root}
	for looked := 0; len(folders) > 0 && looked < maxSecretLook; {
		folder := folders[0]
		folders = folders[1:]
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		looked += len(entries)
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			switch {
			case e.IsDir() && !slices.Contains(bulkyFolders, e.Name()):
				folders = append(folders, path)
			case !e.IsDir() && permit.HoldsSecrets(path) && len(found) < maxSecretFiles:
				found = append(found, path)
			}
		}
	}
	return found
}
