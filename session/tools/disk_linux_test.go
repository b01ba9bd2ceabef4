package tools

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestOutputsLeaveARealDiskItsReserve is also the process that fills a small disk,
// which it mounts where nothing else sees it.
func TestOutputsLeaveARealDiskItsReserve(t *testing.T) {
	if dir := os.Getenv("DISK_TEST_DIR"); dir != "" {
		fillDisk(t, dir)
		return
	}
	if os.Getuid() != 0 || exec.Command("unshare", "-m", "true").Run() != nil {
		t.Skip("nothing can be mounted here")
	}
	const script = `mount -t tmpfs -o size=20m none "$DISK_TEST_DIR" && exec "$0" -test.run='^TestOutputsLeaveARealDisk'`
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, os.Args[0])
	cmd.Env = append(os.Environ(), "DISK_TEST_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func fillDisk(t *testing.T, dir string) {
	files := 0
	f := outputFile{dir: dir, free: freeSpace, limit: 1 << 40, newID: func() string {
		files++
		return fmt.Sprint(files)
	}}
	piece := make([]byte, 64<<10)
	for f.cut == "" && !f.failed && f.kept < 30<<20 {
		f.write(piece)
	}
	free, total, ok := freeSpace(dir)
	if !ok || f.cut != cutDisk || free < total/10-diskCheckEvery || free > total/10+2*diskCheckEvery {
		t.Errorf("%q ended it with %d of %d bytes free, want about a tenth", f.cut, free, total)
	}
	next := outputFile{dir: dir, free: freeSpace, limit: 1 << 40, newID: func() string { return "next" }}
	if next.write(make([]byte, 2<<20)); next.cut != cutDisk || next.close() != "" {
		t.Errorf("the next one is kept (%q)", next.cut)
	}
}
