package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"belay/session/files"
)

// The bounds of one grep.
const (
	maxHits     = 200
	maxGrepLine = 300
	maxGrepFile = 8 << 20
	maxRipgrep  = time.Minute

	// longLine is from where on the search of one line can be stopped half-way.
	longLine = 64 << 10
)

type grepTool struct{}

type grepArgs struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IgnoreCase bool   `json:"ignore_case"`
}

func (grepTool) prepare(s *Set, raw []byte) (Call, error) {
	var args grepArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return Call{}, err
	}
	p, err := s.resolve(orDefault(args.Path, "."))
	if err != nil {
		return Call{}, err
	}
	expr := args.Pattern
	if args.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return Call{}, fmt.Errorf("%q is not a valid regular expression: %w", args.Pattern, err)
	}
	title := fmt.Sprintf("%q", args.Pattern)
	if args.Path != "" {
		title += " in " + p.rel
	}
	return Call{Title: title, Path: p.abs, Outside: p.outside,
		Run: func(ctx context.Context, _ func(string)) Result { return s.grep(ctx, p, args, re) }}, nil
}

// hits collects lines until there are enough.
type hits struct {
	focus []string // only these files count
	named string   // the file that was asked for, which may hold secrets

	secret func(file string) bool // only searched when it was asked for; nil: none is

	b    strings.Builder
	n    int
	more bool
}

// wants reports whether hits in a file count.
func (h *hits) wants(file string) bool {
	return within(file, h.focus) && (h.secret == nil || file == h.named || !h.secret(file))
}

func (h *hits) add(file string, line int, text []byte) error {
	if !h.wants(file) {
		return nil
	}
	if h.n == maxHits {
		h.more = true
		return errEnough
	}
	h.n++
	if len(text) > maxGrepLine {
		text = append(text[:maxGrepLine:maxGrepLine], " …"...)
	}
	fmt.Fprintf(&h.b, "%s:%d:%s\n", file, line, bytes.TrimRight(text, "\r\n"))
	return nil
}

func (h *hits) result(pattern string) Result {
	if h.n == 0 {
		return Result{Output: "no line matches " + pattern, Summary: "no hits"}
	}
	if h.more {
		fmt.Fprintf(&h.b, "… more than %d hits: use a narrower pattern or path\n", maxHits)
	}
	return Result{Output: strings.ToValidUTF8(h.b.String(), "�"), Summary: plural(h.n, "hit", "hits")}
}

func (s *Set) grep(ctx context.Context, p location, args grepArgs, re *regexp.Regexp) Result {
	if info, err := os.Stat(p.abs); err != nil {
		return errorResult(s.notExisting(p, err))
	} else if !info.IsDir() && !info.Mode().IsRegular() {
		return errorResult(fmt.Errorf("%s: %w", p.rel, files.ErrNotFile))
	}
	h := hits{focus: s.focused(args.Path), named: p.rel, secret: s.isSecret}
	if rg, err := exec.LookPath("rg"); err == nil {
		if err := s.ripgrep(ctx, rg, p, args, &h); err == nil {
			return h.result(args.Pattern)
		}
		h = hits{focus: h.focus, named: h.named, secret: h.secret}
	}
	if err := s.goGrep(ctx, p, args.Glob, re, &h); err != nil && !errors.Is(err, errEnough) {
		return errorResult(err)
	}
	return h.result(args.Pattern)
}

// ripgrep reads rg's lines as path, NUL, number, colon, text. Its settings
// file is ignored, so that results do not depend on the user's taste.
func (s *Set) ripgrep(ctx context.Context, rg string, target location, args grepArgs, hits *hits) error {
	ctx, cancel := context.WithTimeout(ctx, maxRipgrep) // it waits for ever for a .gitignore that is a pipe
	defer cancel()
	argv := []string{
		"--no-config",
		"--no-heading",
		"--line-number",
		"--with-filename",
		"--null",
		"--color=never",
		"--hidden",
		"--glob=!.git",
		"--sort=path",
	}
	if args.IgnoreCase {
		argv = append(argv, "--ignore-case")
	}
	if args.Glob != "" {
		argv = append(argv, "--glob="+args.Glob)
	}
	dir, what := target.abs, "."
	if info, err := os.Stat(target.abs); err == nil && !info.IsDir() {
		dir, what = filepath.Dir(target.abs), filepath.Base(target.abs)
		target.abs, target.rel = dir, path.Dir(target.rel)
	}
	cmd := exec.CommandContext(ctx, rg, append(argv, "--regexp="+args.Pattern, "--", "./"+what)...)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := readBounded(r)
		if err != nil {
			break
		}
		file, rest, ok := bytes.Cut(line, []byte{0})
		number, text, ok2 := bytes.Cut(rest, []byte{':'})
		if !ok || !ok2 {
			continue
		}
		n := 0
		fmt.Sscan(string(number), &n)
		if hits.add(s.name(target, path.Clean(filepath.ToSlash(string(file)))), n, text) != nil {
			cancel()
			break
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if hits.more || (errors.As(err, &exit) && exit.ExitCode() == 1) {
		return nil // stopped by us, or nothing found
	}
	return err
}

// readBounded reads a line of any length but keeps only its beginning.
func readBounded(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) < 8<<10 {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) && len(line) > 0 {
			err = nil
		}
		return line, err
	}
}

// matches searches a line. A long one and a hard expression take minutes, so that the
// search ends where the context does.
func matches(ctx context.Context, re *regexp.Regexp, line []byte) bool {
	if len(line) < longLine {
		return re.Match(line)
	}
	return re.MatchReader(&stoppable{ctx: ctx, Reader: bytes.NewReader(line)}) && ctx.Err() == nil
}

// stoppable is a line that ends where a context does.
type stoppable struct {
	*bytes.Reader
	ctx context.Context
}

// ReadRune implements io.RuneReader.
func (s *stoppable) ReadRune() (rune, int, error) {
	if s.Len()%1024 == 0 && s.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	return s.Reader.ReadRune()
}

// matchesGlob reports whether a pattern matches a path or its last part.
func matchesGlob(glob, name string) bool {
	if glob == "" {
		return true
	}
	whole, _ := doublestar.Match(glob, name)
	base, _ := doublestar.Match(glob, path.Base(name))
	return whole || base
}
