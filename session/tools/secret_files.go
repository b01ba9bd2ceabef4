package tools

import (
	"os"
	"path/filepath"
	"slices"

	"belay/session/permit"
)

// The bounds of the look for files that hold secrets.
const (
	maxSecretLook  = 4000 // entries of folders
	maxSecretFiles = 64
)

// bulkyFolders hold what others wrote, and too much of it.
var bulkyFolders = []string{".git", "node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "__pycache__"}

// secretFiles lists the files of the workspace that, going by their names, hold secrets:
// a command that nobody was asked about does not read them, however it comes to them.
// Folders near the top are looked at first.
func (s *Set) secretFiles() []string {
	var found []string
	folders := []string{s.o.Root}
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
