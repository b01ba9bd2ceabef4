// Command belay is a terminal coding agent and session manager that keeps the
// work when the model gives way. This file wires the parts; what they decide
// stands in their packages.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"

	"belay/ui/cli"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "belay: find the working folder: %v\n", err)
		return 1
	}
	d := cli.Deps{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Dir: dir, Version: version(), Now: time.Now, NewID: newID, Width: width, Screen: screen}
	return cli.Run(ctx, d, os.Args[1:])
}

// version is what the build knows of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

// newID makes 26 random characters.
func newID() string { return strings.ToLower(rand.Text()) }

// width is the number of columns of a terminal, and 0 for anything else.
func width(stream any) int {
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

func screen(context.Context, cli.Deps, cli.Choice, cli.Screen) error { return nil }
