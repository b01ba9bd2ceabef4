package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

const addressHint = "write an address such as https://api.openai.com/v1"

// checkAddress checks a base_url: what is wrong with it would otherwise come back as
// a failure of the network, or of the model. Its problems repeat no more than
// what cannot hold a password.
func checkAddress(v any) (problem, hint string) {
	text := v.(string)
	if problem := foreignSign(text); problem != "" {
		return problem, addressHint
	}
	u, err := url.Parse(text)
	switch {
	case doubledScheme.MatchString(text):
		return "begins with http:// twice", addressHint
	case !strings.Contains(text, "//") && withoutScheme.MatchString(text):
		return "has no scheme before its host", "put https:// before it, or http:// for a server of your own"
	case err != nil:
		return "is not an address", addressHint // the error would repeat what may hold a password
	case u.Scheme != "http" && u.Scheme != "https" || !isHost(u):
		return fmt.Sprintf("%.80q is not an address", withoutUser(text)), addressHint
	case u.RawQuery != "" || u.Fragment != "":
		return "an address with ? or # cannot be gone on from", addressHint
	}
	return addressPath(u.Path)
}

var (
	doubledScheme = regexp.MustCompile(`(?i)^\s*https?:?/*https?:?/`)
	withoutScheme = regexp.MustCompile(`^(?i:localhost|[\w-]+(\.[\w-]+)+)(:\d+)?(/|$)`)
)

// foreignSign names a sign that belongs neither into an address nor into a key,
// such as the rest of a line that was pasted; empty: there is none.
func foreignSign(text string) string {
	for _, r := range text {
		switch {
		case r == '\r' || r == '\n':
			return "holds a line end"
		case unicode.IsSpace(r):
			return "holds a space"
		case unicode.In(r, unicode.Cc, unicode.Cf):
			return fmt.Sprintf("holds an invisible character (U+%04X)", r)
		case strings.ContainsRune("\"'`“”„‘’«»", r):
			return "holds a quotation mark"
		}
	}
	return ""
}

func isHost(u *url.URL) bool {
	host := u.Hostname()
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return false
		}
	}
	return host != "" && !strings.HasSuffix(u.Host, ":") && !strings.HasPrefix(host, ".") && !strings.Contains(host, "..")
}

// requestPaths are what a base_url is followed by, longest first.
var requestPaths = []string{"/chat/completions", "/completions", "/responses", "/messages", "/models"}

// addressPath checks what follows the host.
func addressPath(path string) (problem, hint string) {
	path = strings.TrimRight(path, "/")
	for _, end := range requestPaths {
		if strings.HasSuffix(path, end) {
			return "ends in " + end + ", which is added to it", "end it before " + end
		}
	}
	if strings.Contains(path, "//") {
		return "has a doubled slash in its path", addressHint
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for size := 1; size <= len(parts)/2; size++ {
		tail := strings.Join(parts[len(parts)-size:], "/")
		before := strings.Join(parts[len(parts)-2*size:len(parts)-size], "/")
		if tail == before && versionPath.MatchString(tail) {
			return fmt.Sprintf("ends in %.40q twice", "/"+tail), "write it once"
		}
	}
	return "", ""
}

var versionPath = regexp.MustCompile(`(^|/)v\d+\w*$`)

// KeyProblem says what in an API key cannot belong to it, without a part of the
// key: it was pasted with its quotation marks, or read with the line's end.
// Empty: nothing is.
func KeyProblem(key string) string {
	if problem := foreignSign(key); problem != "" {
		return problem
	}
	for _, r := range key {
		if r > unicode.MaxASCII {
			return fmt.Sprintf("holds a character that no key has (U+%04X)", r)
		}
	}
	if name, _, ok := strings.Cut(key, "="); ok && variablePattern.MatchString(name) && strings.HasSuffix(name, "_KEY") {
		return "begins with the name of a variable"
	}
	return ""
}

// checkQueueURL checks the address of the queue. It may hold a password, so nothing
// of it is repeated.
func checkQueueURL(v any) (problem, hint string) {
	text := string(v.(Secret))
	if text == "" {
		return "", ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" && u.Query().Get("host") == "" {
		return "is not the address of a PostgreSQL server", `such as "postgres://user@host/database"; empty: a file beside the sessions`
	}
	return "", ""
}
