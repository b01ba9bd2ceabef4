package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"belay/models"
	"belay/ui/cli/exit"
	"belay/ui/locale"
)

// unknownCommand says that a word is no command, and which ones are near.
func unknownCommand(cmd *cobra.Command, word string) error {
	err := fmt.Errorf("there is no command %q", strings.TrimPrefix(cmd.CommandPath()+" "+word, "belay "))
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		err = fmt.Errorf("%w: did you mean %s?", err, strings.Join(near, " or "))
	}
	help := cmd.CommandPath() + " --help"
	if !cmd.HasParent() {
		help += "; a task for the model goes into quotes: belay run \"…\""
	}
	return &exit.UsageError{Err: err, See: help}
}

// checkArgs lets every command say in belay's own words what is wrong with its
// arguments. The command's Use line knows what it takes.
func checkArgs(command *cobra.Command) {
	if check := command.Args; check != nil {
		command.Args = func(cmd *cobra.Command, args []string) error {
			if check(cmd, args) == nil {
				return nil
			}
			return argsError(cmd, args)
		}
	}
	for _, sub := range command.Commands() {
		checkArgs(sub)
	}
}

func argsError(cmd *cobra.Command, args []string) error {
	if cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	name := strings.TrimPrefix(cmd.CommandPath(), "belay ")
	_, takes, _ := strings.Cut(cmd.Use, " ")
	help := cmd.CommandPath() + " --help"
	if strings.HasPrefix(takes, "ID") {
		help = "belay sessions, which lists them"
		if strings.HasPrefix(name, "batch ") {
			help = "belay batch status, which lists them"
		}
	}
	switch want := strings.Fields(takes); {
	case len(want) == 0:
		return &exit.UsageError{Err: fmt.Errorf("%s takes no word of its own: what is %q?", name, args[0]), See: help}
	case len(args) > len(want):
		return &exit.UsageError{
			Err: fmt.Errorf("%s takes %s and nothing more: what is %q?", name, takes, args[len(want)]),
			See: help,
		}
	case len(args) > 0 && len(args) < len(want):
		return &exit.UsageError{
			Err: fmt.Errorf("%s needs %s: %s is missing", name, takes, strings.Join(want[len(args):], " ")),
			See: help,
		}
	}
	return &exit.UsageError{Err: fmt.Errorf("%s needs %s", name, takes), See: help}
}

// flagError says what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	var absent *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	name := strings.TrimPrefix(cmd.CommandPath(), "belay ")
	switch {
	case errors.As(err, &absent):
		typed := absent.GetSpecifiedName()
		if absent.GetSpecifiedShortnames() != "" {
			err = fmt.Errorf("%s has no flag -%s", name, typed)
			break
		}
		err = fmt.Errorf("%s has no flag --%s", name, typed)
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := models.Nearest(typed, known); len(near) > 0 {
			err = fmt.Errorf("%w: did you mean --%s?", err, strings.Join(near, " or --"))
		}
	case errors.As(err, &bare):
		what, _ := pflag.UnquoteUsage(bare.GetFlag())
		err = fmt.Errorf("--%s needs a value: --%s %s", bare.GetFlag().Name, bare.GetFlag().Name, what)
	case errors.As(err, &bad):
		f := bad.GetFlag()
		want := map[string]string{
			"duration": "write a time such as 90s or 10m",
			"int":      "write a whole number",
			"int64":    "write a whole number",
			"bool":     "write the flag alone",
		}[f.Value.Type()]
		if want == "" {
			want = errors.Unwrap(bad).Error()
		}
		err = fmt.Errorf("--%s %q: %s", f.Name, bad.GetValue(), want)
	}
	return &exit.UsageError{Err: err, See: cmd.CommandPath() + " --help"}
}

// optionalValues shows the flags whose value may be left out; pflag would name a
// value that nobody types.
var optionalValues = strings.NewReplacer(`ID[="pick"]`, "[ID]       ", `SCRIPT[="built-in"]`, "[SCRIPT]           ")

// printUsage writes how a command is called, after what it is for.
func printUsage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString(locale.T("Usage:\n"))
	if cmd.Runnable() {
		b.WriteString("  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
	}
	if cmd.HasExample() {
		b.WriteString(locale.T("\nExamples:\n") + cmd.Example + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString(locale.T("\nCommands:\n"))
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if cmd.HasAvailableLocalFlags() {
		b.WriteString(locale.T("\nFlags:\n") + optionalValues.Replace(cmd.LocalFlags().FlagUsages()))
	}
	if cmd.HasAvailableInheritedFlags() {
		b.WriteString(locale.T("\nFlags of every command:\n") + cmd.InheritedFlags().FlagUsages())
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString(locale.T("\nMore about one of them: %s COMMAND --help\n", cmd.CommandPath()))
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}

// helpCommand tells of a command what its --help does.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND | TOPIC]", Short: locale.T("Say more about a command, or about steps, keys and recipes"), Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && topics[args[0]] != nil {
				_, err := fmt.Fprint(cmd.OutOrStdout(), topics[args[0]]())
				return err
			}
			if len(args) == 2 && args[0] == "man" {
				return writeManual(cmd.Root(), args[1])
			}
			if len(args) == 2 && args[0] == "recipes" {
				text, err := readRecipe(args[1])
				if err == nil {
					_, err = cmd.OutOrStdout().Write(text)
				}
				return err
			}
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(found, strings.Join(rest, " "))
			}
			return found.Help()
		},
	}
}

// addCompletion gives cobra's command for shells the words of the house.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		if command.Name() != "completion" {
			continue
		}
		command.Use, command.Short = "completion SHELL", "Print the script that completes belay's commands in a shell"
		command.Long = "Prints the script that makes a shell complete belay's commands and flags. The\n" +
			"help of each shell says where the script goes."
		for _, shell := range command.Commands() {
			shell.Short = "The script for " + shell.Name()
		}
		command.RunE = func(cmd *cobra.Command, _ []string) error {
			return &exit.UsageError{
				Err: errors.New("it is not said for which shell: bash, fish, powershell or zsh"),
				See: cmd.CommandPath() + " --help",
			}
		}
	}
}

// translate puts what commands and flags say of themselves into the person's language.
// A translated usage of a flag keeps the name of its value between the back quotes.
func translate(command *cobra.Command) {
	for _, text := range []*string{&command.Short, &command.Long, &command.Example} {
		*text = locale.T(*text)
	}
	for _, flags := range []*pflag.FlagSet{command.Flags(), command.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { f.Usage = locale.T(f.Usage) })
	}
	for _, sub := range command.Commands() {
		translate(sub)
	}
}
