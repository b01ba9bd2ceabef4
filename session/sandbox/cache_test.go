package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What go compiles for one reading command is there for the next. A cache inside the
// workspace, or in a secret place, is none.
func TestWhatIsCompiledIsKept(t *testing.T) {
	p := newPlace(t)
	cache := filepath.Join(p.outside, "cache")
	p.o.Cache = cache
	if out, err := p.run(t, "echo compiled > $GOCACHE/x && echo x > $TMPDIR/y"); err != nil {
		t.Fatal(out, err)
	}
	if out, err := p.run(t, "cat $GOCACHE/x"); err != nil || out != "compiled\n" {
		t.Errorf("%q, %v", out, err)
	}
	for _, path := range []string{cache, p.outside} {
		if out, err := p.run(t, "echo x > "+path+"/other"); err == nil {
			t.Errorf("it wrote to %s: %s", path, out)
		}
	}
	for _, path := range []string{filepath.Join(p.root, "cache"), filepath.Join(p.secret, "cache")} {
		p.o.Cache = path
		out, err := p.run(t, "echo $GOCACHE")
		if err != nil || strings.HasPrefix(out, path) {
			t.Errorf("%s is used: %q, %v", path, out, err)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}
