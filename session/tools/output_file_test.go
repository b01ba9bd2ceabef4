package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOutputsLeaveTheDiskItsReserve(t *testing.T) {
	const mb = 1 << 20
	for _, tt := range []struct {
		name        string
		free, total int64 // before anything is written
		unknown     bool
		size        int64
		kept        int64
		note        string
	}{
		{"a disk with room", 1000 * mb, 10_000 * mb, false, 3 * mb, 3 * mb, "all of it is in"},
		{"a disk that fills up", 202 * mb, 10_000 * mb, false, 10 * mb, 2 * mb, "the disk is nearly full"},
		{"a full disk", 100 * mb, 10_000 * mb, false, 10 * mb, 0, "not kept: the disk is nearly full"},
		{"a small disk", 9 * mb, 50 * mb, false, 3 * mb, 3 * mb, "all of it is in"},
		{"a small disk that fills up", 6 * mb, 50 * mb, false, 3 * mb, mb, "the disk is nearly full"},
		{"a disk that does not tell", 0, 0, true, 3 * mb, 3 * mb, "all of it is in"},
		{"an endless output", 1000 * mb, 10_000 * mb, false, 70 * mb, 64 * mb, "longer than what is kept"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			o := newOutput(dir, func() string { return "1" }, nil, nil)
			o.file.free = func(string) (int64, int64, bool) { return tt.free - o.file.kept, tt.total, !tt.unknown }
			piece := []byte(strings.Repeat("0123456789abcdef", 4096))
			for n := int64(0); n < tt.size; n += int64(len(piece)) {
				_, _ = o.Write(piece) // never fails
			}
			text, file := o.close()
			size := int64(0)
			if info, err := os.Stat(filepath.Join(dir, "1.txt")); err == nil {
				size = info.Size()
			}
			if (file == "") != (size == 0) || size > tt.kept || size < tt.kept-2*diskCheckEvery {
				t.Errorf("%d bytes are kept in %q, want about %d", size, file, tt.kept)
			}
			if !strings.Contains(text, tt.note) {
				t.Errorf("the note lacks %q: %q", tt.note, text[maxOutputHead:min(len(text), maxOutputHead+200)])
			}
		})
	}
}

func TestTheOldestOutputsGiveWay(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		name  string
		ages  []time.Duration // of files of 10 bytes
		limit int64
		left  string
		room  bool
	}{
		{"room for all", []time.Duration{time.Hour, 2 * time.Hour}, 20, "0 1", true},
		{"the oldest goes", []time.Duration{time.Hour, 3 * time.Hour, 2 * time.Hour}, 20, "0 2", true},
		{"all of them", []time.Duration{time.Hour, 2 * time.Hour}, 5, "", true},
		{"what is written now stays", []time.Duration{time.Second, time.Hour, time.Minute}, 15, "0 2", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for n, age := range tt.ages {
				name := filepath.Join(dir, fmt.Sprint(n))
				if err := os.WriteFile(name, []byte("0123456789"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(name, now.Add(-age), now.Add(-age)); err != nil {
					t.Fatal(err)
				}
			}
			room := makeRoom(dir, tt.limit, now.Add(-minOutputAge))
			var left []string
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				left = append(left, e.Name())
			}
			if got := strings.Join(left, " "); got != tt.left || room != tt.room {
				t.Errorf("left %q, room %v; want %q, %v", got, room, tt.left, tt.room)
			}
		})
	}
}
