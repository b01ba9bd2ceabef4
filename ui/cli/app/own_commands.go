package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"belay/config"
	"belay/models"
)

// OwnCommand is a prompt that the person, or a project they trust, has written down
// under a name.
type OwnCommand struct {
	Name        string
	Description string
	Tier        models.Tier // that it is asked of; empty: the session's
	Text        string
	Project     bool // the project has it
}

// Bounds of own commands: a project may hold anything.
const (
	maxOwnCommands = 100
	maxOwnCommand  = 64 << 10
)

var ownName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// OwnCommands reads the commands of the person, and those of a project that is trusted.
// The person's come first where both have a name.
func (a *App) OwnCommands() []OwnCommand {
	var list []OwnCommand
	if dir, err := config.Dir(os.Getenv); err == nil {
		list = readCommands(list, dir, "commands", false)
	}
	if a.trusted {
		for _, folder := range []string{".belay/commands", ".claude/commands"} {
			list = readCommands(list, a.options.Project, folder, true)
		}
	}
	return list
}

// readCommands adds the commands of a folder below a root, which no link leaves.
func readCommands(list []OwnCommand, dir, folder string, project bool) []OwnCommand {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return list
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(folder))
	if err != nil {
		return list
	}
	for _, entry := range entries {
		name := strings.ToLower(strings.TrimSuffix(entry.Name(), ".md"))
		known := slices.ContainsFunc(list, func(c OwnCommand) bool { return c.Name == name })
		if filepath.Ext(entry.Name()) != ".md" || !ownName.MatchString(name) || known || len(list) >= maxOwnCommands {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		info, err := root.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxOwnCommand {
			continue
		}
		data, err := root.ReadFile(path)
		if err != nil || len(data) > maxOwnCommand {
			continue
		}
		if c := parseCommand(string(data)); c.Text != "" {
			c.Name, c.Project = name, project
			list = append(list, c)
		}
	}
	return list
}

// parseCommand reads a prompt, with what stands of it between two lines of --- in front.
func parseCommand(text string) OwnCommand {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "�")
	var c OwnCommand
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if head, body, ok := strings.Cut(rest, "\n---\n"); ok {
			text = body
			for line := range strings.SplitSeq(head, "\n") {
				key, value, _ := strings.Cut(line, ":")
				value = strings.Trim(strings.TrimSpace(value), `"'`)
				switch strings.TrimSpace(key) {
				case "description":
					c.Description = value
				case "tier":
					if tier, err := models.ParseTier(value); err == nil {
						c.Tier = tier
					}
				}
			}
		}
	}
	c.Text = strings.TrimSpace(text)
	return c
}
