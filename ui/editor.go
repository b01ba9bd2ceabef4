package ui

import (
	"context"
	"os/exec"
	"runtime"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// externalEditor opens texts in the person's editor.
type externalEditor struct {
	backend *backend
	command string                                                        // its command line; empty: the system's
	write   func(ctx context.Context, text string) (path string, e error) // may be nil
	read    func(path string) (string, error)                             // may be nil
}

type (
	// editFileMsg says that a text is in a file, and can be edited.
	editFileMsg struct {
		path string
		err  error
		of   edited
	}
	// editedMsg brings the text back.
	editedMsg struct {
		text string
		err  error
		of   edited
	}

	// edited is what a text is: the draft, the plan of a large task, or a call.
	edited     any
	editedPlan struct{}
	editedCall struct {
		id   string
		text string // before
	}
)

func (e externalEditor) usable() bool { return e.write != nil && e.read != nil }

// open writes a text to a file. The message that comes back leads to run.
func (e externalEditor) open(text string, of edited) tea.Cmd {
	write, ctx := e.write, e.backend.ctx
	return func() tea.Msg {
		path, err := write(ctx, text)
		return editFileMsg{path, err, of}
	}
}

// run gives the terminal to the editor until it ends.
func (e externalEditor) run(path string, of edited) tea.Cmd {
	words := strings.Fields(e.command)
	if len(words) == 0 {
		words = []string{"vi"}
		if runtime.GOOS == "windows" {
			words = []string{"notepad"}
		}
	}
	read := e.read
	return tea.ExecProcess(exec.Command(words[0], append(words[1:], path)...), func(err error) tea.Msg {
		if err != nil {
			return editedMsg{err: err, of: of}
		}
		text, err := read(path)
		return editedMsg{text, err, of}
	})
}
