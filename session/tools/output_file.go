package tools

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The bounds of what is kept of outputs.
const (
	maxOutputFile  = 64 << 20         // of one command
	maxOutputs     = 2 << 30          // of all; the oldest give way
	minOutputAge   = 10 * time.Minute // younger ones may still be written
	diskReserve    = 200 << 20        // that outputs leave free, or a tenth of a small disk
	diskCheckEvery = 1 << 20          // bytes written between two looks at the disk
)

// Why a file does not hold the whole output.
const (
	cutLong = "it is longer than what is kept of one command"
	cutDisk = "the disk is nearly full"
	cutRoom = "outputs of the last minutes fill the room there is for them"
)

// outputFile keeps the whole of an output on disk, as far as there is room.
type outputFile struct {
	dir   string // empty: nothing is kept
	newID func() string
	free  func(dir string) (free, total int64, ok bool)
	limit int64 // of all outputs

	file      *os.File
	kept      int64 // bytes in it
	nextCheck int64 // of the disk, when so many are kept
	cut       string
	failed    bool
}

// write adds to the file, which it makes for the first piece.
func (f *outputFile) write(p []byte) {
	if f.dir == "" || f.failed || f.cut != "" || len(p) == 0 {
		return
	}
	if f.file == nil && !f.create() {
		return
	}
	if f.kept+int64(len(p)) > maxOutputFile {
		f.cut = cutLong
		return
	}
	if f.kept+int64(len(p)) > f.nextCheck {
		if !f.leavesEnough(int64(len(p))) {
			f.cut = cutDisk
			return
		}
		f.nextCheck = f.kept + diskCheckEvery
	}
	n, err := f.file.Write(p)
	f.kept += int64(n)
	if err != nil {
		f.cut = cutDisk // what is there is good
	}
}

func (f *outputFile) create() bool {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		f.failed = true
		return false
	}
	if !makeRoom(f.dir, f.limit-maxOutputFile, time.Now().Add(-minOutputAge)) {
		f.cut = cutRoom
		return false
	}
	var err error
	f.file, err = os.OpenFile(filepath.Join(f.dir, f.newID()+".txt"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	f.failed = err != nil
	return err == nil
}

// leavesEnough says whether the disk can take so many bytes more and keep its reserve.
// One that does not tell is trusted.
func (f *outputFile) leavesEnough(more int64) bool {
	free, total, ok := f.free(f.dir)
	return !ok || free-more >= min(diskReserve, total/10)
}

// close gives the file's name; empty: nothing was kept.
func (f *outputFile) close() string {
	if f.file == nil {
		return ""
	}
	name := f.file.Name()
	if err := f.file.Close(); err != nil || f.kept == 0 {
		_ = os.Remove(name) // nothing that anybody would miss
		return ""
	}
	return name
}

// makeRoom removes the oldest outputs until all others take no more than the limit.
// Those that were written after a time stay: their commands may still run.
func makeRoom(dir string, limit int64, after time.Time) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true // writing will tell
	}
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			total += info.Size()
		}
	}
	if total <= limit {
		return true
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, file := range files {
		if total <= limit || file.ModTime().After(after) {
			break
		}
		err := os.Remove(filepath.Join(dir, file.Name()))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			total -= file.Size()
		}
	}
	return total <= limit
}
