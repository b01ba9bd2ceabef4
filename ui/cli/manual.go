package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"belay/ui/cli/build"
	"belay/ui/cli/exit"
	"belay/ui/locale"
)

// manTopic says how the manual is had.
func manTopic() string {
	return locale.T(`Manual pages, one for each command, are written into a folder:

  belay help man FOLDER
  man -l FOLDER/belay-run.1

Packages of belay bring them along.
`)
}

// writeManual writes the manual pages of all commands into a folder.
func writeManual(root *cobra.Command, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return &exit.UsageError{Err: fmt.Errorf("write the manual: %w", err)}
	}
	facts := build.Read()
	header := &doc.GenManHeader{Title: "BELAY", Section: "1", Source: "belay " + facts.Version, Manual: "belay"}
	if at := facts.Time(); !at.IsZero() {
		header.Date = &at
	}
	plainNames(root)
	root.DisableAutoGenTag = true
	if err := doc.GenManTree(root, header, folder); err != nil {
		return fmt.Errorf("write the manual: %w", err)
	}
	return nil
}

// plainNames has the pages show flags whose value may be left out as the help does.
func plainNames(command *cobra.Command) {
	if flag := command.Flags().Lookup("resume"); flag != nil && flag.NoOptDefVal != "" {
		flag.NoOptDefVal = "ID"
	}
	if flag := command.Flags().Lookup("rehearsal"); flag != nil && flag.NoOptDefVal != "" {
		flag.NoOptDefVal = "SCRIPT"
	}
	for _, sub := range command.Commands() {
		plainNames(sub)
	}
}
