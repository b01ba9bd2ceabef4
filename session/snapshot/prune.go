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

// fresh is how long a tree stays in any case: another belay may have taken it
// and not yet written down that it needs it.
const fresh = time.Hour

// Prune gives up the trees that are not in keep and were taken more than an
// hour ago, and frees their space. What is kept must name the trees of all
// sessions in this workspace.
func (s *Store) Prune(ctx context.Context, keep []string) error {
	return s.fail("prune snapshots", s.prune(ctx, keep))
}

func (s *Store) prune(ctx context.Context, keep []string) error {
	list, err := os.ReadDir(filepath.Join(s.home(), filepath.FromSlash(refs)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	w, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer w.end()
	dropped, kept := 0, 0
	for _, file := range list {
		info, err := file.Info()
		if err != nil || slices.Contains(keep, file.Name()) || s.o.Now().Sub(info.ModTime()) < fresh {
			kept++
			continue
		}
		if err := errors.Join(
			os.Remove(filepath.Join(w.home, filepath.FromSlash(refs), file.Name())),
			except(os.Remove(filepath.Join(w.home, "skipped", file.Name())), fs.ErrNotExist),
		); err != nil {
			return err
		}
		dropped++
	}
	switch {
	case dropped == 0:
		return nil
	case kept == 0:
		return w.empty()
	}
	if _, err := w.bare(ctx, nil, "prune", "--expire=now"); err != nil {
		return err
	}
	_, err = w.bare(ctx, nil, "gc", "--auto", "--quiet") // does nothing while there are few packs
	return err
}

// empty gives up everything that a later Take would make anew.
func (w *work) empty() error {
	list, err := filepath.Glob(filepath.Join(w.home, "index*"))
	for _, name := range append(list, filepath.Join(w.home, "objects")) {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}
