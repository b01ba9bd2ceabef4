// Package redact decides what in a text is a credential, and puts a mark in its
// place.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Mark stands where a credential was. Nobody else writes it, so that a model that writes
// back what it was shown can be told apart.
const Mark = "[redacted-by-belay]"

// minValue is the length below which a value is left alone: it would be found in
// every other text.
const minValue = 8

// likely are the forms of credentials that people and servers are known to repeat.
// What its first two groups hold stays.
var likely = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join([]string{
		`(\bbearer\s+)[^\s"',;<>]{4,}`,
		`\b(?:sk|pk|rk|gsk|xai|key|tok|hf|ghp|gho|ghs|ghu|github_pat|glpat|npm|nvapi|pplx|csk|xox[abps])` +
			`[-_][a-z0-9_\-*.]{8,}`,
		`\bAIza[a-z0-9_\-]{20,}`,
		`\bAKIA[a-z0-9]{16}\b`,
		`\beyJ[a-z0-9_\-]{10,}\.[a-z0-9_\-]{5,}(?:\.[a-z0-9_\-]*)?`,
		`((?:api[-_]?key|access[-_]?token|[?&](?:key|token))\s*["']?\s*[=:]\s*["']?)[a-z0-9_\-.]{8,}`,
		`(?s:-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z))`,
	}, "|"))
})

// identifier is a name in code that begins as some keys do, such as key_handlers.
var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?i:key|tok|sk|pk|rk|hf|npm)_[A-Za-z_]+$`) })

// Likely takes what looks like a credential out of a text.
func Likely(text string) string {
	var b strings.Builder
	at := 0
	for _, found := range likely().FindAllStringSubmatchIndex(text, -1) {
		if identifier().MatchString(text[found[0]:found[1]]) {
			continue
		}
		b.WriteString(text[at:found[0]])
		for group := 2; group < len(found); group += 2 {
			if found[group] >= 0 {
				b.WriteString(text[found[group]:found[group+1]])
			}
		}
		b.WriteString(Mark)
		at = found[1]
	}
	if at == 0 {
		return text
	}
	b.WriteString(text[at:])
	return b.String()
}

// Values are credentials that are known. Nil knows none.
type Values struct {
	forms    []string // each value in the forms in which it may be written, longest first
	replacer *strings.Replacer
}

// New knows values. Short ones are left out.
func New(values ...string) *Values {
	v := &Values{}
	for _, value := range values {
		if len(value) < minValue {
			continue
		}
		quoted, _ := json.Marshal(value)
		v.forms = append(v.forms, value, url.QueryEscape(value), url.PathEscape(value),
			string(bytes.Trim(quoted, `"`)), strings.ReplaceAll(string(bytes.Trim(quoted, `"`)), "/", `\/`),
			strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "="))
	}
	slices.SortFunc(v.forms, func(a, b string) int { return len(b) - len(a) })
	v.forms = slices.Compact(v.forms)
	var pairs []string
	for _, form := range v.forms {
		pairs = append(pairs, form, Mark)
	}
	v.replacer = strings.NewReplacer(pairs...)
	return v
}

// Text takes the values out of a text.
func (v *Values) Text(text string) string {
	if v == nil || len(v.forms) == 0 {
		return text
	}
	return v.replacer.Replace(text)
}

// Unfinished is the number of bytes at the end of a text that may be the beginning
// of a value: with what follows they have to be looked at again.
func (v *Values) Unfinished(text []byte) int {
	if v == nil {
		return 0
	}
	most := 0
	for _, form := range v.forms {
		for n := min(len(form)-1, len(text)); n > most; n-- {
			if string(text[len(text)-n:]) == form[:n] {
				most = n
				break
			}
		}
	}
	return most
}

// LooksRandom reports a value that stands for nothing but itself, such as a token: a
// word or a number would be found where no secret is meant.
func LooksRandom(value string) bool {
	const long = 16
	digits := strings.ContainsAny(value, "0123456789")
	letters := strings.ContainsFunc(value, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' })
	return len(value) >= long && digits && letters && !strings.ContainsAny(value, " \t\r\n/\\")
}
