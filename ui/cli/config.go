package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"belay/config"
	"belay/ui/cli/app"
	"belay/ui/cli/exit"
	"belay/ui/locale"
	"belay/ui/plain"
	"belay/ui/theme"
)

func (cli CLI) configCommand(g *globalFlags) *cobra.Command {
	command := &cobra.Command{Use: "config", Short: "Show, check and explain the settings", Args: cobra.NoArgs}
	sub := func(use, short string, does func(config.Sources) error) *cobra.Command {
		return &cobra.Command{
			Use:   use,
			Short: short,
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				choice, err := cli.options(*g, "config")
				if err != nil {
					return err
				}
				from, err := app.SettingsSources(cmd.Context(), choice)
				if err != nil {
					return err
				}
				return does(from)
			},
		}
	}
	show := sub("show", "Every setting, its value and where it comes from", cli.showSettings)
	command.AddCommand(
		show,
		sub("path", "Where settings and data are kept", cli.printPaths),
		sub("check", "Read the settings and report all faults at once", cli.checkSettings),
		&cobra.Command{
			Use:   "example",
			Short: "A settings file with every key explained",
			Args:  cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprint(cli.Out, config.Example())
				return err
			},
		},
	)
	command.RunE = show.RunE
	return command
}

func (cli CLI) printPaths(from config.Sources) error {
	data, err := app.DataDir(context.Background())
	if err != nil {
		return err
	}
	project := exists(from.ProjectFile)
	if !from.Trusted && project == "" {
		project = " " + locale.T("(not read: the folder is not trusted)")
	}
	_, err = fmt.Fprintln(cli.Out, locale.T("user settings     %s%s\nproject settings  %s%s\ndata              %s",
		from.UserFile, exists(from.UserFile), from.ProjectFile, project, data))
	return err
}

func exists(path string) string {
	if _, err := os.Stat(path); err != nil {
		return " " + locale.T("(none)")
	}
	return ""
}

func (cli CLI) showSettings(from config.Sources) error {
	settings, err := config.Load(from)
	if err != nil {
		return &exit.SettingsError{Err: err}
	}
	var rows [][]string
	for _, value := range settings.Values() {
		origin := value.Origin.Source
		if value.Origin.Name != "" {
			origin += " " + value.Origin.Name
		}
		if value.Origin.Line > 0 {
			origin += fmt.Sprintf(":%d", value.Origin.Line)
		}
		rows = append(rows, []string{value.Key, theme.Line(value.Value), origin})
	}
	return plain.Table(cli.Out, append([][]string{{"KEY", "VALUE", "FROM"}}, rows...), cli.Width(cli.Out))
}

func (cli CLI) checkSettings(from config.Sources) error {
	settings, err := config.Load(from)
	if err != nil {
		return &exit.SettingsError{Err: err}
	}
	if ignored := config.Faults(settings.Ignored()); len(ignored) > 0 {
		return &exit.SettingsError{Err: ignored}
	}
	if err := app.CheckKeys(settings); err != nil {
		return &exit.SettingsError{Err: err}
	}
	if err := app.CheckEnvironment(settings); err != nil {
		return err
	}
	var read []string
	for _, path := range []string{from.UserFile, from.ProjectFile} {
		if _, err := os.Stat(path); err == nil && (path != from.ProjectFile || from.Trusted) {
			read = append(read, path)
		}
	}
	if len(read) == 0 {
		read = []string{locale.T("no settings file; the defaults")}
	}
	_, err = fmt.Fprintln(cli.Out, locale.T("in order: %s", strings.Join(read, ", ")))
	return err
}
