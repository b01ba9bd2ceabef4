package theme

import (
	"slices"
	"strings"
)

// PatchFile is what a patch does to one file, without what git writes before the
// lines.
type PatchFile struct{ Name, Text string }

// gitHeads begin the lines that git writes before those of a file.
var gitHeads = []string{"+++ ", "--- ", "index ", "new file mode ", "deleted file mode "}

// SplitPatch cuts a patch of many files into one for each.
func SplitPatch(patch string) []PatchFile {
	var files []PatchFile
	var body strings.Builder
	flush := func() {
		if n := len(files); n > 0 {
			files[n-1].Text = body.String()
		}
		body.Reset()
	}
	inHead := false
	for _, line := range strings.Split(strings.TrimRight(patch, "\n"), "\n") {
		if strings.HasPrefix(line, "diff --git ") {
			flush()
			_, name, _ := strings.Cut(line, " b/")
			files = append(files, PatchFile{Name: Line(name)})
			inHead = true
			continue
		}
		if len(files) == 0 {
			if strings.TrimSpace(line) == "" {
				continue
			}
			files = append(files, PatchFile{})
			inHead = true
		}
		if inHead {
			if strings.HasPrefix(line, "+++ b/") || strings.HasPrefix(line, "--- a/") {
				files[len(files)-1].Name = Line(line[len("+++ b/"):])
				continue
			}
			if slices.ContainsFunc(gitHeads, func(head string) bool { return strings.HasPrefix(line, head) }) {
				continue
			}
			inHead = !strings.HasPrefix(line, "@@")
		}
		body.WriteString(line + "\n")
	}
	flush()
	return files
}
