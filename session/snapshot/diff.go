package snapshot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"belay/session"
)

// Kind says what became of a file from one tree to another.
type Kind = session.ChangeKind

// The kinds of change. Mode is a file whose content is the same but whether it
// may be run.
const (
	Added   Kind = "added"
	Changed Kind = "changed"
	Removed Kind = "removed"
	Mode    Kind = "mode"
)

// Change is one file that differs between two trees. Its path is given as bytes,
// which are not always UTF-8.
type Change = session.Change

// Diff lists what changes on the way from one kept tree to another, by path.
func (s *Store) Diff(ctx context.Context, from, to string) ([]Change, error) {
	changes, err := s.diff(ctx, from, to)
	return changes, s.wrap("compare snapshots", err)
}

func (s *Store) diff(ctx context.Context, from, to string) ([]Change, error) {
	if err := errors.Join(s.checkKept(ctx, from), s.checkKept(ctx, to)); err != nil {
		return nil, err
	}
	out, err := run(ctx, s.git.storeGit(ctx, s.storeDir(), append(diffTree, "--raw", "--numstat", "-z", from, to)...))
	if err != nil {
		return nil, err
	}
	entries, rest := parseRaw(out)
	changes := make([]Change, len(entries))
	at := map[string]*Change{}
	for i, e := range entries {
		changes[i] = Change{Path: e.path, Kind: e.kind()}
		at[e.path] = &changes[i]
	}
	for _, field := range rest {
		added, field, _ := strings.Cut(field, "\t")
		removed, path, _ := strings.Cut(field, "\t")
		c := at[path]
		if c == nil {
			continue
		}
		if c.Binary = added == "-"; !c.Binary {
			c.Added, _ = strconv.Atoi(added)
			c.Removed, _ = strconv.Atoi(removed)
		}
	}
	return changes, nil
}

var diffTree = []string{
	"diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--no-abbrev",
}

// entry is a line of `git diff-tree --raw`: a path in two trees.
type entry struct {
	oldMode, mode string // "000000" for absent
	oldBlob, blob string
	path          string
}

const (
	absentMode = "000000"
	linkMode   = "120000"
	runMode    = "100755"
	fileMode   = "100644"
)

func (e entry) kind() Kind {
	switch {
	case e.oldMode == absentMode:
		return Added
	case e.mode == absentMode:
		return Removed
	case e.oldBlob == e.blob:
		return Mode
	}
	return Changed
}

// parseRaw reads the raw lines that `git diff-tree --raw -z` prints, and
// returns the fields that follow them. What makes no sense ends it.
func parseRaw(out []byte) (entries []entry, rest []string) {
	fields := splitNUL(out)
	for len(fields) >= 2 && strings.HasPrefix(fields[0], ":") {
		head := strings.Fields(fields[0][1:])
		if len(head) != 5 {
			break
		}
		entries = append(entries,
			entry{oldMode: head[0], mode: head[1], oldBlob: head[2], blob: head[3], path: fields[1]})
		fields = fields[2:]
	}
	return entries, fields
}

// MaxPatch is the size in bytes to which a patch is cut.
const MaxPatch = 256 << 10

// Patch is the unified diff of one file from one kept tree to another, for
// people. One longer than MaxPatch ends with a line that says so.
func (s *Store) Patch(ctx context.Context, from, to, path string) (string, error) {
	text, err := s.patch(ctx, from, to, path)
	return text, s.wrap("compare snapshots", err)
}

func (s *Store) patch(ctx context.Context, from, to, path string) (string, error) {
	if err := errors.Join(s.checkKept(ctx, from), s.checkKept(ctx, to)); err != nil {
		return "", err
	}
	enough, stop := context.WithCancel(ctx)
	defer stop()
	out := &limitedBuffer{full: stop}
	cmd := s.git.storeGit(enough, s.storeDir(), append(diffTree, "--patch", "--unified=3", from, to, "--", path)...)
	cmd.Stdout = out
	if _, err := runTo(enough, cmd); err != nil && (ctx.Err() != nil || !out.cut) {
		return "", err
	}
	text := out.b.String()
	if out.cut {
		text = text[:strings.LastIndexByte(text, '\n')+1] + "… the rest is not shown\n"
	}
	return text, nil
}

// limitedBuffer keeps the first MaxPatch bytes and then ends what writes them.
type limitedBuffer struct {
	b    bytes.Buffer
	full func()
	cut  bool
}

func (c *limitedBuffer) Write(p []byte) (int, error) {
	room := MaxPatch - c.b.Len()
	if len(p) <= room {
		return c.b.Write(p)
	}
	c.cut = true
	c.full()
	n, _ := c.b.Write(p[:room])
	return n, io.ErrShortWrite
}
