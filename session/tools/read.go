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
)

// The bounds of one read.
const (
	readLines    = 2000
	readBytes    = 64 << 10
	readLine     = 2000     // bytes of one line
	readFileMost = 32 << 20 // a larger file is for the shell
	readImage    = 8 << 20
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

func (s *Set) read(p place, args readArgs) Result {
	info, err := os.Stat(p.abs)
	if err != nil {
		return failed(s.missing(p, err))
	}
	switch {
	case info.IsDir():
		return listing(p)
	case !info.Mode().IsRegular():
		return failed(fmt.Errorf("%s is neither a file nor a folder", p.rel))
	case info.Size() > readFileMost:
		return failed(fmt.Errorf("%s has %d MB: look at parts of it with grep or shell", p.rel, info.Size()>>20))
	}
	b, err := s.readFile(p)
	if err != nil {
		return failed(fmt.Errorf("read %s: %w", p.rel, err))
	}
	s.seen.set(p.abs, hash(b))
	mime := http.DetectContentType(b)
	if strings.HasPrefix(mime, "image/") && mime != "image/svg+xml" {
		if len(b) > readImage {
			return failed(fmt.Errorf("%s is a picture of %d MB, more than the %d MB that can be shown", p.rel, len(b)>>20, readImage>>20))
		}
		return Result{Output: fmt.Sprintf("%s: the picture follows", p.rel), Summary: mime,
			Images: []models.Image{{MIME: mime, Data: b}}}
	}
	if binary(b) {
		return failed(fmt.Errorf("%s is a binary file of %d bytes (%s)", p.rel, len(b), mime))
	}
	return excerpt(p.rel, b, args.From, args.Lines)
}

// Image reads a picture of the workspace that a person attached by its path.
func Image(root, path string) (models.Image, error) {
	s := &Set{o: Options{Root: root}, seen: seen{hash: map[string]string{}}}
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

// missing names files that the model may have meant.
func (s *Set) missing(p place, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", p.rel, err)
	}
	var near []string
	name := p.rel[strings.LastIndex(p.rel, "/")+1:]
	names, listErr := files(context.Background(), s.o.Root)
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

func listing(p place) Result {
	entries, err := os.ReadDir(p.abs)
	if err != nil {
		return failed(fmt.Errorf("list %s: %w", p.rel, err))
	}
	var b strings.Builder
	for i, e := range entries {
		if i == readLines {
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
	total := countLines(b)
	from = max(from, 1)
	if from > total {
		return failed(fmt.Errorf("%s has %s; line %d is beyond its end", name, plural(total, "line", "lines"), from))
	}
	if count == 0 || count > readLines {
		count = readLines
	}
	var out strings.Builder
	n := 0
	for i, line := range bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n")) {
		if i+1 < from {
			continue
		}
		if n == count || out.Len() > readBytes {
			break
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > readLine {
			line = append(line[:readLine:readLine], " … (line cut)"...)
		}
		fmt.Fprintf(&out, "%6d\t%s\n", i+1, line)
		n++
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
