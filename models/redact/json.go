package redact

import (
	"bytes"
	"encoding/json"
)

// JSON changes the strings of a JSON document, names included, and nothing else: a
// pattern that is looked for in the document itself could take a quotation mark with
// it.
func JSON(document []byte, change func(string) string) []byte {
	var out []byte
	at := 0 // up to where document is in out
	for begin := bytes.IndexByte(document, '"'); begin >= 0; {
		end := closingQuote(document, begin)
		literal := document[begin:end]
		var text string
		if json.Unmarshal(literal, &text) == nil {
			if changed := change(text); changed != text {
				quoted, _ := json.Marshal(changed)
				out = append(append(out, document[at:begin]...), quoted...)
				at = end
			}
		}
		next := bytes.IndexByte(document[end:], '"')
		if next < 0 {
			break
		}
		begin = end + next
	}
	if at == 0 {
		return document
	}
	return append(out, document[at:]...)
}

// closingQuote is where the string ends that begins at a place.
func closingQuote(document []byte, begin int) int {
	for i := begin + 1; i < len(document); i++ {
		switch document[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(document)
}
