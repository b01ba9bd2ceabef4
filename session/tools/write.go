package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

type writeTool struct{}

func (writeTool) prepare(s *Set, raw []byte) (Call, error) {
	var args struct{ Path, Content string }
	if err := json.Unmarshal(raw, &args); err != nil {
		return Call{}, err
	}
	p, err := s.resolve(args.Path)
	if err != nil {
		return Call{}, err
	}
	old, err := s.current(p)
	if err != nil {
		return Call{}, err
	}
	if old != nil {
		if _, known := s.seen.get(p.abs); !known && len(old) > 0 {
			return Call{}, fmt.Errorf("%s exists and has not been read: read it before replacing it", p.rel)
		}
	}
	return s.change(p, old, []byte(args.Content))
}

// current reads the file that is to be changed; nil means that there is none.
// It refuses a file that is no longer what the model has seen.
func (s *Set) current(p place) ([]byte, error) {
	info, err := os.Stat(p.abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", p.rel, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", p.rel)
	}
	if info.Size() > readFileMost {
		return nil, fmt.Errorf("%s has %d MB: change it with shell", p.rel, info.Size()>>20)
	}
	b, err := s.readFile(p)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.rel, err)
	}
	if known, ok := s.seen.get(p.abs); ok && known != hash(b) {
		return nil, fmt.Errorf("%s has changed since you read it: read it again", p.rel)
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

// change is the job of replacing a file's content.
func (s *Set) change(p place, old, content []byte) (Call, error) {
	if old != nil && bytes.Equal(old, content) {
		return Call{}, fmt.Errorf("%s already has exactly this content", p.rel)
	}
	before := None
	from := "/dev/null"
	if old != nil {
		before, from = hash(old), "a/"+p.rel
	}
	diff := difference(from, "b/"+p.rel, string(old), string(content))
	after := hash(content)
	return Call{Title: p.rel, Detail: diff, Path: p.abs, Outside: p.outside, Before: before, After: after,
		Run: func(context.Context, func(string)) Result {
			// Between asking and running, a person may have taken minutes.
			now, err := FileHash(p.abs)
			if err != nil {
				return failed(err)
			}
			if now != before {
				return failed(fmt.Errorf("%s has changed meanwhile: read it again", p.rel))
			}
			if err := s.writeFile(p, content); err != nil {
				return failed(fmt.Errorf("write %s: %w", p.rel, err))
			}
			s.seen.set(p.abs, after)
			added, removed := Changed(diff)
			verb := "changed"
			if old == nil {
				verb = "created"
			}
			return Result{Output: fmt.Sprintf("%s %s (+%d −%d lines)", verb, p.rel, added, removed),
				Summary: verb, Diff: diff}
		}}, nil
}

// difference is a unified diff, bounded for hostile inputs by being replaced
// with a summary.
func difference(from, to, old, content string) string {
	const most = 4 << 20
	if len(old)+len(content) > most {
		return fmt.Sprintf("--- %s\n+++ %s\n(%d bytes become %d: too long for a diff)\n", from, to, len(old), len(content))
	}
	return udiff.Unified(from, to, old, content)
}

// Changed counts the added and removed lines of a unified diff.
func Changed(diff string) (added, removed int) {
	inHunk := false
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case !inHunk:
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
	}
	return added, removed
}
