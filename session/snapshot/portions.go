package snapshot

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// manyFiles is from how many files on a pack is written, instead of a file for
// each: three times as fast for 20,000, and a twentieth of the space.
const manyFiles = 200

// What is read at once, before the index is written: it is what a snapshot loses
// that is cut off. Portions grow with what is done already, so that writing the index
// again and again costs little, and a large tree ends in few packs.
const (
	portionFiles = 1000
	portionBytes = 32 << 20
	portionPart  = 4 // of what is done, one in so many is the next portion
)

// portion is how many of the paths are read next, when so much is done.
func portion(rest []changed, files int, bytes int64) int {
	maxFiles, maxBytes := max(portionFiles, files/portionPart), max(portionBytes, bytes/portionPart)
	n, size := 0, int64(0)
	for n < len(rest) && n < maxFiles && (n == 0 || size+rest[n].size <= maxBytes) {
		size += rest[n].size
		n++
	}
	return n
}

// updateIndex brings the index up to date, in portions: what a snapshot has read is
// not read again by the next one, should this one be cut off.
func (op *operation) updateIndex(ctx context.Context, found *changes) error {
	if len(found.dropped) > 0 {
		if err := op.removeFromIndex(ctx, found.dropped); err != nil {
			return err
		}
	}
	files, err := countEntries(op.index)
	if err != nil {
		return err
	}
	packed := len(found.changed) >= manyFiles && op.store.git.minor >= packingMinor
	bytes := int64(0)
	for rest := found.changed; len(rest) > 0; {
		n := portion(rest, files, bytes)
		paths := make([]string, n)
		for i, c := range rest[:n] {
			paths[i] = c.path
			bytes += c.size
		}
		refused, err := op.addToIndex(ctx, paths, packed)
		if err != nil {
			return err
		}
		for _, path := range refused {
			found.skipped = append(found.skipped, Skip{Path: path, Reason: Unreadable})
		}
		files += n
		rest = rest[n:]
	}
	return nil
}

// addToIndex reads files into the store and the index. A file that git cannot read
// after all, because it changes under its eyes, is given back.
func (op *operation) addToIndex(ctx context.Context, paths []string, packed bool) (refused []string, err error) {
	var args []string
	if packed {
		// git 2.39 mixes up packs and batches
		args = []string{"-c", "core.bigFileThreshold=0", "-c", "core.fsyncMethod=fsync"}
	}
	args = append(args, "update-index", "-z", "--add", "--remove", "--replace", "--stdin")
	for len(paths) > 0 {
		_, err := op.runInWorkspace(ctx, nulTerminated(paths), args...)
		bad := slices.Index(paths, op.refusedPath(err))
		if err == nil || bad < 0 || len(refused) == 20 {
			return refused, err
		}
		refused = append(refused, paths[bad])
		paths = slices.Delete(paths, bad, bad+1)
	}
	return refused, nil
}

// refusedPath is the path that git could not read, by what it said.
func (op *operation) refusedPath(err error) string {
	var said *gitError
	if !errors.As(err, &said) {
		return ""
	}
	if _, kind := classify(&gitError{stderr: strings.ReplaceAll(said.stderr, "Permission denied", "")}); kind != nil {
		return ""
	}
	_, path, _ := strings.Cut(said.stderr, "fatal: Unable to process path ")
	return strings.TrimPrefix(strings.TrimSuffix(path, "\n"), op.repo.prefix)
}

// removeFromIndex takes paths from the index.
func (op *operation) removeFromIndex(ctx context.Context, paths []string) error {
	_, err := op.runInWorkspace(ctx, nulTerminated(paths), "update-index", "-z", "--force-remove", "--stdin")
	return err
}

func nulTerminated(paths []string) *strings.Reader {
	return strings.NewReader(strings.Join(paths, "\x00") + "\x00")
}
