package keys

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"belay/models"
	"belay/ui/locale"
)

// Problem is what is wrong with a key of the settings.
type Problem struct {
	Name string // of the setting: an action, or a part and an action
	Text string
	Hint string
}

// Use gives actions the keys of the settings: by the name of the action, with hyphens
// between its words, or of a part and an action, as in "session-list.rename". Other
// actions keep theirs. When something is wrong nothing changes. It is called before
// there is a screen; nil gives every action its own keys again.
func Use(set map[string][]string) []Problem {
	changed := newLayout()
	if problems := changed.apply(set); len(problems) > 0 {
		return problems
	}
	Table = changed.table
	for _, named := range namedParts {
		named.part.rows = changed.parts[named.name]
	}
	global, rows = globalOf(Table), rowsOf(Table)
	return nil
}

// Check says what is wrong with the keys of the settings, and changes nothing.
func Check(set map[string][]string) []Problem {
	changed := newLayout()
	return changed.apply(set)
}

// layout is which keys all actions have.
type layout struct {
	table []Binding
	parts map[string][]row
}

// original is the layout without settings.
var original = func() layout {
	parts := map[string][]row{}
	for _, named := range namedParts {
		parts[named.name] = named.part.rows
	}
	return layout{Table, parts}
}()

// keysOf are the keys of an action on the main screen.
func (l layout) keysOf(a Action) []string {
	if at := slices.IndexFunc(l.table, func(b Binding) bool { return b.Action == a }); at >= 0 {
		return l.table[at].Keys
	}
	return nil
}

func newLayout() layout {
	fresh := layout{slices.Clone(original.table), map[string][]row{}}
	for name, list := range original.parts {
		fresh.parts[name] = slices.Clone(list)
	}
	return fresh
}

// fixed are actions whose keys are signs within a text.
var fixed = []Action{Mention, Shell, CommandName}

// needed are actions without which nobody gets anywhere.
var needed = []Action{Send, Leave, Stop, Close, Accept}

// apply changes the keys, and says what is wrong with them.
func (l *layout) apply(set map[string][]string) []Problem {
	var problems []Problem
	owner := map[string]string{} // place and action: the setting that gave the keys
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if problem, ok := l.assign(name, set[name], owner); !ok {
			problems = append(problems, problem)
		}
	}
	return append(problems, l.conflicts(owner)...)
}

// assign gives an action its keys.
func (l *layout) assign(name string, list []string, owner map[string]string) (Problem, bool) {
	where, word, scoped := strings.Cut(name, ".")
	if !scoped {
		where, word = "", name
	}
	action := Action(strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToLower(word)))
	var pressed []string
	for _, text := range list {
		key, ok := parseKey(text)
		if !ok {
			return Problem{
				name, locale.T("%.30q is no key", text), locale.T("write keys like ctrl+t, alt+1, f5, pgdown or g"),
			}, false
		}
		pressed = append(pressed, key)
	}
	switch {
	case slices.Contains(fixed, action):
		return Problem{name, locale.T("is a sign in what you write, and stays"), ""}, false
	case len(pressed) == 0 && slices.Contains(needed, action):
		return Problem{name, locale.T("needs a key"), ""}, false
	}
	known := false
	if !scoped {
		text := ""
		if known, text = l.assignMain(action, pressed); text != "" {
			return Problem{
				name, locale.T("%s is written into the draft", text), locale.T("take a key with ctrl+ or alt+, or an F-key"),
			}, false
		}
		owner["\x00"+string(action)] = name
	}
	for part := range l.parts {
		if scoped && part != where {
			continue
		}
		had, changed := l.assignPart(part, action, pressed, scoped)
		if known = known || had; changed {
			owner[part+"\x00"+string(action)] = name
		}
	}
	if !known {
		return Problem{name, locale.T("is no action"), suggestName(name)}, false
	}
	return Problem{}, true
}

// assignMain gives an action of the main screen its keys. A key that would be written
// into the draft is given back.
func (l *layout) assignMain(a Action, pressed []string) (known bool, text string) {
	at := slices.IndexFunc(l.table, func(b Binding) bool { return b.Action == a })
	if at < 0 {
		return false, ""
	}
	b := &l.table[at]
	if i := slices.IndexFunc(pressed, typed); i >= 0 && b.Where != Empty && b.Where != Asked {
		return true, pressed[i]
	}
	b.show(pressed)
	b.Keys = pressed
	if (b.Where == Typed || b.Where == Listed) && len(pressed) > 0 {
		b.Where = Anywhere
	}
	return true, ""
}

// assignPart gives an action its keys in a part that has it.
func (l *layout) assignPart(part string, a Action, pressed []string, scoped bool) (had, changed bool) {
	list := l.parts[part]
	for i, r := range list {
		if r.action != a || !scoped && !sharesKey(r.keys, original.keysOf(a)) {
			continue
		}
		keep := pressed
		if typesIn(list) { // letters are written there
			keep = slices.DeleteFunc(slices.Clone(pressed), typed)
		}
		had = true
		if len(keep) > 0 || len(pressed) == 0 {
			list[i].keys, changed = keep, true
		}
	}
	return had, changed
}

// sharesKey reports whether a row of a part is what the table of the main screen has,
// and not a letter of its own. What the table lacks has no other place.
func sharesKey(own, table []string) bool {
	return len(table) == 0 || slices.ContainsFunc(own, func(key string) bool { return slices.Contains(table, key) })
}

// typesIn reports whether a text is written in a part.
func typesIn(list []row) bool {
	return slices.ContainsFunc(list, func(r row) bool {
		return r.action == DeleteBack || r.action == Send || r.action == Complete
	})
}

// typed reports whether a key writes a character.
func typed(key string) bool { return utf8.RuneCountInString(key) == 1 || key == "space" }

// clashes are keys that would mean two things in one place.
type clashes struct {
	owner map[string]string // place and action: the setting that gave the keys
	told  map[string]bool
	list  []Problem
}

// add gives a key to an action of a place. What has it already was seen in the place
// from; one of the two must have it by the settings to be told.
func (c *clashes) add(place string, seen map[string]Action, from, key string, a Action) {
	before, taken := seen[key]
	if !taken || before == a {
		seen[key] = a
		return
	}
	name, other := c.owner[place+"\x00"+string(a)], before
	if name == "" {
		name, other = c.owner[from+"\x00"+string(before)], a
	}
	if name == "" || c.told[name+key] {
		return
	}
	c.told[name+key] = true
	text := locale.T("%s means %q already", key, nameOf(other))
	c.list = append(c.list, Problem{name, text, locale.T("give one of the two another key")})
}

// conflicts finds keys that would mean two things in one place, one of them by the
// settings.
func (l *layout) conflicts(owner map[string]string) []Problem {
	found := &clashes{owner: owner, told: map[string]bool{}}
	everywhere := map[string]Action{}
	for _, b := range l.table {
		if (b.Where == Anywhere || b.Where == Waiting || b.Action == NewLine) && b.Action != Focus {
			for _, key := range b.Keys {
				found.add("", everywhere, "", key, b.Action)
			}
		}
	}
	for _, part := range slices.Sorted(maps.Keys(l.parts)) {
		seen := map[string]Action{}
		for _, r := range l.parts[part] {
			for _, key := range r.keys {
				found.add(part, seen, part, key, r.action)
				if (part == "draft" || part == "empty-draft") && everywhere[key] != "" { // which comes first
					found.add(part, everywhere, "", key, r.action)
				}
			}
		}
	}
	slices.SortStableFunc(found.list, func(a, b Problem) int { return strings.Compare(a.Name, b.Name) })
	return found.list
}

// show rewrites how people write the keys; names that can be typed stay.
func (b *Binding) show(pressed []string) {
	var parts []string
	twice := false
	for i, part := range strings.Split(b.Show, ", ") {
		if strings.HasPrefix(part, "/") && part != "/" {
			parts = append(parts, part)
		} else if first, second, ok := strings.Cut(part, " "); i == 0 && ok && first == second {
			twice = true
		}
	}
	var labels []string
	for _, key := range pressed {
		label := pretty(key)
		if twice {
			label += " " + label
		}
		labels = append(labels, label)
	}
	b.Show = strings.Join(append(labels, parts...), ", ")
}

// nameOf is how the settings call an action.
func nameOf(a Action) string { return strings.ReplaceAll(string(a), " ", "-") }

// suggestName is the action that may be meant.
func suggestName(name string) string {
	where, word, scoped := strings.Cut(name, ".")
	if !scoped {
		word = where
	}
	var known []string
	for _, b := range original.table {
		known = append(known, nameOf(b.Action))
	}
	for part, list := range original.parts {
		if scoped && part != where {
			continue
		}
		for _, r := range list {
			known = append(known, nameOf(r.action))
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	best, least := "", 1+len(word)/3
	for _, k := range known {
		if d := models.Distance(strings.ToLower(word), k); d <= least {
			best, least = k, d-1
		}
	}
	switch {
	case scoped && len(original.parts[where]) == 0:
		return locale.T("the parts of the screen are %s", strings.Join(slices.Sorted(maps.Keys(original.parts)), ", "))
	case best != "" && scoped:
		return locale.T("did you mean %s.%s?", where, best)
	case best != "":
		return locale.T("did you mean %s?", best)
	}
	return locale.T("actions are called as in `belay help keys`, with hyphens")
}

// others are ways to write the names of keys.
var others = map[string]string{
	"pgdn": "pgdown", "pagedown": "pgdown", "pageup": "pgup", "escape": "esc", "return": "enter", "del": "delete",
	"↑": "up", "↓": "down", "←": "left", "→": "right", " ": "space",
}

var longNames = strings.Fields("up down left right enter tab esc space backspace delete insert home end pgup pgdown")

// parseKey reads a key as people write it, and gives the name that Bubble Tea has for it.
func parseKey(text string) (string, bool) {
	rest := text
	held := map[string]bool{}
	for {
		modifier, after, ok := strings.Cut(rest, "+")
		modifier = strings.ToLower(strings.TrimSpace(modifier))
		if !ok || after == "" || !slices.Contains([]string{"ctrl", "alt", "shift"}, modifier) {
			break
		}
		held[modifier], rest = true, after
	}
	key := rest
	if utf8.RuneCountInString(key) != 1 {
		key = strings.ToLower(strings.TrimSpace(key))
	}
	if other, ok := others[key]; ok {
		key = other
	}
	number := strings.TrimPrefix(key, "f")
	isF := len(number) > 0 && len(number) < 3 && number != key && strings.Trim(number, "0123456789") == "" && number[0] != '0'
	one := utf8.RuneCountInString(key) == 1 && key != " " && key >= " " && key != "\x7f"
	switch {
	case !one && !isF && !slices.Contains(longNames, key):
		return "", false
	case one && held["ctrl"]:
		key = strings.ToLower(key)
	case one && held["shift"]:
		key = strings.ToUpper(key)
		delete(held, "shift")
	}
	name := ""
	for _, modifier := range []string{"ctrl", "alt", "shift"} { // in the order of Bubble Tea
		if held[modifier] {
			name += modifier + "+"
		}
	}
	return name + key, true
}
