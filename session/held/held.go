// Package held carries out a shell line that nobody was asked about: it decides on
// each command when its words are known, with the rules that judged the line before
// (package permit), and ends the line before the first that they do not let through.
//
// No other shell reads the line, so that nobody has to guess what one would make of
// it. It is run in this program's memory: what a line may make of text is bounded by
// permit.Parse, how often it does so here.
package held

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"

	"belay/session/permit"
)

// The bounds of one line.
const (
	maxSteps     = 500_000 // of the interpreter; a command is a few
	maxWords     = 10_000  // of one command
	maxArguments = 1 << 20 // bytes of one command
	maxFolders   = 2_000   // that patterns look into
	maxShells    = 4       // within each other
)

// Options are what a line is run with.
type Options struct {
	Root string   // the workspace, absolute, links resolved
	Dir  string   // where it starts, absolute
	Env  []string // of its programs

	Closed []string // files that its programs cannot read, and searches leave out
	Out    io.Writer

	// Program runs a program that the kernel holds, and gives its exit code. It ends
	// with the context.
	Program func(ctx context.Context, cmd *exec.Cmd) (code int, err error)

	// Open opens a file to read, by its absolute path.
	Open func(path string) (*os.File, error)
}

// Refused says that a line was ended before a command that has to be asked about.
type Refused struct {
	Command string // its words; empty: no single command is to blame
	Reason  string
}

func (r *Refused) Error() string {
	if r.Command == "" {
		return r.Reason
	}
	return fmt.Sprintf("`%s`: %s", r.Command, r.Reason)
}

// line is a line while it runs.
type line struct {
	Options
	end     context.CancelFunc
	env     expand.Environ
	base    map[string]string // the environment it started with
	folders atomic.Int64
	reads   atomic.Bool // it reads lines into variables

	mu      sync.Mutex
	refused *Refused
}

// Run runs a line and gives its exit code. An error is *Refused, or says why a program
// could not be run.
func Run(ctx context.Context, command string, o Options) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &line{Options: o, end: cancel, env: expand.ListEnviron(o.Env...), base: map[string]string{}}
	for _, kv := range o.Env {
		name, value, _ := strings.Cut(kv, "=")
		l.base[name] = value
	}
	l.Out = &untilEnded{out: o.Out, ended: ctx.Done()}
	limited := &limited{Context: ctx, line: l}
	limited.left.Store(maxSteps)
	err = l.run(limited, shell{Shell: permit.Shell{Line: command}, dir: o.Dir, env: l.env, out: l.Out, errors: l.Out})
	if refused := l.wasRefused(); refused != nil {
		return 0, refused
	}
	if status, ok := errors.AsType[interp.ExitStatus](err); ok {
		return int(status), nil
	}
	if ctx.Err() != nil {
		return 0, nil
	}
	return 0, err
}

// limited is a context that ends after so many steps: the interpreter asks it before
// each.
type limited struct {
	context.Context
	line *line
	left atomic.Int64
}

// Err implements context.Context.
func (l *limited) Err() error {
	if l.left.Add(-1) < 0 {
		return l.line.refuse(nil, "it runs too many commands")
	}
	return l.Context.Err()
}

// refuse ends the line. The first reason counts.
func (l *line) refuse(words []string, reason string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == nil {
		l.refused = &Refused{Command: shortened(strings.Join(words, " ")), Reason: reason}
		l.end()
	}
	return l.refused
}

func (l *line) wasRefused() *Refused {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// shortened is a command for people.
func shortened(text string) string {
	const longest = 200
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + " …"
	}
	return text
}

// shell is a line, of the call or within it, with what it starts from.
type shell struct {
	permit.Shell
	dir         string
	env         expand.Environ
	in          io.Reader
	out, errors io.Writer
	depth       int
}

// depthKey is where a context keeps how many shells run within each other.
type depthKey struct{}

func (l *line) run(ctx context.Context, sh shell) (err error) {
	file, reason := permit.Parse(sh.Line)
	if reason != "" {
		return l.refuse(nil, reason)
	}
	if strings.Contains(sh.Line, "read") {
		l.reads.Store(true)
	}
	defer func() {
		if fault := recover(); fault != nil {
			err = l.refuse(nil, fmt.Sprintf("the interpreter failed: %v", fault))
		}
	}()
	runner, err := interp.New(
		interp.Env(sh.env),
		interp.Dir(sh.dir),
		interp.StdIO(sh.in, sh.out, sh.errors),
		interp.Params(append(append(sh.Options, "--"), sh.Params...)...),
		interp.CallHandler(l.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return l.exec }),
		interp.OpenHandler(l.open),
		interp.ReadDirHandler2(l.readDir),
		interp.StatHandler(l.stat),
		interp.AccessHandler(l.access),
	)
	if err != nil {
		return err
	}
	return runner.Run(context.WithValue(ctx, depthKey{}, sh.depth), file)
}

// call decides on a command whose words are known, before anything of it happens.
func (l *line) call(ctx context.Context, words []string) ([]string, error) {
	hc := interp.HandlerCtx(ctx)
	size := 0
	for _, w := range words {
		size += len(w)
	}
	switch printed, ok := hc.Stdout.(interface{ Len() int }); {
	case len(words) > maxWords, size > maxArguments:
		return nil, l.refuse(words[:1], "it has too many words")
	case ok && printed.Len() > permit.MaxSubstituted:
		return nil, l.refuse(words, "it prints more than a line can hold")
	}
	if reason := permit.Refuse(words, l.place(hc.Dir)); reason != "" {
		return nil, l.refuse(words, reason)
	}
	if words[0] == "read" && !l.reads.Load() {
		return nil, l.refuse(words, "it reads what it was not seen to read")
	}
	return asBash(words), nil
}

func (l *line) place(dir string) permit.Place { return permit.Place{Dir: dir, Root: l.Root} }

// asBash gives words that the interpreter's own commands take as bash's do.
func asBash(words []string) []string {
	switch words[0] {
	case "command":
		if len(words) > 1 && words[1] != "-v" {
			return words[1:] // it would not be judged again
		}
	case "printf":
		if len(words) > 1 && words[1] == "--" {
			words = append([]string{"printf"}, words[2:]...)
		}
		if len(words) > 1 && !plainFormat(words[1]) {
			return append([]string{printfProgram}, words[1:]...)
		}
	case "cd":
		if len(words) == 3 { // cd -- folder
			return []string{"cd", words[2]}
		}
	case "echo":
		var flags []string
		rest := words[1:]
		for len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' && strings.Trim(rest[0][1:], "neE") == "" {
			for _, letter := range rest[0][1:] {
				flags = append(flags, "-"+string(letter))
			}
			rest = rest[1:]
		}
		return append(append([]string{"echo"}, flags...), rest...)
	}
	return words
}

// plainFormat reports a format of printf that only puts words in.
func plainFormat(format string) bool {
	rest := strings.ReplaceAll(strings.ReplaceAll(format, "%%", ""), "%s", "")
	return !strings.Contains(rest, "%")
}

// untilEnded drops what the interpreter says of being ended: Run tells why.
type untilEnded struct {
	out   io.Writer
	ended <-chan struct{}
}

func (w *untilEnded) Write(p []byte) (int, error) {
	select {
	case <-w.ended:
		return len(p), nil
	default:
		return w.out.Write(p)
	}
}

// lineLimit ends a line whose input has a line that is too long to keep.
type lineLimit struct {
	io.Writer
	line   *line
	length int
}

func (w *lineLimit) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n')
		if n < 0 {
			w.length += len(rest)
			break
		}
		w.length, rest = 0, rest[n+1:]
	}
	if w.length > permit.MaxSubstituted {
		return 0, w.line.refuse(nil, "it reads a line that is too long")
	}
	return w.Writer.Write(p)
}

// sizeLimit ends a line in which a command inside another prints too much.
type sizeLimit struct {
	io.Writer
	line *line
	left int
}

func (w *sizeLimit) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, w.line.refuse(nil, "a command inside another prints more than a line can hold")
	}
	return w.Writer.Write(p)
}
