package bundle

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Kind is the kind of an archive.
type Kind string

// The kinds of archives.
const (
	Zip   Kind = "zip"
	TarGz Kind = "tar.gz"
)

// KindOf is the kind that a file's name asks for.
func KindOf(name string) (Kind, error) {
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".zip"):
		return Zip, nil
	case strings.HasSuffix(lower, ".tar.gz"), strings.HasSuffix(lower, ".tgz"):
		return TarGz, nil
	}
	return "", fmt.Errorf("the name %s ends neither in .zip nor in .tar.gz", name)
}

// archive takes files one after another.
type archive interface {
	create(name string, size int64) (io.Writer, error)
	close() error
}

// newArchive begins an archive. All of its files have one time, that of the session.
func newArchive(w io.Writer, kind Kind, at time.Time) archive {
	at = at.UTC().Truncate(2 * time.Second) // what a zip can tell
	if kind == Zip {
		return &zipArchive{zip.NewWriter(w), at}
	}
	compressed := gzip.NewWriter(w)
	return &tarArchive{tar.NewWriter(compressed), compressed, at}
}

type zipArchive struct {
	w  *zip.Writer
	at time.Time
}

func (a *zipArchive) create(name string, _ int64) (io.Writer, error) {
	head := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: a.at}
	head.SetMode(0o600)
	return a.w.CreateHeader(head)
}

func (a *zipArchive) close() error { return a.w.Close() }

type tarArchive struct {
	w          *tar.Writer
	compressed *gzip.Writer
	at         time.Time
}

func (a *tarArchive) create(name string, size int64) (io.Writer, error) {
	head := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: size, ModTime: a.at, Format: tar.FormatPAX}
	return a.w, a.w.WriteHeader(head)
}

func (a *tarArchive) close() error { return errors.Join(a.w.Close(), a.compressed.Close()) }
