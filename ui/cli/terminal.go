package cli

import (
	"fmt"
	"os"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// SaveTerminal notes the modes of the terminal. Restore sets them again, and ends
// all that a full screen asks of a terminal: a program that was killed could not.
func SaveTerminal() (restore func()) {
	restoreModes := func() {}
	for _, f := range []*os.File{os.Stdin, os.Stdout} {
		if state, err := term.GetState(f.Fd()); err == nil {
			before := restoreModes
			restoreModes = func() {
				before()
				_ = term.Restore(f.Fd(), state) // a terminal that is gone needs nothing
			}
		}
	}
	return func() {
		fmt.Print(
			ansi.ResetModeSynchronizedOutput,
			ansi.ResetModeMouseButtonEvent,
			ansi.ResetModeMouseAnyEvent,
			ansi.ResetModeMouseExtSgr,
			ansi.ResetModeFocusEvent,
			ansi.ResetModeBracketedPaste,
			ansi.ResetModeUnicodeCore,
			ansi.ResetModifyOtherKeys,
			ansi.PopKittyKeyboard(1),
			ansi.ResetStyle,
			ansi.SetCursorStyle(0),
			ansi.ResetCursorColor,
			ansi.ResetModeAltScreenSaveCursor,
			ansi.SetModeTextCursorEnable,
			ansi.SetWindowTitle(""),
		)
		restoreModes()
	}
}

// Width is the number of columns of a terminal, and 0 for anything else.
func Width(stream any) int {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		return 0
	}
	w, _, err := term.GetSize(f.Fd())
	if err != nil || w <= 0 {
		return 80
	}
	return w
}
