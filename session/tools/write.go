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

	"belay/models/redact"
	"belay/session/files"
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
	return lookFirst(p, func() (Call, error) {
		old, err := s.current(p)
		if err != nil {
			return Call{}, err
		}
		if _, known := s.seen.get(p.abs); !known && len(old) > 0 {
			return Call{}, fmt.Errorf("%s exists and has not been read: read it before replacing it", p.rel)
		}
		content, err := rewritten(old, args.Content)
		if err != nil {
			return Call{}, fmt.Errorf("%s: %w; nothing was changed", p.rel, err)
		}
		return s.change(p, old, content)
	}), nil
}

// current reads the file that is to be changed; nil means that there is none.
// It refuses a file that is no longer what the model has seen.
func (s *Set) current(target location) ([]byte, error) {
	if target.fault != nil {
		return nil, target.fault
	}
	info, err := os.Stat(target.abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", target.rel, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", target.rel)
	}
	if info.Size() > files.MaxSize {
		return nil, fmt.Errorf("%s has %d MB: change it with shell", target.rel, info.Size()>>20)
	}
	content, err := s.readFile(target)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", target.rel, err)
	}
	if known, ok := s.seen.get(target.abs); ok && known != files.Hash(content) {
		return nil, fmt.Errorf("%s has changed since you read it: read it again", target.rel)
	}
	if content == nil {
		content = []byte{}
	}
	return content, nil
}

// change is the job of replacing a file's content.
func (s *Set) change(target location, old, content []byte) (Call, error) {
	if old != nil && bytes.Equal(old, content) {
		return Call{}, fmt.Errorf("%s already has exactly this content", target.rel)
	}
	// What was shown in place of a secret would take its place.
	if bytes.Count(content, []byte(redact.Mark)) > bytes.Count(old, []byte(redact.Mark)) {
		return Call{}, fmt.Errorf("the new text of %s holds %s, which was shown to you in place of a secret: "+
			"leave that line as it is, and edit around it; nothing was changed", target.rel, redact.Mark)
	}
	before := None
	from := "/dev/null"
	if old != nil {
		before, from = files.Hash(old), "a/"+target.rel
	}
	diff := difference(from, "b/"+target.rel, string(old), string(content))
	after := files.Hash(content)
	return Call{Title: target.rel, Detail: diff, Path: target.abs, Outside: target.outside, Before: before, After: after,
		Run: func(context.Context, func(string)) Result {
			// Between asking and running, a person may have taken minutes.
			now, err := FileHash(target.abs)
			if err != nil {
				return errorResult(err)
			}
			if now != before {
				return errorResult(fmt.Errorf("%s has changed meanwhile: read it again", target.rel))
			}
			if err := s.writeFile(target, content); err != nil {
				return errorResult(fmt.Errorf("write %s: %w", target.rel, err))
			}
			s.seen.set(target.abs, after)
			added, removed := Changed(diff)
			verb := "changed"
			if old == nil {
				verb = "created"
			}
			return Result{Output: fmt.Sprintf("%s %s (+%d −%d lines)", verb, target.rel, added, removed),
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
