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

	"github.com/bmatcuk/doublestar/v4"
)

// The bounds of one grep.
const (
	mostHits     = 200
	mostGrepLine = 300
	mostGrepFile = 8 << 20
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
	p, err := s.resolve(cmpOr(args.Path, "."))
	if err != nil {
		return Call{}, err
	}
	if _, err := os.Stat(p.abs); err != nil {
		return Call{}, s.missing(p, err)
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
	b     strings.Builder
	n     int
	more  bool
}

func (h *hits) add(file string, line int, text []byte) error {
	if !within(file, h.focus) {
		return nil
	}
	if h.n == mostHits {
		h.more = true
		return errEnough
	}
	h.n++
	if len(text) > mostGrepLine {
		text = append(text[:mostGrepLine:mostGrepLine], " …"...)
	}
	fmt.Fprintf(&h.b, "%s:%d:%s\n", file, line, bytes.TrimRight(text, "\r\n"))
	return nil
}

func (h *hits) result(pattern string) Result {
	if h.n == 0 {
		return Result{Output: "no line matches " + pattern, Summary: "no hits"}
	}
	if h.more {
		fmt.Fprintf(&h.b, "… more than %d hits: use a narrower pattern or path\n", mostHits)
	}
	return Result{Output: strings.ToValidUTF8(h.b.String(), "�"), Summary: plural(h.n, "hit", "hits")}
}

func (s *Set) grep(ctx context.Context, p place, args grepArgs, re *regexp.Regexp) Result {
	h := hits{focus: s.focused(args.Path)}
	if rg, err := exec.LookPath("rg"); err == nil {
		if err := s.ripgrep(ctx, rg, p, args, &h); err == nil {
			return h.result(args.Pattern)
		}
		h = hits{focus: h.focus}
	}
	if err := s.ownGrep(ctx, p, args.Glob, re, &h); err != nil && !errors.Is(err, errEnough) {
		return failed(err)
	}
	return h.result(args.Pattern)
}

// ripgrep reads rg's lines as path, NUL, number, colon, text. Its settings
// file is ignored, so that results do not depend on the user's taste.
func (s *Set) ripgrep(ctx context.Context, rg string, p place, args grepArgs, h *hits) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	argv := []string{"--no-config", "--no-heading", "--line-number", "--with-filename", "--null", "--color=never", "--hidden", "--glob=!.git", "--sort=path"}
	if args.IgnoreCase {
		argv = append(argv, "--ignore-case")
	}
	if args.Glob != "" {
		argv = append(argv, "--glob="+args.Glob)
	}
	dir, what := p.abs, "."
	if info, err := os.Stat(p.abs); err == nil && !info.IsDir() {
		dir, what = filepath.Dir(p.abs), filepath.Base(p.abs)
		p.abs, p.rel = dir, path.Dir(p.rel)
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
		if h.add(s.name(p, path.Clean(filepath.ToSlash(string(file)))), n, text) != nil {
			cancel()
			break
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if h.more || (errors.As(err, &exit) && exit.ExitCode() == 1) {
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

func (s *Set) ownGrep(ctx context.Context, p place, glob string, re *regexp.Regexp, h *hits) error {
	info, err := os.Stat(p.abs)
	if err != nil {
		return err
	}
	names := []string{filepath.Base(p.abs)}
	if !info.IsDir() {
		p.abs, p.rel = filepath.Dir(p.abs), path.Dir(p.rel)
	} else if names, err = files(ctx, p.abs); err != nil {
		return err
	}
	// A repository may hold links, and a folder may have become one: nothing
	// below this one leads out of it.
	root, err := os.OpenRoot(p.abs)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if glob != "" {
			full, _ := doublestar.Match(glob, f)
			base, _ := doublestar.Match(glob, path.Base(f))
			if !full && !base {
				continue
			}
		}
		file := filepath.FromSlash(f)
		if s.ours(filepath.Join(p.abs, file)) {
			continue
		}
		info, err := root.Lstat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostGrepFile {
			continue
		}
		b, err := root.ReadFile(file)
		if err != nil || binary(b) {
			continue
		}
		n := 0
		for line := range bytes.Lines(b) {
			n++
			if re.Match(bytes.TrimRight(line, "\r\n")) {
				if err := h.add(s.name(p, f), n, line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
