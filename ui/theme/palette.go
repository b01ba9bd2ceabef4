package theme

import "github.com/charmbracelet/colorprofile"

// Name is how a theme is called, and what it is.
type Name struct{ Name, Text string }

// Names are the themes. Those without colours of their own follow the terminal.
func Names() []Name {
	return []Name{
		{"auto", "dark or light, as the terminal is"}, {"dark", "for a dark ground"}, {"light", "for a light ground"},
		{"contrast", "high contrast, dark or light as the terminal is"},
		{"16", "the terminal's own 16 colours"}, {"none", "no colours: weight and underline"},
	}
}

type colours struct {
	addedWord, removedWord, ground                    string
	keyword, text, number, comment, name              string // of code
	dim, faint, accent, good, warn, bad, key          string
	band, selected, addedBg, removedBg, found, foundF string
	marked, code                                      string // in prose
}

var (
	dark = colours{
		addedWord: "#28603a", removedWord: "#76303a", ground: "#1b1f25",
		keyword: "#8fb0d8", text: "#b1cc9b", number: "#c9a2c2", comment: "#848b98", name: "#8fd0dc",
		dim: "#8d93a1", faint: "#4a505c", accent: "#6fd3b4", good: "#8fce7e", warn: "#e5b567", bad: "#f0787d", key: "#c3cad8",
		band: "#23272f", selected: "#2c3340", addedBg: "#17301f", removedBg: "#3a1d22", found: "#e5b567", foundF: "#16181d",
		marked: "#3d5170", code: "#e0b58a",
	}
	// The 256 colours are chosen for themselves: the nearest to those of the rich
	// palette are too bright as grounds, and its greys have a tint.
	dark256 = colours{
		addedWord: "28", removedWord: "88", ground: "234",
		keyword: "110", text: "150", number: "182", comment: "245", name: "116",
		dim: "245", faint: "239", accent: "79", good: "114", warn: "179", bad: "210", key: "252",
		band: "235", selected: "238", addedBg: "22", removedBg: "52", found: "179", foundF: "234", marked: "24", code: "180",
	}
	light256 = colours{
		addedWord: "157", removedWord: "217", ground: "255",
		keyword: "91", text: "28", number: "130", comment: "243", name: "25",
		dim: "242", faint: "250", accent: "29", good: "28", warn: "94", bad: "124", key: "237",
		band: "255", selected: "253", addedBg: "194", removedBg: "224", found: "222", foundF: "234", marked: "153", code: "94",
	}
	light = colours{
		addedWord: "#abe5b5", removedWord: "#f6b8bd", ground: "#f5f6f8",
		keyword: "#7a2fd6", text: "#2b7a1c", number: "#a9520d", comment: "#747a87", name: "#1a59c9",
		dim: "#646b78", faint: "#bfc4cc", accent: "#0b7d63", good: "#2c7a1f", warn: "#96610a", bad: "#c0273a", key: "#31363f",
		band: "#eef1f4", selected: "#dfe6ec", addedBg: "#e1f5e4", removedBg: "#fbe4e6", found: "#ffd873", foundF: "#1b1d21",
		marked: "#bcd7f5", code: "#8a4b12",
	}

	// Every colour of these is far from its ground, also for weak eyes and in the sun.
	contrastDark = colours{
		addedWord: "28", removedWord: "124", ground: "233",
		keyword: "117", text: "156", number: "219", comment: "250", name: "123",
		dim: "252", faint: "245", accent: "86", good: "120", warn: "221", bad: "217", key: "231",
		band: "237", selected: "24", addedBg: "22", removedBg: "52", found: "226", foundF: "16", marked: "25", code: "222",
	}
	contrastLight = colours{
		addedWord: "120", removedWord: "210", ground: "255",
		keyword: "55", text: "#004d00", number: "88", comment: "238", name: "18",
		dim: "236", faint: "243", accent: "#004f4f", good: "#004d00", warn: "#5a3d00", bad: "88", key: "16",
		band: "254", selected: "153", addedBg: "194", removedBg: "224", found: "220", foundF: "16", marked: "117", code: "52",
	}
)

func choosePalette(name string, darkBackground bool, profile colorprofile.Profile) colours {
	switch few := profile == colorprofile.ANSI256; {
	case name == "contrast" && darkBackground:
		return contrastDark
	case name == "contrast":
		return contrastLight
	case darkBackground && few:
		return dark256
	case darkBackground:
		return dark
	case few:
		return light256
	}
	return light
}

// replace puts colours of one's own in the places that they are named for.
func (c *colours) replace(own map[string]string) {
	for name, place := range map[string]*string{
		"dim": &c.dim, "faint": &c.faint, "accent": &c.accent, "good": &c.good, "warn": &c.warn, "bad": &c.bad,
		"key": &c.key, "band": &c.band, "selected": &c.selected, "marked": &c.marked, "found": &c.found,
		"added": &c.addedBg, "removed": &c.removedBg, "added_word": &c.addedWord, "removed_word": &c.removedWord,
		"ground": &c.ground, "code": &c.code, "keyword": &c.keyword, "string": &c.text, "number": &c.number,
		"comment": &c.comment, "name": &c.name,
	} {
		if colour := own[name]; colour != "" {
			*place = colour
		}
	}
}
