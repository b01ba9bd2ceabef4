package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"belay/models"
)

// patchTool changes one file by a patch in the form that some models were trained
// to write. What it does is an edit like any other.
type patchTool struct{}

const (
	patchBegin     = "*** Begin Patch"
	patchEnd       = "*** End Patch"
	patchEndOfFile = "*** End of File"
)

// patchGrammar holds a model to what parsePatch reads: one file a call, so that
// each change can be judged, shown and taken back by itself.
const patchGrammar = `start: begin_patch hunk end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?
hunk: add_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
update_hunk: "*** Update File: " filename LF change
filename: /(.+)/
add_line: "+" /(.*)/ LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF
%import common.LF
`

// patch is a parsed patch.
type patch struct {
	path   string
	create bool
	added  []string // of a new file
	chunks []patchChunk
}

// patchChunk is a run of lines that are replaced.
type patchChunk struct {
	context []string // lines to go to first, as after @@
	lines   []string // each with its sign: a space, - or +
	atEnd   bool     // the old lines are the last of the file
}

// old are the lines that must be there.
func (c patchChunk) old() []string {
	var old []string
	for _, line := range c.lines {
		if line[0] != '+' {
			old = append(old, line[1:])
		}
	}
	return old
}

// replace gives what stands in the place of lines that were found. Those that stay
// are the file's own: a model may have written their white space otherwise.
func (c patchChunk) replace(found []string) []string {
	var out []string
	for _, line := range c.lines {
		switch line[0] {
		case '+':
			out = append(out, line[1:])
			continue
		case ' ':
			out = append(out, found[0])
		}
		found = found[1:]
	}
	return out
}

func (patchTool) prepare(s *Set, raw []byte) (Call, error) {
	var args struct{ Patch string }
	if err := json.Unmarshal(raw, &args); err != nil {
		return Call{}, err
	}
	p, err := parsePatch(args.Patch)
	if err != nil {
		return Call{}, err
	}
	target, err := s.resolve(p.path)
	if err != nil {
		return Call{}, err
	}
	return lookFirst(target, func() (Call, error) { return s.patch(target, p) }), nil
}

// patch works out what a patch makes of a file.
func (s *Set) patch(target location, p patch) (Call, error) {
	old, err := s.current(target)
	if err != nil {
		return Call{}, err
	}
	switch {
	case p.create && old != nil:
		return Call{}, fmt.Errorf("%s exists: update it", target.rel)
	case p.create:
		return s.change(target, nil, []byte(strings.Join(p.added, "\n")+"\n"))
	case old == nil:
		return Call{}, fmt.Errorf("%w: add it", s.notExisting(target, fs.ErrNotExist))
	}
	for _, chunk := range p.chunks {
		if err := encodable(old, strings.Join(chunk.lines, "\n")); err != nil {
			return Call{}, fmt.Errorf("%s: %w; nothing was changed", target.rel, err)
		}
	}
	content, err := editText(old, p.apply)
	if err != nil {
		return Call{}, fmt.Errorf("%s: %w; nothing was changed", target.rel, err)
	}
	return s.change(target, old, content)
}

// parsePatch reads a patch. White space and code fences around it do no harm.
func parsePatch(text string) (patch, error) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	begin := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == patchBegin })
	if begin < 0 {
		return patch{}, fmt.Errorf("a patch begins with the line %q", patchBegin)
	}
	lines = lines[begin+1:]
	end := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) == patchEnd })
	if end < 0 {
		return patch{}, fmt.Errorf("a patch ends with the line %q", patchEnd)
	}
	lines = lines[:end]
	if len(lines) == 0 {
		return patch{}, errors.New("the patch is empty")
	}
	var p patch
	if path, ok := strings.CutPrefix(lines[0], models.PatchAdd); ok {
		p.path, p.create = strings.TrimSpace(path), true
	} else if path, ok := strings.CutPrefix(lines[0], models.PatchUpdate); ok {
		p.path = strings.TrimSpace(path)
	} else {
		return patch{}, fmt.Errorf("the first line of a patch is %qPATH or %qPATH; use shell to delete or move files",
			models.PatchUpdate, models.PatchAdd)
	}
	for i, line := range lines[1:] {
		if err := p.add(line); err != nil {
			return patch{}, fmt.Errorf("line %d of the patch: %w", i+2, err)
		}
	}
	p.chunks = slices.DeleteFunc(p.chunks, func(c patchChunk) bool { return len(c.lines) == 0 })
	if len(p.chunks)+len(p.added) == 0 {
		return patch{}, errors.New("the patch changes nothing")
	}
	return p, nil
}

// add takes a line below the header.
func (p *patch) add(line string) error {
	if p.create {
		text, ok := strings.CutPrefix(line, "+")
		if !ok {
			return errors.New("each line of a new file begins with +")
		}
		p.added = append(p.added, text)
		return nil
	}
	if context, ok := strings.CutPrefix(line, "@@"); ok {
		p.goTo(strings.TrimPrefix(context, " "))
		return nil
	}
	if len(p.chunks) == 0 {
		p.chunks = append(p.chunks, patchChunk{})
	}
	chunk := &p.chunks[len(p.chunks)-1]
	switch {
	case strings.TrimSpace(line) == patchEndOfFile:
		chunk.atEnd = true
	case line == "":
		chunk.lines = append(chunk.lines, " ") // an empty line without its space
	case strings.ContainsRune(" -+", rune(line[0])):
		chunk.lines = append(chunk.lines, line)
	case strings.HasPrefix(line, "*** "):
		return errors.New("one file a call: send each other file as a call of its own")
	default:
		return errors.New("it begins with none of @@, +, - and a space")
	}
	return nil
}

// goTo begins another chunk, below a line; several in a row lead inwards.
func (p *patch) goTo(context string) {
	n := len(p.chunks)
	if n == 0 || len(p.chunks[n-1].lines) > 0 {
		p.chunks = append(p.chunks, patchChunk{})
		n++
	}
	if context != "" {
		p.chunks[n-1].context = append(p.chunks[n-1].context, context)
	}
}

// apply makes the changes in a text, from its beginning to its end.
func (p *patch) apply(text string) (string, error) {
	text, ended := strings.CutSuffix(text, "\n")
	lines := strings.Split(text, "\n")
	var out []string
	at := 0 // up to where lines are in out
	for i, chunk := range p.chunks {
		from := at
		for _, context := range chunk.context {
			found := findLines(lines, []string{context}, from, false)
			if found < 0 {
				return "", fmt.Errorf("chunk %d of %d: there is no line %q after line %d", i+1, len(p.chunks), context, from)
			}
			from = found + 1
		}
		found, old := from, chunk.old()
		switch {
		case len(old) > 0:
			found = findLines(lines, old, from, chunk.atEnd)
		case len(chunk.context) == 0:
			found = len(lines) // only added lines go to the end
		}
		if found < 0 {
			return "", fmt.Errorf("chunk %d of %d: %w", i+1, len(p.chunks), notFound(strings.Join(lines[at:], "\n"),
				strings.Join(old, "\n")))
		}
		out = append(append(out, lines[at:found]...), chunk.replace(lines[found:found+len(old)])...)
		at = found + len(old)
	}
	changed := strings.Join(append(out, lines[at:]...), "\n")
	if ended && changed != "" {
		changed += "\n"
	}
	return changed, nil
}

// findLines finds lines from a place on, as they are, else without the white space
// at their ends, else without any around them; -1: nowhere.
func findLines(lines, wanted []string, from int, atEnd bool) int {
	if atEnd {
		from = max(from, len(lines)-len(wanted))
	}
	for _, plain := range []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.TrimRight(s, " \t") },
		strings.TrimSpace,
	} {
		same := func(a, b string) bool { return plain(a) == plain(b) }
		for i := from; i+len(wanted) <= len(lines); i++ {
			if slices.EqualFunc(lines[i:i+len(wanted)], wanted, same) {
				return i
			}
		}
	}
	return -1
}
