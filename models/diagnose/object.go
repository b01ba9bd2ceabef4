package diagnose

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// errorObject is what an error object says, whatever its form.
type errorObject struct {
	code, kind, param, message, requestID string

	codes  []string // code, reason, type and status words, most telling first
	texts  []string // every message in it
	delays []statedDelay
	header http.Header // of the provider behind a relay

	failedCall bool // it holds what the model wrote in a call's place
	moderated  bool // it says what the filter objected to

	window, tokens int64 // in fields of their own; 0: not there
}

func (w errorObject) empty() bool {
	return w.code == "" && w.kind == "" && w.message == "" && len(w.codes) == 0 && len(w.texts) == 0
}

// read finds the error object in a reply or an event. Without one the result
// is empty.
func read(b []byte) errorObject {
	var object errorObject
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\ufeff")))
	if len(b) == 0 || len(b) > 16<<20 {
		return object
	}
	if isMarkup(b) {
		object.addText(plainText(string(b[:min(len(b), maxRead)])))
		return object
	}
	v, ok := decode(eventData(b))
	if !ok {
		return object
	}
	if list, ok := v.([]any); ok && len(list) > 0 { // Gemini wraps its errors in a list
		v = list[0]
	}
	switch v := v.(type) {
	case map[string]any:
		object.readTop(v)
	case string:
		object.addText(v)
	}
	return object
}

func decode(b []byte) (any, bool) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err == nil
}

// eventData is the data of the first event, for errors that come as a stream.
func eventData(b []byte) []byte {
	if b[0] == '{' || b[0] == '[' || b[0] == '"' {
		return b
	}
	for line := range bytes.Lines(b[:min(len(b), maxRead)]) {
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); ok {
			return data
		}
	}
	return b
}

// messageFields are where servers put their words, codeFields where a code.
var (
	messageFields = []string{
		"message", "msg", "detail", "error_description", "error_message", "error_msg", "errorMessage", "status_msg",
		"reason", "title", "description",
	}
	codeFields = []string{"code", "error_code", "errorCode", "error_type", "http_code", "statusCode", "status_code"}
)

// readTop looks for the error object where the known servers put it.
func (w *errorObject) readTop(top map[string]any) {
	if response, ok := top["response"].(map[string]any); ok && top["error"] == nil { // response.failed
		top = response
		if status := text(top["status"]); status == "failed" && top["error"] == nil {
			w.codes = []string{"server_error"}
			return
		}
	}
	top = lowered(top)
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
		w.readList(e)
		return
	case string:
		w.readWord(e, top)
		return
	}
	if base, ok := top["base_resp"].(map[string]any); ok && text(base["status_code"]) != "0" { // MiniMax
		w.readFields(base)
		return
	}
	reply := top["choices"] != nil || top["output"] != nil
	if kind := text(top["type"]); kind == "error" || text(top["object"]) == "error" ||
		!reply && slices.ContainsFunc(messageFields, func(name string) bool { return top[name] != nil }) {
		if kind == "error" {
			delete(top, "type")
		}
		w.readFields(top)
	}
}

// readList reads the first error of a list, and the words of the others.
func (w *errorObject) readList(list []any) {
	for i, one := range list {
		if m, ok := one.(map[string]any); ok && i == 0 {
			w.readFields(m)
			continue
		}
		w.addText(words(one))
	}
}

// readWord reads an error that is a string: an object within it, a sentence, or
// a code with the sentence beside it.
func (w *errorObject) readWord(word string, top map[string]any) {
	if strings.HasPrefix(strings.TrimSpace(word), "{") {
		w.mergeInner(read([]byte(word)))
	}
	beside := firstWords(top)
	if !w.empty() || beside == "" {
		w.addText(word)
	} else {
		w.addText(beside)
		if strings.ContainsAny(strings.TrimSpace(word), " \t") {
			w.addText(word)
		} else {
			w.addCodes(word)
		}
	}
	for _, name := range codeFields {
		w.addCodes(text(top[name]))
	}
	w.readMetadata(top)
}

func (w *errorObject) readFields(e map[string]any) {
	e = lowered(e)
	for _, name := range codeFields {
		w.code = cmp.Or(w.code, text(e[name]))
	}
	w.kind, w.param = text(e["type"]), text(e["param"])
	w.requestID = cmp.Or(w.requestID, text(e["request_id"]))
	// Gemini has a number as code and the word in status.
	status := text(e["status"])
	if status != "" && !isNumber(status) && (w.code == "" || isNumber(w.code)) {
		w.kind = cmp.Or(w.kind, status)
	}
	w.addText(firstWords(e))
	w.addDelays(e)
	if inner, ok := e["innererror"].(map[string]any); ok { // Azure
		w.addCodes(text(inner["code"]))
	}
	if inner, ok := e["error"].(map[string]any); ok { // one in another
		var nested errorObject
		nested.readFields(inner)
		w.mergeInner(nested)
	}
	w.readMetadata(e)
	reasons := w.readDetails(e["details"])
	w.codes = slices.Concat(nonEmpty(w.code), reasons, nonEmpty(w.kind, status), w.codes)
}

// readMetadata reads what stands beside the words: what a provider behind a
// relay said, what a filter found, what the model wrote, and how much fits.
func (w *errorObject) readMetadata(e map[string]any) {
	_, w.failedCall = e["failed_generation"]
	w.window, w.tokens = whole(e["n_ctx"]), whole(e["n_prompt_tokens"])
	meta, ok := e["metadata"].(map[string]any)
	if !ok {
		return
	}
	w.addDelays(meta)
	w.moderated = meta["flagged_input"] != nil || meta["reasons"] != nil
	if fields, ok := meta["headers"].(map[string]any); ok {
		w.header = http.Header{}
		for name, value := range fields {
			w.header.Set(name, text(value))
		}
	}
	raw := text(meta["raw"])
	var inner errorObject
	if m, ok := meta["raw"].(map[string]any); ok {
		inner.readTop(m)
	} else if inner = read([]byte(raw)); inner.empty() && raw != "" {
		inner.addCodes(raw)
		inner.addText(raw)
	}
	said := w.message
	w.mergeInner(inner)
	if said != "" && inner.message != "" && !strings.Contains(said, inner.message) {
		w.message = introduced(said, inner.message)
	}
}

// readDetails reads Google's details and gives the reasons among them.
func (w *errorObject) readDetails(v any) (reasons []string) {
	details, _ := v.([]any)
	for _, d := range details {
		m, ok := d.(map[string]any)
		if !ok {
			continue
		}
		reasons = append(reasons, nonEmpty(text(m["reason"]))...)
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
	return reasons
}

// addDelays collects the delays that servers put beside an error.
func (w *errorObject) addDelays(m map[string]any) {
	for _, f := range []struct {
		name string
		unit unit
	}{
		{"retry_after_ms", millis}, {"retry_after_seconds", seconds}, {"retry_after", seconds},
		{"retryafter", seconds}, {"retrydelay", durationText}, {"resets_in_seconds", seconds}, {"resets_at", instant},
		{"reset_at", instant},
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
	w.failedCall, w.moderated = w.failedCall || inner.failedCall, w.moderated || inner.moderated
	w.window, w.tokens = cmp.Or(w.window, inner.window), cmp.Or(w.tokens, inner.tokens)
}

// addText adds a message, and what an error object within it says.
func (w *errorObject) addText(s string) {
	if s = strings.TrimSpace(s); s == "" {
		return
	}
	w.texts = append(w.texts, s)
	i := strings.IndexByte(s, '{')
	if i < 0 || len(s) > maxRead {
		w.message = cmp.Or(w.message, s)
		return
	}
	inner := errorObject{}
	if v, ok := decode([]byte(s[i:])); ok && isError(v) {
		inner.readTop(v.(map[string]any))
	}
	if inner.message != "" { // the words before the object introduce it
		s = introduced(s[:i], inner.message)
	}
	w.message = cmp.Or(w.message, s)
	w.mergeInner(inner)
}

// introduced puts what a relay says before what its provider said.
func introduced(relay, said string) string {
	if relay = strings.TrimRight(relay, ".:- \n"); relay == "" {
		return said
	}
	return relay + ": " + said
}

// isError reports whether what was found in a text is an error object, and not
// a part of what was asked or answered.
func isError(v any) bool {
	m, _ := v.(map[string]any)
	return m["error"] != nil || m["message"] != nil && (m["code"] != nil || m["type"] != nil || m["status"] != nil)
}

func (w *errorObject) addCodes(codes ...string) { w.codes = append(w.codes, nonEmpty(codes...)...) }

func nonEmpty(list ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// lowered is an object with its keys in lower case too, for those who write
// Message and Code.
func lowered(m map[string]any) map[string]any {
	all := make(map[string]any, len(m))
	for name, value := range m {
		if lower := strings.ToLower(name); m[lower] == nil {
			all[lower] = value
		}
		all[name] = value
	}
	return all
}

// firstWords is the message of an object.
func firstWords(m map[string]any) string {
	for _, name := range messageFields {
		if s := words(m[name]); s != "" {
			return s
		}
	}
	return ""
}

// words gives the text of a message that is a string, an object or a list.
func words(v any) string {
	switch v := v.(type) {
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, nonEmpty(words(one))...)
		}
		return strings.Join(all, "; ")
	case map[string]any:
		said := firstWords(v)
		if said == "" && len(v) > 0 {
			raw, _ := json.Marshal(v) // what json has read can be written
			return string(raw)
		}
		if place, ok := v["loc"].([]any); ok && said != "" { // where validation failed
			return strings.ReplaceAll(words(place), "; ", ".") + ": " + said
		}
		return said
	}
	return text(v)
}

// text gives strings and numbers as text, and nothing for the rest.
func text(v any) string {
	switch s := v.(type) {
	case string:
		return strings.TrimSpace(s)
	case json.Number:
		return s.String()
	}
	return ""
}

func whole(v any) int64 {
	n, err := strconv.ParseInt(text(v), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}
