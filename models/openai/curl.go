package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"belay/models"
	"belay/models/redact"
)

// Curl is a request as a command for a shell that sends the same. The key and
// the headers of the settings are named as variables, and what looks like a
// credential in the conversation is left out, so that it can be shown to others.
func (c *Client) Curl(target models.Target, req models.Request) (string, error) {
	try, sent, err := c.write(target, req)
	if err != nil {
		return "", err
	}
	return try.curl(sent.request, plainJSON(sent.body)), nil
}

// Body is a request as the target would get it, without what Curl leaves out.
func (c *Client) Body(target models.Target, req models.Request) ([]byte, error) {
	_, sent, err := c.write(target, req)
	if err != nil {
		return nil, err
	}
	return []byte(plainJSON(sent.body)), nil
}

// write writes a request down in place of sending it.
func (c *Client) write(target models.Target, req models.Request) (*attempt, *capture, error) {
	sent := &capture{}
	own := Client{
		lookup:    c.lookup,
		http:      &http.Client{Transport: sent},
		model:     c.model,
		memory:    c.memory,
		id:        c.id,
		now:       c.now,
		userAgent: c.userAgent,
		timeouts:  c.timeouts,
	}
	own.providers.Store(c.providers.Load())
	try, fault := own.attempt(context.Background(), target)
	if fault != nil {
		return nil, nil, fault
	}
	defer try.close()
	_, err := try.send(req)
	if sent.request == nil {
		return nil, nil, fmt.Errorf("write the request down: %w", err)
	}
	known := redact.New(try.provider.Key)
	sent.body = redact.JSON(sent.body, func(text string) string { return redact.Likely(known.Text(text)) })
	return try, sent, nil
}

// maxArgument is the most that systems take in one argument of a command, in
// bytes, less some room.
const maxArgument = 100_000

func (a *attempt) curl(r *http.Request, body string) string {
	lines := []string{"curl -N " + quote(address(r.URL))}
	if a.provider.Key != "" || a.provider.KeyEnv != "" && !a.provider.Local {
		lines = append(lines, fmt.Sprintf(`-H "Authorization: Bearer $%s"`, cmp.Or(a.provider.KeyEnv, "API_KEY")))
	}
	secret := map[string]bool{"Authorization": true}
	for _, name := range slices.Sorted(maps.Keys(a.provider.Headers)) {
		secret[http.CanonicalHeaderKey(name)] = true
		lines = append(lines, fmt.Sprintf(`-H "%s: $%s"`, name, variable(name)))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if !secret[name] {
			lines = append(lines, "-H "+quote(name+": "+r.Header.Get(name)))
		}
	}
	if len(body) > maxArgument {
		return "printf %s " + quote(body) + " |\n" + strings.Join(append(lines, "--data-binary @-"), " \\\n  ")
	}
	return strings.Join(append(lines, "--data-binary "+quote(body)), " \\\n  ")
}

// quote writes a text as one word of a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// variable is a header's name as a shell can name a variable.
func variable(header string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(header))
}

// plainJSON is the same document on one line, in which nothing steers a
// terminal: it quotes what models and files have said.
func plainJSON(body []byte) string {
	var compact bytes.Buffer
	if json.Compact(&compact, body) == nil {
		body = compact.Bytes()
	}
	var b strings.Builder
	for _, r := range string(body) {
		switch {
		case !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// errCaptured ends an exchange that was only to be written down.
var errCaptured = errors.New("not sent")

// capture is a transport that keeps the request and sends nothing.
type capture struct {
	request *http.Request
	body    []byte
}

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	c.request, c.body = r, body
	return nil, errCaptured
}
