package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Colours take the place of those of the theme: #rrggbb, or a number of the 256. The
// ones that are empty stay.
type Colours struct {
	Accent      string `toml:"accent"`
	Dim         string `toml:"dim"`
	Faint       string `toml:"faint"`
	Good        string `toml:"good"`
	Warn        string `toml:"warn"`
	Bad         string `toml:"bad"`
	Key         string `toml:"key"`
	Band        string `toml:"band"`
	Selected    string `toml:"selected"`
	Marked      string `toml:"marked"`
	Found       string `toml:"found"`
	Added       string `toml:"added"`
	Removed     string `toml:"removed"`
	AddedWord   string `toml:"added_word"`
	RemovedWord string `toml:"removed_word"`
	Ground      string `toml:"ground"`
	Code        string `toml:"code"`
	Keyword     string `toml:"keyword"`
	String      string `toml:"string"`
	Number      string `toml:"number"`
	Comment     string `toml:"comment"`
	Name        string `toml:"name"`
}

// Named gives the colours that are set, by their names.
func (c Colours) Named() map[string]string {
	named := map[string]string{}
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if colour := v.Field(i).String(); colour != "" {
			named[v.Type().Field(i).Tag.Get("toml")] = colour
		}
	}
	return named
}

// checkColour checks a colour of the person's own.
func checkColour(v any) (problem, hint string) {
	text := v.(string)
	if text == "" {
		return "", ""
	}
	if digits, ok := strings.CutPrefix(text, "#"); ok && len(digits) == 6 {
		if _, err := strconv.ParseUint(digits, 16, 32); err == nil {
			return "", ""
		}
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n <= 255 {
		return "", ""
	}
	return fmt.Sprintf("%.60q is no colour", text), "write #rrggbb, such as \"#6fd3b4\", or a number from 0 to 255"
}
