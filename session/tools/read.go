package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"belay/models"
	"belay/session/files"
)

// The bounds of one read.
const (
	maxReadLines = 2000
	maxReadBytes = 64 << 10
	maxReadLine  = 2000 // bytes of one line
	maxReadImage = 8 << 20
)

type readTool struct{}

type readArgs struct {
	Path  string `json:"path"`
	From  int    `json:"from"`
	Lines int    `json:"lines"`
}

func (readTool) prepare(s *Set, raw []byte) (Call, error) {
	var args readArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return Call{}, err
	}
	p, err := s.resolve(args.Path)
	if err != nil {
		return Call{}, err
	}
	title := p.rel
	if args.From > 0 && args.Lines > 0 {
		title = fmt.Sprintf("%s:%d-%d", p.rel, args.From, args.From+args.Lines-1)
	} else if args.From > 0 {
		title = fmt.Sprintf("%s:%d-", p.rel, args.From)
	}
	return Call{Title: title, Path: p.abs, Outside: p.outside,
		Run: func(context.Context, func(string)) Result { return s.read(p, args) }}, nil
}

func (s *Set) read(target location, args readArgs) Result {
	if target.fault != nil {
		return errorResult(target.fault)
	}
	info, err := os.Stat(target.abs)
	if err != nil {
		return errorResult(s.notExisting(target, err))
	}
	switch {
	case info.IsDir():
		return listing(target)
	case !info.Mode().IsRegular():
		return errorResult(fmt.Errorf("%s is neither a file nor a folder", target.rel))
	case info.Size() > files.MaxSize:
		return errorResult(fmt.Errorf("%s has %d MB: look at parts of it with grep or shell", target.rel, info.Size()>>20))
	}
	content, err := s.readFile(target)
	if err != nil {
		return errorResult(fmt.Errorf("read %s: %w", target.rel, err))
	}
	s.seen.set(target.abs, files.Hash(content))
	mime := http.DetectContentType(content)
	if isPicture(mime) {
		if len(content) > maxReadImage {
			return errorResult(
				fmt.Errorf("%s is a picture of %d MB, more than the %d MB that can be shown", target.rel,
					len(content)>>20, maxReadImage>>20),
			)
		}
		shown, err := picture(content)
		if err != nil {
			return errorResult(fmt.Errorf("%s is %w", target.rel, err))
		}
		return Result{
			Output:  fmt.Sprintf("%s: the picture follows", target.rel),
			Summary: mime,
			Images:  []models.Image{shown},
		}
	}
	if binary(content) {
		return errorResult(fmt.Errorf("%s is a binary file of %d bytes (%s)", target.rel, len(content), mime))
	}
	return excerpt(target.rel, content, args.From, args.Lines)
}

// Image reads a picture of the workspace that a person attached by its path.
func Image(root, path string) (models.Image, error) {
	s := &Set{o: Options{Root: root}, seen: seenFiles{hash: map[string]string{}}}
	p, err := s.resolve(path)
	if err != nil {
		return models.Image{}, err
	}
	r := s.read(p, readArgs{})
	if len(r.Images) == 0 {
		return models.Image{}, fmt.Errorf("%s is not a picture that can be shown", p.rel)
	}
	return r.Images[0], nil
}

// notExisting names files that the model may have meant.
func (s *Set) notExisting(p location, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", p.rel, err)
	}
	var near []string
	name := p.rel[strings.LastIndex(p.rel, "/")+1:]
	names, listErr := listFiles(context.Background(), s.o.Root)
	if listErr == nil {
		for _, f := range names {
			if strings.EqualFold(f[strings.LastIndex(f, "/")+1:], name) && len(near) < 5 {
				near = append(near, f)
			}
		}
	}
	if len(near) > 0 {
		return fmt.Errorf("%s does not exist; there is %s", p.rel, strings.Join(near, ", "))
	}
	return fmt.Errorf("%s does not exist", p.rel)
}

func listing(p location) Result {
	entries, err := os.ReadDir(p.abs)
	if err != nil {
		return errorResult(fmt.Errorf("list %s: %w", p.rel, err))
	}
	var b strings.Builder
	for i, e := range entries {
		if i == maxReadLines {
			fmt.Fprintf(&b, "… and %d more\n", len(entries)-i)
			break
		}
		b.WriteString(e.Name())
		if e.IsDir() {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	return Result{Output: b.String(), Summary: plural(len(entries), "entry", "entries")}
}

// excerpt numbers the asked lines, within the bounds of one read.
func excerpt(name string, b []byte, from, count int) Result {
	if len(b) == 0 {
		return Result{Output: name + " is empty", Summary: "empty"}
	}
	b = bytes.TrimPrefix(b, []byte(bom))
	total := countLines(b)
	from = max(from, 1)
	if from > total {
		return errorResult(fmt.Errorf("%s has %s; line %d is beyond its end", name, plural(total, "line", "lines"), from))
	}
	if count == 0 || count > maxReadLines {
		count = maxReadLines
	}
	var out strings.Builder
	n := 0
	for i, line := range bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) {
		if i+1 < from {
			continue
		}
		if n == count || out.Len() > maxReadBytes {
			break
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > maxReadLine {
			line = append(line[:maxReadLine:maxReadLine], " … (line cut)"...)
		}
		fmt.Fprintf(&out, "%6d\t%s\n", i+1, line)
		n++
	}
	if !utf8.Valid(b) {
		out.WriteString("(not UTF-8: � stands for bytes that cannot be shown; only lines of ASCII can be changed)\n")
	}
	if b[len(b)-1] != '\n' && from+n-1 == total {
		out.WriteString("(no line end after the last line)\n")
	}
	if last := from + n - 1; from > 1 || last < total {
		fmt.Fprintf(&out, "(lines %d to %d of %d)\n", from, last, total)
	}
	return Result{Output: strings.ToValidUTF8(out.String(), "�"), Summary: plural(n, "line", "lines")}
}

// binary tells by the first bytes, as git does, and by what is not text at all.
func binary(b []byte) bool {
	head := b[:min(len(b), 8000)]
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	bad := 0
	for rest := head; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			bad++
		}
		rest = rest[size:]
	}
	return bad > len(head)/10+3
}
