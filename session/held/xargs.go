package held

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"mvdan.cc/sh/v3/interp"

	"belay/session/permit"
)

// The bounds of what xargs reads, and of one command that it runs.
const (
	maxXargsInput = 4 << 20
	maxXargsBytes = 128 << 10
)

// xargs runs commands with the words of its input, each judged with its words. The
// program of that name would run them unseen.
func (l *line) xargs(ctx context.Context, words, env []string) error {
	hc := interp.HandlerCtx(ctx)
	x, ok := permit.ParseXargs(words[1:])
	if !ok {
		return l.refuse(words, "it is told more than is judged")
	}
	var input []byte
	if hc.Stdin != nil {
		var err error
		if input, err = io.ReadAll(io.LimitReader(hc.Stdin, maxXargsInput+1)); err != nil && ctx.Err() == nil {
			fmt.Fprintf(hc.Stderr, "xargs: %v\n", err)
			return interp.ExitStatus(1)
		}
	}
	if len(input) > maxXargsInput {
		return l.refuse(words, "it reads too much")
	}
	items, err := split(x, string(input))
	if err != nil {
		fmt.Fprintf(hc.Stderr, "xargs: %v\n", err)
		return interp.ExitStatus(1)
	}
	failed := false
	for _, command := range commands(x, items) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if reason := permit.Refuse(command, l.place(hc.Dir)); reason != "" {
			return l.refuse(command, reason)
		}
		err := l.detached(ctx, command, env)
		status, exited := errors.AsType[interp.ExitStatus](err)
		switch {
		case err != nil && !exited:
			return err
		case exited && status >= exitCannot:
			return err
		case exited:
			failed = true
		}
	}
	if failed {
		return interp.ExitStatus(123)
	}
	return nil
}

// detached runs a command without the input that its words came from.
func (l *line) detached(ctx context.Context, words, env []string) error {
	return l.command(context.WithValue(ctx, noInput{}, true), asBash(words), env)
}

// noInput is where a context keeps that a command has nothing to read.
type noInput struct{}

// item is a word of the input, and whether it is the last of its line.
type item struct {
	text string
	last bool
}

// split takes the input of xargs apart.
func split(x permit.Xargs, input string) ([]item, error) {
	end := string(x.Delimiter)
	switch {
	case x.Null:
		end = "\x00"
	case x.Delimiter != 0:
	case x.Replace != "":
		var items []item
		for text := range strings.Lines(input) {
			if text = strings.Trim(text, " \t\n"); text != "" {
				if strings.ContainsAny(text, `'"\`) {
					return nil, errors.New("quotes in a line that replaces words are not understood; use -0 or -d")
				}
				items = append(items, item{text, true})
			}
		}
		return items, nil
	default:
		return splitWords(input)
	}
	var items []item
	for text := range strings.SplitSeq(strings.TrimSuffix(input, end), end) {
		if input != "" {
			items = append(items, item{text, true})
		}
	}
	return items, nil
}

var errQuote = errors.New("unmatched quote; by default quotes are special to xargs unless you use the -0 option")

// splitWords takes words apart at white space, with quotes and backslashes.
func splitWords(input string) (items []item, err error) {
	var word bytes.Buffer
	inWord := false
	flush := func(last bool) {
		if inWord {
			items = append(items, item{word.String(), last})
		} else if last && len(items) > 0 {
			items[len(items)-1].last = true
		}
		word.Reset()
		inWord = false
	}
	for i := 0; i < len(input); i++ {
		switch c := input[i]; c {
		case '\n':
			flush(true)
		case ' ', '\t':
			flush(false)
		case '\\':
			if i++; i < len(input) {
				word.WriteByte(input[i])
				inWord = true
			}
		case '\'', '"':
			n := strings.IndexByte(input[i+1:], c)
			if n < 0 || strings.Contains(input[i+1:i+1+n], "\n") {
				return nil, errQuote
			}
			word.WriteString(input[i+1 : i+1+n])
			i += n + 1
			inWord = true
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	flush(true)
	return items, nil
}

// commands are the words of each command that xargs runs.
func commands(x permit.Xargs, items []item) [][]string {
	var list [][]string
	switch {
	case x.Replace != "":
		for _, it := range items {
			words := append([]string(nil), x.Words...)
			for i := range words[1:] {
				words[i+1] = strings.ReplaceAll(words[i+1], x.Replace, it.text)
			}
			list = append(list, words)
		}
		return list
	case len(items) == 0 && !x.NotEmpty:
		return [][]string{x.Words}
	}
	for len(items) > 0 {
		words := append([]string(nil), x.Words...)
		n := taken(x, items)
		for _, it := range items[:n] {
			words = append(words, it.text)
		}
		items = items[n:]
		list = append(list, words)
	}
	return list
}

// taken is how many words of the input one command gets.
func taken(x permit.Xargs, items []item) int {
	size, lines := 0, 0
	for n, it := range items {
		size += len(it.text) + 1
		switch {
		case n > 0 && size > maxXargsBytes, n == maxWords/2, n > 0 && n == x.Most, n > 0 && x.Lines > 0 && lines == x.Lines:
			return n
		}
		if it.last {
			lines++
		}
	}
	return len(items)
}
