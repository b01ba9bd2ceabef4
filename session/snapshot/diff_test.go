package snapshot

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestDiffCountsLines(t *testing.T) {
	p := newPlace(t)
	p.write(map[string]string{"a b\tc": "1\n2\n3\n", "bin": "\x00", "gone": "1\n2\n", "same": "x", "tool": "x"})
	from := p.take().ID
	p.write(map[string]string{"a b\tc": "1\nzwei\n3\n4\n", "bin": "\x00\x01", "new": "1\n"})
	p.remove("gone")
	want := []Change{
		{Path: "a b\tc", Kind: Changed, Added: 2, Removed: 1},
		{Path: "bin", Kind: Changed, Binary: true},
		{Path: "gone", Kind: Removed, Removed: 2},
		{Path: "new", Kind: Added, Added: 1},
	}
	if runtime.GOOS != "windows" {
		want = append(want, Change{Path: "tool", Kind: Mode})
		if err := os.Chmod(filepath.Join(p.root, "tool"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	to := p.take().ID
	got, err := p.Diff(t.Context(), from, to)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	if got, err := p.Diff(t.Context(), to, to); err != nil || len(got) > 0 {
		t.Errorf("a tree differs from itself: %v, %v", got, err)
	}

	patch, err := p.Patch(t.Context(), from, to, "a b\tc")
	if want := "@@ -1,3 +1,4 @@\n 1\n-2\n+zwei\n 3\n+4\n"; err != nil || !strings.HasSuffix(patch, want) {
		t.Errorf("got %q, %v, want it to end with %q", patch, err, want)
	}
	if patch, err := p.Patch(t.Context(), from, to, "*"); err != nil || patch != "" {
		t.Errorf("a pattern is taken for more than a name: %q, %v", patch, err)
	}
}

func TestPatchIsBounded(t *testing.T) {
	p := newPlace(t)
	from := p.take().ID
	p.write(map[string]string{"big": strings.Repeat("a line of some length\n", 100_000)})
	patch, err := p.Patch(t.Context(), from, p.take().ID, "big")
	if err != nil || len(patch) > MaxPatch+100 || !strings.HasSuffix(patch, "length\n… the rest is not shown\n") {
		t.Errorf("got %d bytes, %v", len(patch), err)
	}
}

func FuzzParseRaw(f *testing.F) {
	f.Add([]byte(":100644 100755 a b M\x00a\x001\t2\ta\x00"))
	f.Add([]byte(":000000 100644 a b A\x00:x y\x00-\t-\t:x y\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		entries, rest := parseRaw(out)
		if n := len(entries)*2 + len(rest); n > len(splitNUL(out)) {
			t.Errorf("%d fields of %q", n, out)
		}
		for _, e := range entries {
			if e.kind() == "" {
				t.Errorf("%v has no kind", e)
			}
		}
	})
}

func TestVersion(t *testing.T) {
	for text, want := range map[string][2]int{
		"git version 2.39.5\n":               {2, 39},
		"git version 2.50.1 (Apple Git-155)": {2, 50},
		"git version 2.45.1.windows.1":       {2, 45},
		"git version 3.0-rc1":                {0, 0},
		"xcode-select: error":                {0, 0},
		"git version 3.0":                    {3, 0},
	} {
		if major, minor := parseVersion(text); [2]int{major, minor} != want {
			t.Errorf("%q: got %d.%d, want %v", text, major, minor, want)
		}
	}
}
