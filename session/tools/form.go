package tools

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// bom is the byte order mark that some programs begin UTF-8 text with.
const bom = "\ufeff"

// fileText is a file's text as a model sees it: without a byte order mark, every
// line ended by \n.
func fileText(content []byte) string {
	return strings.ReplaceAll(strings.TrimPrefix(string(content), bom), "\r\n", "\n")
}

// inForm gives a changed plain text the form that the file had: its byte order mark
// and the end of each line. New lines end as those in whose place they stand.
func inForm(old []byte, changed string) []byte {
	if bytes.HasPrefix(old, []byte(bom)) {
		old = old[len(bom):]
		changed = bom + strings.TrimPrefix(changed, bom)
	}
	switch crlf := bytes.Count(old, []byte("\r\n")); crlf {
	case 0:
		return []byte(changed)
	case bytes.Count(old, []byte("\n")):
		return []byte(strings.ReplaceAll(changed, "\n", "\r\n"))
	}
	return []byte(mixedEnds(string(old), changed))
}

// mixedEnds has each line of a changed text end as it did.
func mixedEnds(old, changed string) string {
	mark := ""
	if rest, ok := strings.CutPrefix(changed, bom); ok {
		mark, changed = bom, rest
	}
	ends := lineEnds(old)
	plain := strings.ReplaceAll(old, "\r\n", "\n")
	var b strings.Builder
	b.WriteString(mark)
	at, line := 0, 0
	end := "\n"
	write := func(text string, ends []string) {
		for part := range strings.Lines(text) {
			text, ended := strings.CutSuffix(part, "\n")
			b.WriteString(text)
			if len(ends) > 0 {
				end, ends = ends[0], ends[1:]
			}
			if ended {
				b.WriteString(end)
			}
		}
	}
	keep := func(text string) []string {
		n := strings.Count(text, "\n")
		taken := ends[line : line+n]
		line += n
		return taken
	}
	for _, edit := range udiff.Lines(plain, changed) {
		write(plain[at:edit.Start], keep(plain[at:edit.Start]))
		write(edit.New, keep(plain[edit.Start:edit.End]))
		at = edit.End
	}
	write(plain[at:], keep(plain[at:]))
	return b.String()
}

// lineEnds are the ends of a text's lines, in order.
func lineEnds(text string) []string {
	var ends []string
	for line := range strings.Lines(text) {
		switch {
		case strings.HasSuffix(line, "\r\n"):
			ends = append(ends, "\r\n")
		case strings.HasSuffix(line, "\n"):
			ends = append(ends, "\n")
		}
	}
	return ends
}

// rewritten is what write makes of a file that exists: the text that was given, in
// the form of the file, with a final line end if it had one. Line ends that were
// given as \r\n are meant.
func rewritten(old []byte, text string) ([]byte, error) {
	if len(old) == 0 || text == "" {
		return []byte(text), nil
	}
	if err := encodable(old, text); err != nil {
		return nil, err
	}
	if bytes.Contains(old, []byte("\r\n")) {
		text = strings.ReplaceAll(text, "\r\n", "\n") // it gets them back
	}
	switch ended := bytes.HasSuffix(old, []byte("\n")); {
	case ended && !strings.HasSuffix(text, "\n"):
		text += "\n"
	case !ended && !strings.HasSuffix(text, "\n\n"):
		text = strings.TrimSuffix(text, "\n")
	}
	return inForm(old, text), nil
}

// encodable refuses text that a file in another encoding cannot hold: what was read
// of it shows � for what it does hold, and would take its place.
func encodable(old []byte, text string) error {
	if utf8.Valid(old) && !binary(old) {
		return nil
	}
	if binary(old) {
		return errors.New("it is no UTF-8 text, and would lose its encoding: change it with shell")
	}
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		return errors.New("it is not UTF-8, so that only ASCII can be put into it: change it with shell, or convert it first")
	}
	return nil
}
