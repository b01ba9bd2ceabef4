package snapshot

import (
	"fmt"
	"strings"
	"testing"
)

// large makes a workspace of 20,000 files.
func large(b *testing.B) *place {
	b.Helper()
	p := newPlace(b)
	files := map[string]string{}
	for i := range 20_000 {
		files[fmt.Sprintf("d%d/s%d/f%d.go", i%20, i%400, i)] = fmt.Sprintf("package x%d\n", i) + strings.Repeat(
			"func a() { return }\n",
			i%150,
		)
	}
	p.write(files)
	return p
}

func BenchmarkTakeFirst(b *testing.B) {
	p := large(b)
	for b.Loop() {
		b.StopTimer()
		p = placeAt(b, p.root, b.TempDir())
		b.StartTimer()
		p.take()
	}
}

func BenchmarkTake(b *testing.B) {
	for name, repository := range map[string]bool{"alone": false, "in a repository": true} {
		b.Run(name, func(b *testing.B) {
			p := large(b)
			if repository {
				p.git("init", "-q")
				p.git("add", ".")
			}
			p.take()
			for i := 0; b.Loop(); i++ {
				p.write(map[string]string{
					"d1/s1/f1.go": fmt.Sprint(i),
					"d7/new.go":   fmt.Sprint(i),
					"d9/s9/f9.go": fmt.Sprint(i),
				})
				p.take()
			}
		})
	}
}

func BenchmarkRestore(b *testing.B) {
	p := large(b)
	ids := []string{p.take().ID}
	p.write(map[string]string{"d1/s1/f1.go": "x", "d7/new.go": "x", "d9/s9/f9.go": "x"})
	ids = append(ids, p.take().ID)
	for i := 0; b.Loop(); i++ {
		p.rewind(ids[i%2], ids[(i+1)%2])
	}
}

func BenchmarkDiff(b *testing.B) {
	p := large(b)
	from := p.take().ID
	p.write(map[string]string{"d1/s1/f1.go": "x", "d7/new.go": "x", "d9/s9/f9.go": "x"})
	to := p.take().ID
	for b.Loop() {
		if _, err := p.Diff(b.Context(), from, to); err != nil {
			b.Fatal(err)
		}
	}
}
