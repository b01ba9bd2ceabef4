package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestAFirstSnapshotThatIsCutOffGoesOnNextTime(t *testing.T) {
	p := newPlace(t)
	files := map[string]string{}
	for i := range 2*portionFiles + portionFiles/2 {
		files[fmt.Sprintf("d%d/f%d", i%10, i)] = fmt.Sprint("content ", i)
	}
	p.write(files)
	objects := len(files) + 10 + 1 // and the trees of the folders

	p.cutOff(t, 1)
	if got, err := countEntries(filepath.Join(p.storeDir(), "index")); got != portionFiles || err != nil {
		t.Fatalf("%d files are read, %v, want a portion", got, err)
	}
	packs := p.objects()
	for range 4 {
		p.cutOff(t, 0) // whatever is begun anew comes to nothing
	}
	left := p.objects()
	if got, want := fmt.Sprint(left), fmt.Sprint(packs); got != want {
		t.Errorf("the store holds %s, want %s", got, want)
	}
	got := p.take()
	if want := placeAt(t, p.root, t.TempDir()).take(); got.ID != want.ID || got.Files != len(files) {
		t.Errorf("the tree is %+v, want %+v", got, want)
	}
	if got := p.count(); !strings.Contains(got, "garbage: 0") || p.stored(got) != objects {
		t.Errorf("the store holds\n%s, want %d objects, each once, and no garbage", got, objects)
	}
	names := strings.Join(p.objects(), " ")
	for _, name := range packs {
		if name != half && !strings.Contains(names, name) {
			t.Errorf("%s was written again", name)
		}
	}
}

func TestPortions(t *testing.T) {
	many := func(n int, size int64) []changed {
		list := make([]changed, n)
		for i := range list {
			list[i].size = size
		}
		return list
	}
	for name, tt := range map[string]struct {
		rest  []changed
		files int
		bytes int64
		want  int
	}{
		"all, where there is little":           {many(7, 100), 0, 0, 7},
		"no more files than one can lose":      {many(9999, 100), 0, 0, portionFiles},
		"no more bytes than one can lose":      {many(9999, 1<<20), 0, 0, portionBytes >> 20},
		"one file, however large":              {many(3, 2*portionBytes), 0, 0, 1},
		"more files when much is done":         {many(9999, 1), 2 * portionPart * portionFiles, 0, 2 * portionFiles},
		"more bytes when much is done":         {many(9999, 1<<20), 0, 2 * portionPart * portionBytes, 2 * portionBytes >> 20},
		"at least one, whatever else is known": {many(1, 0), 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := portion(tt.rest, tt.files, tt.bytes); got != tt.want {
				t.Errorf("portion() = %d, want %d", got, tt.want)
			}
		})
	}
}

// half is what a git leaves that is ended while it writes.
const half = "tmp_pack_half"

// cutOff ends a Take when its git has read some portions, and has begun the next.
func (p *place) cutOff(t *testing.T, portions int) {
	t.Helper()
	t.Run("cut off", func(t *testing.T) {
		dir := t.TempDir()
		began := filepath.Join(dir, "began")
		fake(t, fmt.Sprintf(`*--stdin*) case "$*" in *--add*) echo >> '%s/count'
			if [ $(wc -l < '%[1]s/count') -gt %d ]; then
				echo half > "$GIT_DIR/objects/pack/%s"
				touch '%s'; exec sleep 1000; fi; esac;;`, dir, portions, half, began))
		ctx, stop := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() {
			defer stop()
			for _, err := os.Stat(began); err != nil && ctx.Err() == nil; _, err = os.Stat(began) {
				runtime.Gosched()
			}
		})
		if _, err := New(p.o).Take(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that it was cancelled", err)
		}
		stop()
		wait.Wait()
	})
}

// objects are the names of the files that hold the store's objects.
func (p *place) objects() (names []string) {
	p.Helper()
	err := filepath.WalkDir(filepath.Join(p.storeDir(), "objects"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, d.Name())
		}
		return err
	})
	if err != nil {
		p.Fatal(err)
	}
	return names
}

// count is what git says that the store holds.
func (p *place) count() string {
	p.Helper()
	out, err := run(p.Context(), p.Store.git.storeGit(p.Context(), p.storeDir(), "count-objects", "-v"))
	if err != nil {
		p.Fatal(err)
	}
	return string(out)
}

// stored is how many objects that are.
func (p *place) stored(count string) (n int) {
	for line := range strings.Lines(count) {
		var loose, packed int
		_, _ = fmt.Sscanf(line, "count: %d", &loose)
		_, _ = fmt.Sscanf(line, "in-pack: %d", &packed)
		n += loose + packed
	}
	return n
}
