package session

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTitle is how many runes of a first prompt make a title at most.
const maxTitle = 80

// polite are words at the beginning of a prompt that say nothing of the task, the
// longer ones in front.
var polite = []string{
	"i would like you to", "i'd like you to", "i want you to", "i need you to", "would you please", "could you please",
	"can you please", "would you mind", "would you", "could you", "can you", "will you", "please", "kindly",
	"hello", "hi there", "hi", "hey", "ok", "okay", "so", "now", "let's", "lets", "just",
}

// politeEnds are the same at its end.
var politeEnds = []string{"thank you", "thanks", "please"}

// titleOf makes a title of a first prompt: its first words, without politeness, and
// of paths only the last name. What is nothing but that stays as it is.
func titleOf(prompt string) string {
	line := firstLine(prompt)
	words := strings.Fields(line)
	for i, word := range words {
		words[i] = withoutFolders(word)
	}
	title := withoutPoliteness(strings.Join(words, " "))
	if title == "" {
		title = line
	}
	return shortened(title)
}

// withoutFolders is the last name of a path; other words stay.
func withoutFolders(word string) string {
	start := strings.IndexFunc(word, func(r rune) bool { return !strings.ContainsRune("\"'`(@<", r) })
	end := strings.LastIndexFunc(word, func(r rune) bool { return !strings.ContainsRune("\"'`),.;:!?>", r) })
	if start < 0 || end < start {
		return word
	}
	_, size := utf8.DecodeRuneInString(word[end:])
	inner := word[start : end+size]
	rooted := strings.HasPrefix(inner, "/") || strings.HasPrefix(inner, "~/") || strings.HasPrefix(inner, "./") ||
		strings.HasPrefix(inner, "../") || len(inner) > 2 && inner[1] == ':' && inner[2] == '\\'
	deep := strings.Count(inner, "/") > 1 && !strings.Contains(inner, "://")
	mentioned := strings.HasPrefix(word[:start], "@")
	if !rooted && !deep && !mentioned {
		return word
	}
	name := path.Base(strings.ReplaceAll(inner, `\`, "/"))
	if name == "/" || name == "." || name == ".." || name == "~" {
		return word
	}
	return strings.TrimLeft(word[:start], "@") + name + word[end+size:]
}

func withoutPoliteness(title string) string {
	for changed := true; changed; {
		changed = false
		for _, phrase := range polite {
			if rest, ok := cutWords(title, phrase); ok {
				title, changed = rest, true
			}
		}
	}
	title = strings.TrimRight(title, " .!?,")
	for _, phrase := range politeEnds {
		if at := len(title) - len(phrase); at > 0 && strings.EqualFold(title[at:], phrase) &&
			strings.ContainsRune(" ,.", rune(title[at-1])) {
			title = strings.TrimRight(title[:at], " .!?,")
		}
	}
	return title
}

// cutWords takes a phrase off the beginning of a text, in any case, if a word ends
// there.
func cutWords(text, phrase string) (string, bool) {
	if len(text) < len(phrase) || !strings.EqualFold(text[:len(phrase)], phrase) {
		return text, false
	}
	rest := text[len(phrase):]
	if rest != "" && !slices.Contains([]byte(" ,.!"), rest[0]) {
		return text, false
	}
	return strings.TrimLeft(rest, " ,.!"), true
}

// shortened cuts a title between words where it is long.
func shortened(title string) string {
	if utf8.RuneCountInString(title) <= maxTitle {
		return title
	}
	runes := []rune(title)[:maxTitle-1]
	for cut := len(runes) - 1; cut > maxTitle/2; cut-- {
		if unicode.IsSpace(runes[cut]) {
			runes = runes[:cut]
			break
		}
	}
	return strings.TrimRight(string(runes), " ,.") + "…"
}
