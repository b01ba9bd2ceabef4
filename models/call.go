package models

import (
	"encoding/json"
	"strings"
)

// The headers with which a patch names its file; see [Freeform].
const (
	PatchUpdate = "*** Update File: "
	PatchAdd    = "*** Add File: "
)

// CallPath is the path of the file that a call's arguments name, if they do: by
// itself, or at the head of a patch.
func CallPath(arguments string) string {
	var args struct{ Path, Patch string }
	if json.Unmarshal([]byte(arguments), &args) != nil || args.Path != "" {
		return args.Path // what is not JSON names nothing
	}
	for line := range strings.Lines(args.Patch) {
		for _, header := range []string{PatchUpdate, PatchAdd} {
			if path, ok := strings.CutPrefix(line, header); ok {
				return strings.TrimSpace(path)
			}
		}
	}
	return ""
}
