package batch

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// ReadOptions are what a file of tasks is read with.
type ReadOptions struct {
	Name   string // of the file, for what is said of it
	Format string // "toml", "yaml" or "lines"; empty: as its name or its first words say
	Dir    string // what relative folders start from
	Base   Task   // of what neither the task nor the file's defaults say
}

// table is what a file says of one task, or of all.
type table struct {
	line   int
	values map[string]value
}

type value struct {
	line int
	is   any // string, bool, int64, float64, or what no key takes
}

// document is a file of tasks, read and not yet understood.
type document struct {
	defaults table
	tasks    []table
	mistakes Mistakes
}

// Read reads a list of tasks: TOML or YAML, or one prompt a line. Its error is of
// type Mistakes, and names every mistake at once.
func Read(data []byte, o ReadOptions) ([]Task, error) {
	if len(data) > MaxFile {
		return nil, Mistakes{{File: o.Name, Problem: fmt.Sprintf("is longer than %d MB", MaxFile>>20)}}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if at := notText(data); at > 0 {
		return nil, Mistakes{{
			File: o.Name, Line: at, Problem: "is not text", Hint: "tasks are written as UTF-8",
		}}
	}
	var doc document
	switch format := cmp.Or(o.Format, formatOf(o.Name, data)); format {
	case "toml":
		doc = readTOML(data)
	case "yaml":
		doc = readYAML(data)
	case "lines":
		doc = readLines(data)
	default:
		return nil, Mistakes{{File: o.Name, Problem: fmt.Sprintf("the format %q is not known", format),
			Hint: "toml, yaml or lines"}}
	}
	r := reader{ReadOptions: o, mistakes: doc.mistakes}
	tasks := r.tasks(doc)
	if len(r.mistakes) > 0 {
		for i := range r.mistakes {
			r.mistakes[i].File = o.Name
		}
		slices.SortStableFunc(r.mistakes, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
		return nil, r.mistakes
	}
	return tasks, nil
}

// notText is the first line that is not text; 0: all are.
func notText(data []byte) int {
	at := bytes.IndexByte(data, 0)
	if !utf8.Valid(data) {
		valid := 0
		for valid < len(data) {
			r, size := utf8.DecodeRune(data[valid:])
			if r == utf8.RuneError && size <= 1 {
				break
			}
			valid += size
		}
		if at < 0 || valid < at {
			at = valid
		}
	}
	if at < 0 {
		return 0
	}
	return 1 + bytes.Count(data[:at], []byte("\n"))
}

var (
	likeTOML = regexp.MustCompile(`(?m)^\s*\[(\[\s*tasks?\s*\]|\s*defaults\s*)\]`)
	likeYAML = regexp.MustCompile(`(?m)^(\s*-\s+)?["']?(prompt|name|folder|repository|tasks?|defaults)["']?\s*:(\s|$)`)
)

// formatOf is what a file is, by its name, else by the first of its lines that
// says it.
func formatOf(name string, data []byte) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".toml":
		return "toml"
	case ".yaml", ".yml", ".json": // JSON is YAML
		return "yaml"
	case ".txt", ".list", ".md":
		return "lines"
	}
	trimmed := bytes.TrimSpace(data)
	json := bytes.HasPrefix(trimmed, []byte("[{")) || bytes.HasPrefix(trimmed, []byte("{")) && bytes.HasSuffix(trimmed, []byte("}"))
	switch {
	case likeTOML.Match(data):
		return "toml"
	case json, likeYAML.Match(data):
		return "yaml"
	}
	return "lines"
}

// readLines takes each line that is not empty and no comment as a prompt.
func readLines(data []byte) document {
	var doc document
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			doc.tasks = append(doc.tasks, table{number, map[string]value{"prompt": {number, line}}})
		}
	}
	return doc
}
