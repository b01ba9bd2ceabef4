package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

type editTool struct{}

type editArgs struct {
	Path  string `json:"path"`
	Edits []struct {
		Old string `json:"old"`
		New string `json:"new"`
		All bool   `json:"all"`
	} `json:"edits"`
}

func (editTool) prepare(s *Set, raw []byte) (Call, error) {
	var args editArgs
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
		if old == nil {
			return Call{}, fmt.Errorf("%w: use write to create it", s.notExisting(p, fs.ErrNotExist))
		}
		for _, e := range args.Edits {
			if err := encodable(old, e.Old+e.New); err != nil {
				return Call{}, fmt.Errorf("%s: %w; nothing was changed", p.rel, err)
			}
		}
		content, err := editText(old, args.apply)
		if err != nil {
			return Call{}, fmt.Errorf("%s: %w; nothing was changed", p.rel, err)
		}
		return s.change(p, old, content)
	}), nil
}

// apply makes the edits in a text, in order.
func (a editArgs) apply(text string) (string, error) {
	for i, e := range a.Edits {
		var err error
		text, err = replaceOnce(text, strings.ReplaceAll(e.Old, "\r\n", "\n"), strings.ReplaceAll(e.New, "\r\n", "\n"), e.All)
		if err != nil {
			return "", fmt.Errorf("edit %d of %d: %w", i+1, len(a.Edits), err)
		}
	}
	return text, nil
}

// editText changes the text of a file, whatever its form.
func editText(old []byte, edit func(string) (string, error)) ([]byte, error) {
	if binary(old) {
		return nil, errors.New("it is a binary file")
	}
	plain := fileText(old)
	changed, err := edit(plain)
	if err != nil {
		return nil, err
	}
	return inForm(old, changed), nil
}

// replaceOnce replaces the one occurrence of old, or all when asked.
func replaceOnce(text, old, replacement string, all bool) (string, error) {
	switch n := strings.Count(text, old); {
	case n == 0:
		return "", notFound(text, old)
	case n > 1 && !all:
		return "", fmt.Errorf(
			"the old text occurs %d times (lines %s): add lines around it to make it unique, or set all",
			n,
			lineNumbers(text, old),
		)
	}
	return strings.ReplaceAll(text, old, replacement), nil
}

// notFound explains why a text was not found, by the nearest thing that was.
func notFound(text, old string) error {
	lines := strings.Split(text, "\n")
	squeezed := squeeze(text)
	want := squeeze(strings.Trim(old, "\n"))
	height := strings.Count(want, "\n") - 1
	if i := strings.Index(squeezed, want); i >= 0 {
		at := strings.Count(squeezed[:i], "\n")
		return fmt.Errorf("the old text differs in white space from lines %d to %d, which are:\n%s", at+1, at+height,
			strings.Join(lines[at:at+height], "\n"))
	}
	first, _, _ := strings.Cut(want[1:], "\n")
	if i := strings.Index(squeezed, "\n"+first+"\n"); first != "" && i >= 0 {
		at := strings.Count(squeezed[:i], "\n")
		return fmt.Errorf("the old text was not found; its first line is line %d, but what follows differs:\n%s", at+1,
			strings.Join(lines[at:min(at+height, len(lines))], "\n"))
	}
	return fmt.Errorf("the old text was not found: read the file again")
}

// squeeze makes each run of white space in a line one space, and puts a line
// end before the first line and after the last, so that whole lines are found.
func squeeze(text string) string {
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.Join(strings.Fields(line), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// lineNumbers lists where a text begins, at most five places.
func lineNumbers(text, old string) string {
	var at []string
	line, offset := 1, 0
	for {
		i := strings.Index(text[offset:], old)
		if i < 0 {
			return strings.Join(at, ", ")
		}
		if len(at) == 5 {
			return strings.Join(at, ", ") + ", …"
		}
		line += strings.Count(text[offset:offset+i], "\n")
		at = append(at, fmt.Sprint(line))
		line += strings.Count(old, "\n")
		offset += i + len(old)
	}
}
