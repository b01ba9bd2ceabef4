package models

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// SameName reports whether two names mean one model: one without a tag means the
// tag latest, as with Ollama.
func SameName(a, b string) bool { return a == b || a == b+latestTag || a+latestTag == b }

const latestTag = ":latest"

// Lists reports whether an endpoint that knows these names knows a model.
func Lists(known []string, name string) bool {
	return slices.ContainsFunc(known, func(k string) bool { return SameName(k, name) })
}

// CheckName corrects a fault about an unknown model by the names that its
// endpoint has: others were meant, or the name is right and the path is not.
func (f *Fault) CheckName(known []string) {
	if f.Kind != KindModel {
		return
	}
	if !Lists(known, f.Target.Model) {
		if f.Nearest = Nearest(f.Target.Model, known); len(f.Nearest) > 0 {
			f.Hint = fmt.Sprintf("the endpoint has %s; names are compared letter by letter", strings.Join(f.Nearest, ", "))
		}
		return
	}
	if f.PathInDoubt {
		f.Kind = KindRequest
		f.Scope = ScopeRequest
		f.Hint = "The endpoint lists " + f.Target.Model + ", but nothing answers at that path. " +
			`Try another api in the settings ("chat" or "responses"), or base_url with or without /v1.`
	}
}

// Nearest gives up to three of the known names that someone who wrote name may
// have meant, the likeliest first. Names that differ only in case, spaces or
// invisible characters come before all others.
func Nearest(name string, known []string) []string {
	type near struct {
		name string
		far  int
	}
	want := plain(name)
	if want == "" {
		return nil
	}
	var all []near
	for _, k := range known {
		if SameName(k, name) || k == "" {
			continue
		}
		have := plain(k)
		far, allowed := Distance(want, have), max(min(2, len(want)-2), len(want)/3)
		if far > allowed &&
			(len(want) >= 3 && strings.Contains(have, want) || len(have) >= 4 && strings.Contains(want, have)) {
			far = allowed // a part of it was left out, or added
		}
		if far <= allowed {
			all = append(all, near{k, far})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.far - b.far })
	var names []string
	for _, n := range all {
		if len(names) < 3 && !slices.Contains(names, n.name) {
			names = append(names, n.name)
		}
	}
	return names
}

// plain drops case, spaces, invisible characters and the choice of dash.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.In(r, unicode.Cf, unicode.Cc):
			return -1
		case r == '_', unicode.Is(unicode.Pd, r):
			return '-'
		}
		return unicode.ToLower(r)
	}, s)
}

// Distance counts the letters to change, drop or add (Levenshtein); names far
// too long for a model count as far.
func Distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 200 || len(y) > 200 {
		return 1 << 20
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range y {
			cost := diagonal
			if r != s {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
