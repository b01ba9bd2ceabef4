package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"belay/config"
	"belay/ui/theme"
)

func (d Deps) config(g *global) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Show, check and explain the settings", Args: cobra.NoArgs}
	sub := func(use, short string, does func(config.Sources) error) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			choice, err := d.choice(*g, "config")
			if err != nil {
				return err
			}
			from, err := sources(cmd.Context(), choice)
			if err != nil {
				return err
			}
			return does(from)
		}}
	}
	show := sub("show", "Every setting, its value and where it comes from", d.showSettings)
	c.AddCommand(show,
		sub("path", "Where settings and data are kept", d.paths),
		sub("check", "Read the settings and report all faults at once", d.check),
		&cobra.Command{Use: "example", Short: "A settings file with every key explained", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(d.Out, config.Example())
			return err
		}})
	c.RunE = show.RunE
	return c
}

func (d Deps) paths(from config.Sources) error {
	data, err := dataDir()
	if err != nil {
		return err
	}
	project := exists(from.ProjectFile)
	if !from.Trusted && project == "" {
		project = " (not read: the folder is not trusted)"
	}
	_, err = fmt.Fprintf(d.Out, "user settings     %s%s\nproject settings  %s%s\ndata              %s\n", from.UserFile, exists(from.UserFile), from.ProjectFile, project, data)
	return err
}

func exists(path string) string {
	if _, err := os.Stat(path); err != nil {
		return " (none)"
	}
	return ""
}

func (d Deps) showSettings(from config.Sources) error {
	settings, err := config.Load(from)
	if err != nil {
		return &SettingsError{err}
	}
	var rows [][]string
	for _, v := range settings.Values() {
		origin := v.Origin.Source
		if v.Origin.Name != "" {
			origin += " " + v.Origin.Name
		}
		if v.Origin.Line > 0 {
			origin += fmt.Sprintf(":%d", v.Origin.Line)
		}
		rows = append(rows, []string{v.Key, theme.Line(v.Value), origin})
	}
	return table(d.Out, append([][]string{{"KEY", "VALUE", "FROM"}}, rows...), d.Width(d.Out))
}

func (d Deps) check(from config.Sources) error {
	if _, err := config.Load(from); err != nil {
		return &SettingsError{err}
	}
	var read []string
	for _, path := range []string{from.UserFile, from.ProjectFile} {
		if _, err := os.Stat(path); err == nil && (path != from.ProjectFile || from.Trusted) {
			read = append(read, path)
		}
	}
	if len(read) == 0 {
		read = []string{"no settings file; the defaults"}
	}
	_, err := fmt.Fprintf(d.Out, "in order: %s\n", strings.Join(read, ", "))
	return err
}
