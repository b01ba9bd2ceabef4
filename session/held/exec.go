package held

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"

	"belay/session/permit"
)

// Exit codes that have a meaning of their own.
const (
	exitNotFound = 127
	exitCannot   = 126
	exitTimeout  = 124
)

// printfProgram stands for the printf of the system, which knows more formats than the
// interpreter's own.
const printfProgram = "/usr/bin/printf"

// exec runs what is no part of the shell. Its words have been judged.
func (l *line) exec(ctx context.Context, words []string) error {
	env, err := l.environment(words, interp.HandlerCtx(ctx).Env)
	if err != nil {
		return err
	}
	return l.command(ctx, words, env)
}

// command runs a command in an environment. What only says how another is run is
// done here, so that each program is one that was judged.
func (l *line) command(ctx context.Context, words, env []string) error {
	hc := interp.HandlerCtx(ctx)
	if inner, ok := permit.InnerShell(words); ok {
		depth, _ := ctx.Value(depthKey{}).(int)
		if depth == maxShells {
			return l.refuse(words, "it is nested too deeply")
		}
		sh := shell{Shell: inner, dir: hc.Dir, env: expand.ListEnviron(env...), in: hc.Stdin, out: hc.Stdout,
			errors: hc.Stderr, depth: depth + 1}
		return l.run(ctx, sh)
	}
	if words[0] == "xargs" {
		return l.xargs(ctx, words, env)
	}
	wrapped, ok := permit.Unwrap(words)
	if !ok {
		return l.program(ctx, words, env)
	}
	env = append(slices.Clone(env), wrapped.Env...)
	if wrapped.Limit == 0 {
		return l.command(ctx, wrapped.Words, env)
	}
	timed, cancel := context.WithTimeout(ctx, wrapped.Limit)
	defer cancel()
	err := l.command(timed, wrapped.Words, env)
	if ctx.Err() == nil && timed.Err() != nil && l.wasRefused() == nil {
		return interp.ExitStatus(exitTimeout)
	}
	return err
}

// program starts a program of the system and waits for it.
func (l *line) program(ctx context.Context, words, env []string) error {
	hc := interp.HandlerCtx(ctx)
	path, err := interp.LookPathDir(hc.Dir, l.env, words[0])
	if err != nil {
		fmt.Fprintf(hc.Stderr, "%s: command not found\n", words[0])
		return interp.ExitStatus(exitNotFound)
	}
	if resolved, err := filepath.EvalSymlinks(path); err != nil || within(l.Root, resolved) || within(l.Root, path) {
		return l.refuse(words, "it is a program of the workspace")
	}
	cmd := exec.Command(path)
	cmd.Args = permit.LeaveOut(permit.OwnPrograms(words), l.Closed)
	cmd.Dir, cmd.Env = hc.Dir, append(slices.Clone(env), "PWD="+hc.Dir)
	if ctx.Value(noInput{}) == nil {
		cmd.Stdin = hc.Stdin
	}
	out, finish, err := l.bounded(ctx, hc.Stdout)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = out, hc.Stderr
	if hc.Stderr == hc.Stdout {
		cmd.Stderr = out
	}
	code, err := l.Program(ctx, cmd)
	finish()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrPermission):
		fmt.Fprintf(hc.Stderr, "%s: %v\n", words[0], err)
		return interp.ExitStatus(exitCannot)
	case err != nil:
		return err
	case code != 0:
		return interp.ExitStatus(code)
	}
	return nil
}

// bounded bounds what a program prints to where the interpreter keeps it. Finish is to
// be called when the program has ended.
func (l *line) bounded(ctx context.Context, out io.Writer) (bounded io.Writer, finish func(), err error) {
	finish = func() {}
	switch kept := out.(type) {
	case *os.File:
		if l.reads.Load() {
			return l.throughPipe(ctx, &lineLimit{Writer: out, line: l})
		}
	case interface{ Len() int }:
		return &sizeLimit{Writer: out, line: l, left: permit.MaxSubstituted - kept.Len()}, finish, nil
	}
	return out, finish, nil
}

// throughPipe passes on what a program prints, at the pace of what reads it: a loop may
// take long for each line, after the program has ended too.
func (l *line) throughPipe(ctx context.Context, out io.Writer) (io.Writer, func(), error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(out, from) // who reads it may have enough
		_ = from.Close()
	}()
	return to, func() {
		_ = to.Close()
		stop := context.AfterFunc(ctx, func() { _ = from.Close() })
		defer stop()
		<-done
	}, nil
}

// environment is that of a program: the one the line began with, and what may be set
// beside it.
func (l *line) environment(words []string, env expand.Environ) ([]string, error) {
	now := map[string]string{}
	for name, v := range env.Each {
		delete(now, name)
		if v.Exported && v.IsSet() && v.Kind == expand.String {
			now[name] = v.Str
		}
	}
	list := slices.Clone(l.Env)
	for name, value := range now {
		was, ok := l.base[name]
		switch {
		case ok && was == value, name == "PWD", name == "OLDPWD", name == "IFS":
		case permit.PassedOn(name, value):
			list = append(list, name+"="+value)
		default:
			return nil, l.refuse(words, "it sets "+name)
		}
	}
	for name := range l.base {
		if _, ok := now[name]; !ok && name != "PWD" && name != "OLDPWD" {
			return nil, l.refuse(words, "it takes "+name+" away")
		}
	}
	return list, nil
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel) && !strings.HasPrefix(rel, "..")
}
