package diagnose

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// errorObject is what an error object says, whatever its form.
type errorObject struct {
	code, kind, param, message, requestID string

	codes  []string // code, type and status words, most telling first
	texts  []string // every message in it
	delays []statedDelay
}

// statedDelay is a delay that stands in a field of the error object.
type statedDelay struct {
	value string
	unit  unit
}

type unit int

const (
	seconds unit = iota
	millis
	instant      // a Unix time or an RFC 3339 date
	durationText // as time.ParseDuration reads it
)

func (w errorObject) empty() bool {
	return w.code == "" && w.kind == "" && w.message == "" && len(w.codes) == 0 && len(w.texts) == 0
}

// read finds the error object in a reply or an event. Without one the result
// is empty.
func read(b []byte) errorObject {
	var object errorObject
	b = bytes.TrimSpace(b)
	if len(b) == 0 || len(b) > 16<<20 {
		return object
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return object
	}
	if list, ok := v.([]any); ok && len(list) > 0 { // Gemini wraps its errors in a list
		v = list[0]
	}
	top, ok := v.(map[string]any)
	if !ok {
		if s, ok := v.(string); ok {
			object.addText(s)
		}
		return object
	}
	object.readTop(top)
	return object
}

// readTop looks for the error object where the known servers put it.
func (w *errorObject) readTop(top map[string]any) {
	if response, ok := top["response"].(map[string]any); ok && top["error"] == nil { // response.failed
		top = response
		if status := text(top["status"]); status == "failed" && top["error"] == nil {
			w.codes = []string{"server_error"}
			return
		}
	}
	w.requestID = text(top["request_id"])
	w.addDelays(top)
	found := top["error"]
	if found == nil {
		found = top["errors"]
	}
	switch e := found.(type) {
	case map[string]any:
		w.readFields(e)
		return
	case []any:
		if len(e) > 0 {
			if m, ok := e[0].(map[string]any); ok {
				w.readFields(m)
			} else {
				w.addText(text(e[0]))
			}
		}
		return
	case string:
		if strings.HasPrefix(strings.TrimSpace(e), "{") { // an error object in a string
			w.mergeInner(read([]byte(e)))
		}
		if w.empty() {
			w.addText(e)
		}
		w.addCodes(text(top["code"]), text(top["error_type"]))
		w.addText(text(top["message"]))
		return
	}
	if top["detail"] != nil {
		w.readDetail(top["detail"])
		return
	}
	kind := text(top["type"])
	if kind == "error" || text(top["object"]) == "error" ||
		(top["message"] != nil && top["choices"] == nil && top["output"] == nil) {
		if kind == "error" {
			delete(top, "type")
		}
		w.readFields(top)
	}
}

func (w *errorObject) readDetail(v any) {
	switch d := v.(type) {
	case map[string]any:
		w.readFields(d)
	case []any:
		for _, one := range d {
			if m, ok := one.(map[string]any); ok {
				w.addText(cmp.Or(text(m["msg"]), text(m["message"])))
			}
		}
	default:
		w.addText(text(v))
	}
}

func (w *errorObject) readFields(e map[string]any) {
	w.code, w.kind, w.param = text(e["code"]), text(e["type"]), text(e["param"])
	w.requestID = cmp.Or(w.requestID, text(e["request_id"]))
	// Gemini has a number as code and the word in status.
	if s := text(e["status"]); s != "" && !isNumber(s) {
		w.addCodes(s)
		if w.code == "" || isNumber(w.code) {
			w.kind = cmp.Or(w.kind, s)
		}
	}
	w.addText(cmp.Or(text(e["message"]), text(e["msg"]), text(e["detail"])))
	w.addDelays(e)
	if inner, ok := e["innererror"].(map[string]any); ok { // Azure
		w.addCodes(text(inner["code"]))
	}
	if meta, ok := e["metadata"].(map[string]any); ok { // OpenRouter: what the provider behind it said
		raw := text(meta["raw"])
		if inner := read([]byte(raw)); !inner.empty() {
			w.mergeInner(inner)
		} else {
			w.addCodes(raw)
			w.addText(raw)
		}
		w.addDelays(meta)
	}
	details, _ := e["details"].([]any)
	for _, d := range details {
		m, ok := d.(map[string]any)
		if !ok {
			continue
		}
		w.addCodes(text(m["reason"]))
		if s := text(m["retryDelay"]); s != "" {
			w.delays = append(w.delays, statedDelay{s, durationText})
		}
		violations, _ := m["violations"].([]any)
		for _, v := range violations {
			if q, ok := v.(map[string]any); ok {
				w.texts = append(w.texts, text(q["quotaId"]), text(q["quotaMetric"]))
			}
		}
	}
	w.codes = append([]string{w.code, w.kind}, w.codes...)
}

// addDelays collects the delays that servers put beside an error.
func (w *errorObject) addDelays(m map[string]any) {
	for _, f := range []struct {
		name string
		unit unit
	}{
		{"retry_after_ms", millis}, {"retry_after_seconds", seconds}, {"retry_after", seconds},
		{"resets_in_seconds", seconds}, {"resets_at", instant},
	} {
		if s := text(m[f.name]); s != "" {
			w.delays = append(w.delays, statedDelay{s, f.unit})
		}
	}
}

func (w *errorObject) mergeInner(inner errorObject) {
	w.codes = append(w.codes, inner.codes...)
	w.texts = append(w.texts, inner.texts...)
	w.delays = append(w.delays, inner.delays...)
	w.code, w.kind, w.param = cmp.Or(w.code, inner.code), cmp.Or(w.kind, inner.kind), cmp.Or(w.param, inner.param)
	w.message = cmp.Or(w.message, inner.message)
}

func (w *errorObject) addText(s string) {
	if s = strings.TrimSpace(s); s != "" {
		w.message = cmp.Or(w.message, s)
		w.texts = append(w.texts, s)
	}
}

func (w *errorObject) addCodes(codes ...string) {
	for _, c := range codes {
		if c != "" {
			w.codes = append(w.codes, c)
		}
	}
}

// text gives strings and numbers as text, and nothing for the rest.
func text(v any) string {
	switch s := v.(type) {
	case string:
		return s
	case json.Number:
		return s.String()
	}
	return ""
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}
