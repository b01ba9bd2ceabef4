// Package systemprompt decides what a model is told before a session's first
// prompt: how to work, what the user's and the project's AGENTS.md say, and
// where it is.
package systemprompt

import (
	"context"
	_ "embed" // for the text
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"belay/context/repository"
)

//go:embed systemprompt.md
var text string

const rulesFile = "AGENTS.md"

// The bounds of what AGENTS.md files may take.
const (
	maxFile   = 32 << 10
	maxNested = 40 // deeper files that are named
)

// Options say where to look.
type Options struct {
	Root    string // the workspace, absolute
	User    string // the folder of the user's own AGENTS.md; may be empty
	Trusted bool   // whether the project's files may be read into the briefing
	Now     time.Time
}

// Source is a file whose text went into a briefing.
type Source struct {
	Path  string
	Bytes int
	Cut   bool // it was longer than what was taken
}

// Prompt is a session's system text and where it came from.
type Prompt struct {
	Instructions string
	Sources      []Source

	Environment  string // of Instructions, what tells where the model is: it may change with time
	ProjectRules string // and what the AGENTS.md files say
}

// Build reads what a briefing is made of. A file that cannot be read is
// reported in the text rather than failing the session.
func Build(ctx context.Context, options Options) Prompt {
	var b strings.Builder
	var br Prompt
	b.WriteString(text)
	begin := b.Len()
	fmt.Fprintf(&b, "\nWhere you are\n- workspace: %s\n- system: %s/%s\n- today: %s\n", options.Root, runtime.GOOS,
		runtime.GOARCH, options.Now.Format("Monday, 2 January 2006"))
	repo := repository.Root(ctx, options.Root)
	if repo != "" {
		fmt.Fprintf(&b, "- git: on %s\n", repository.Branch(ctx, options.Root))
	}
	rules := b.Len()
	if options.User != "" {
		br.add(&b, filepath.Join(options.User, rulesFile))
	}
	if options.Trusted {
		dirs := ruleFiles(repo, options.Root)
		for _, dir := range dirs {
			if path := filepath.Join(dir, rulesFile); !leadsElsewhere(path, dirs[0]) {
				br.add(&b, path)
			}
		}
	}
	if options.Trusted && repo != "" {
		nested(ctx, &b, options.Root)
	}
	br.Instructions = b.String()
	br.Environment, br.ProjectRules = br.Instructions[begin:rules], br.Instructions[rules:]
	return br
}

// leadsElsewhere reports a link of a project out of its folder, or to what is no
// text of rules: a repository must not have a key read out that way.
func leadsElsewhere(path, root string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false // reading it says why
	}
	if linked, err := filepath.EvalSymlinks(root); err == nil {
		root = linked
	}
	rel, err := filepath.Rel(root, resolved)
	return err != nil || !filepath.IsLocal(rel) || !slices.Contains([]string{".md", ".mdc", ".txt"}, filepath.Ext(resolved))
}

// add appends one file, marked with its path, so that the model can tell whose
// words they are.
func (br *Prompt) add(b *strings.Builder, path string) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return // opening a pipe would wait for its other end
	}
	out, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		fmt.Fprintf(b, "\n(%s could not be read: %v)\n", path, err)
		return
	}
	defer out.Close()
	if info, err := out.Stat(); err != nil || !info.Mode().IsRegular() {
		return // it became something else meanwhile
	}
	content, err := io.ReadAll(io.LimitReader(out, maxFile+1))
	if err != nil {
		fmt.Fprintf(b, "\n(%s could not be read: %v)\n", path, err)
		return
	}
	source := Source{Path: path, Bytes: len(content)}
	note := ""
	if len(content) > maxFile {
		content, source.Bytes, source.Cut = content[:maxFile], maxFile, true
		note = fmt.Sprintf("\n(cut after %d KB; read the file for the rest)", maxFile>>10)
	}
	fmt.Fprintf(b, "\n<agents-file path=%q>\n%s%s\n</agents-file>\n", path,
		strings.TrimSpace(strings.ToValidUTF8(string(content), "�")), note)
	br.Sources = append(br.Sources, source)
}

// ruleFiles is the folders from the repository's root down to the workspace.
func ruleFiles(repo, root string) []string {
	if linked, err := filepath.EvalSymlinks(root); err == nil {
		root = linked // as git names the repository
	}
	dirs := []string{root}
	for dir := root; repo != "" && dir != repo; {
		parent := filepath.Dir(dir)
		if parent == dir {
			return []string{root}
		}
		dir = parent
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

// nested names the files below the workspace: they are read when their folder
// is worked in.
func nested(ctx context.Context, b *strings.Builder, root string) {
	files, err := repository.Files(ctx, root, "*/"+rulesFile)
	if err != nil || len(files) == 0 {
		return
	}
	more := ""
	if len(files) > maxNested {
		more = fmt.Sprintf(" and %d more", len(files)-maxNested)
		files = files[:maxNested]
	}
	fmt.Fprintf(
		b,
		"\nThese folders have instructions of their own. Read the file before you work in its folder: %s%s\n",
		strings.Join(files, ", "),
		more,
	)
}
