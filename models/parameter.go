package models

import "encoding/json"

// Parameter is a parameter of a request that belay itself has no use for, and
// passes on for who asks through it.
type Parameter struct {
	Name string        // as who asks knows it
	Wire map[API]Field // how each API says it; one that is not here cannot
}

// Field is a parameter as it goes over the wire; without a name it means nothing there.
type Field struct {
	Name  string
	Value json.RawMessage
}
