package composer

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"
)

// SetFiles gives the paths that can be mentioned.
func (p *Pane) SetFiles(files []string) {
	p.files = append(folders(files), files...)
	p.updatePopup()
}

// folders lists the folders of files, each with a slash at its end.
func folders(files []string) []string {
	known := map[string]bool{}
	for _, file := range files {
		for dir := path.Dir(file); dir != "." && !path.IsAbs(dir) && !known[dir+"/"]; dir = path.Dir(dir) {
			known[dir+"/"] = true
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// UnknownFiles lists what a text mentions as a file and is none, as far as the files
// were listed.
func (p *Pane) UnknownFiles(text string) []string {
	var unknown []string
	for _, file := range mentionedFiles(text) {
		name, _, _ := strings.Cut(strings.TrimRight(file, ".,;!?"), ":")
		if len(p.files) > 0 && path.Ext(name) != "" && !path.IsAbs(name) && !strings.HasPrefix(name, "~") &&
			!slices.Contains(p.files, name) && !slices.Contains(p.files, name+"/") {
			unknown = append(unknown, name)
		}
	}
	return unknown
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

// joinRange takes the space away that was put behind the name of a file, when a range of
// its lines follows: @a.go:20-45.
func (p *Pane) joinRange(typed string) {
	if p.spaced && typed == ":" {
		p.area, _ = p.area.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	p.spaced = false
}

// matchingFiles lists what may be meant by the word after an @, the folders of the
// files included.
func (p *Pane) matchingFiles(word string) []string {
	if word == "" {
		return p.files[:min(maxPopup, len(p.files))]
	}
	if strings.HasSuffix(word, "/") { // in a folder its files come first
		var inside []string
		for _, file := range p.files {
			if strings.HasPrefix(file, word) && file != word && len(inside) < maxPopup {
				inside = append(inside, file)
			}
		}
		if len(inside) > 0 {
			return inside
		}
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

var mentioned = regexp.MustCompile(`(?:^|[\s(])@(?:"([^"\n]+)"|([^\s@()"]+))`)

// mentionedFiles lists what a text mentions, without the quotes.
func mentionedFiles(text string) []string {
	var files []string
	for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
		files = append(files, m[1]+m[2])
	}
	return files
}

// Pictures lists the images that a text mentions.
func Pictures(text string) []string {
	return slices.DeleteFunc(mentionedFiles(text), func(file string) bool { return !isPicture(file) })
}
