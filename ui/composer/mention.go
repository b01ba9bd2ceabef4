package composer

import (
	"path"
	"regexp"
	"strings"

	"github.com/sahilm/fuzzy"
)

// SetFiles gives the paths that can be mentioned.
func (p *Pane) SetFiles(files []string) {
	p.files = files
	p.updatePopup()
}

// Mentioning reports whether a file is being named, so that the list of files
// is needed.
func (p *Pane) Mentioning() bool {
	_, ok := p.mention()
	return ok
}

// mention is the word after the @ before the cursor.
func (p *Pane) mention() (word string, ok bool) {
	before := p.beforeCursor()
	at := strings.LastIndexByte(before, '@')
	if at < 0 || at > 0 && !strings.ContainsRune(" (\t", rune(before[at-1])) {
		return "", false
	}
	word = before[at+1:]
	return word, !strings.ContainsAny(word, " \t:")
}

// matchingFiles lists what may be meant by the word after an @, the folders of the
// files included.
func (p *Pane) matchingFiles(word string) []string {
	if word == "" {
		return p.files[:min(maxPopup, len(p.files))]
	}
	var found []string
	for _, m := range fuzzy.Find(word, p.files) {
		if m.Str == word {
			return nil
		}
		if found = append(found, m.Str); len(found) == maxPopup {
			break
		}
	}
	return found
}

var mentioned = regexp.MustCompile(`(?:^|[\s(])@([^\s@()]+)`)

// Pictures lists the images that a text mentions.
func Pictures(text string) []string {
	var out []string
	for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
		switch strings.ToLower(path.Ext(m[1])) {
		case ".png", ".jpg", ".jpeg", ".gif", ".webp":
			out = append(out, m[1])
		}
	}
	return out
}
