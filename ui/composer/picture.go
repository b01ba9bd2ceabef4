package composer

import (
	"net/url"
	"path"
	"strings"
)

// isPicture reports whether a file is a picture by its name.
func isPicture(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return true
	}
	return false
}

// Mention is how a file is mentioned, also one with spaces in its name.
func Mention(file string) string {
	if strings.ContainsAny(file, " \t()@,;") {
		return `@"` + file + `"`
	}
	return "@" + file
}

// Dropped reads what a terminal pastes when pictures are dropped on it: their full
// paths, quoted, escaped or as addresses. It gives them as mentions.
func Dropped(pasted string) (mentions string, ok bool) {
	words := shellWords(strings.TrimSpace(pasted))
	if len(words) == 0 {
		return "", false
	}
	for i, word := range words {
		if address, found := strings.CutPrefix(word, "file://"); found {
			decoded, err := url.PathUnescape(strings.TrimPrefix(address, "localhost"))
			if err != nil {
				return "", false
			}
			word = decoded
		}
		full := strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~/") || len(word) > 2 && word[1:3] == `:\`
		if !full || !isPicture(word) || strings.ContainsAny(word, "\"\n") {
			return "", false
		}
		words[i] = Mention(word)
	}
	return strings.Join(words, " ") + " ", true
}

// shellWords parts words as a shell does, as far as terminals write them.
func shellWords(text string) []string {
	var words []string
	var word strings.Builder
	quote, begun := rune(0), false
	runes := []rune(text)
	windows := len(runes) > 2 && runes[1] == ':' && runes[2] == '\\'
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == '\\' && !windows && i+1 < len(runes):
			i++
			word.WriteRune(runes[i])
			begun = true
		case r == ' ' || r == '\n' || r == '\t':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}
