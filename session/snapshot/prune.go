package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// minAge is how long a tree stays in any case: another belay may have taken it
// and not yet written down that it needs it.
const minAge = time.Hour

// Prune gives up the trees that are not in keep and were taken more than an
// hour ago, and frees their space. What is kept must name the trees of all
// sessions in this workspace.
func (s *Store) Prune(ctx context.Context, keep []string) error {
	return s.wrap("prune snapshots", s.prune(ctx, keep))
}

func (s *Store) prune(ctx context.Context, keep []string) error {
	list, err := os.ReadDir(filepath.Join(s.storeDir(), filepath.FromSlash(refsDir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	op, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer op.end()
	dropped, kept := 0, 0
	for _, file := range list {
		info, err := file.Info()
		if err != nil || slices.Contains(keep, file.Name()) || s.o.Now().Sub(info.ModTime()) < minAge {
			kept++
			continue
		}
		if err := errors.Join(
			os.Remove(filepath.Join(op.dir, filepath.FromSlash(refsDir), file.Name())),
			ignore(os.Remove(filepath.Join(op.dir, "skipped", file.Name())), fs.ErrNotExist),
		); err != nil {
			return err
		}
		dropped++
	}
	switch {
	case dropped == 0:
		return nil
	case kept == 0:
		return op.removeObjects()
	}
	if _, err := op.runOnStore(ctx, nil, "prune", "--expire=now"); err != nil {
		return err
	}
	_, err = op.runOnStore(ctx, nil, "gc", "--auto", "--quiet") // does nothing while there are few packs
	return err
}

// removeObjects gives up everything that a later Take would make anew.
func (op *operation) removeObjects() error {
	list, err := filepath.Glob(filepath.Join(op.dir, "index*"))
	for _, name := range append(list, filepath.Join(op.dir, "objects")) {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}
