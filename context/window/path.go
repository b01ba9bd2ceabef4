package window

import "encoding/json"

// pathOf is the path that a call's arguments name, if they do.
func pathOf(arguments string) string {
	var args struct{ Path string }
	_ = json.Unmarshal([]byte(arguments), &args) // what is not JSON names nothing
	return args.Path
}
