package permit

import (
	"os"
	"path/filepath"
)

// TooWide says why changes in a workspace are not left to a mode: it holds more than a
// project, such as the home folder, or what belay itself obeys. Own are the folders
// of belay's settings and data. Empty: it is a project.
func TooWide(root string, own ...string) string {
	root = resolved(root)
	if root == filepath.Dir(root) {
		return "the workspace is the whole disk"
	}
	if home, err := os.UserHomeDir(); err == nil && within(root, resolved(home)) {
		return "the workspace holds your home folder"
	}
	for _, dir := range own {
		if dir != "" && within(root, resolved(dir)) {
			return "the workspace holds belay's own settings or data"
		}
	}
	return ""
}

func resolved(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	return filepath.Clean(path)
}
