package steps

import (
	"slices"
	"strings"

	"belay/ui/theme"
)

// patchFile is what a patch does to one file, without what git writes before the
// lines.
type patchFile struct{ name, text string }

// gitHeads begin the lines that git writes before those of a file.
var gitHeads = []string{"+++ ", "--- ", "index ", "new file mode ", "deleted file mode "}

// splitPatch cuts a patch of many files into one for each.
func splitPatch(patch string) []patchFile {
	var files []patchFile
	var body strings.Builder
	flush := func() {
		if n := len(files); n > 0 {
			files[n-1].text = body.String()
		}
		body.Reset()
	}
	inHead := false
	for _, line := range strings.Split(strings.TrimRight(patch, "\n"), "\n") {
		if strings.HasPrefix(line, "diff --git ") {
			flush()
			_, name, _ := strings.Cut(line, " b/")
			files = append(files, patchFile{name: theme.Line(name)})
			inHead = true
			continue
		}
		if len(files) == 0 {
			if strings.TrimSpace(line) == "" {
				continue
			}
			files = append(files, patchFile{})
			inHead = true
		}
		if inHead {
			if strings.HasPrefix(line, "+++ b/") || strings.HasPrefix(line, "--- a/") {
				files[len(files)-1].name = theme.Line(line[len("+++ b/"):])
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
