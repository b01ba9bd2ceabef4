// Package keys decides which key does what. Its tables are the source of the
// bindings, the hints and the help on the screen, the palette and the table in
// the README; no other package names a key.
package keys

import (
	"slices"
	"strings"

	"belay/ui/locale"
)

// Action is something a person can make the screen do.
type Action string

// Where says in which state of the screen a binding holds.
type Where string

// The places of bindings.
const (
	Anywhere Where = "anywhere"
	Empty    Where = "empty composer"
	Composer Where = "composer"
	Asked    Where = "approval"
	Waiting  Where = "waiting"
	Typed    Where = "typed"
	Listed   Where = "palette only"
)

// Binding is one row of the table.
type Binding struct {
	Action  Action
	Keys    []string // as Bubble Tea names them; none: reached through the palette
	Show    string   // how people write the keys, and the name that can be typed: "F5, /model"
	Does    string   // as Meaning says it, without the keys that are named in it
	Where   Where
	Command bool // listed in the palette
}

// Meaning says what a binding does, with the keys that it names as they are now.
func (b Binding) Meaning() string {
	of := func(p Part, actions ...Action) []any {
		labels := make([]any, len(actions))
		for i, a := range actions {
			labels[i] = p.Label(a)
		}
		return labels
	}
	var named []any
	switch b.Action {
	case Steer:
		named = of(Draft, Steer)
	case CommandName:
		named = of(Naming, Complete)
	case StepsPanel:
		named = of(PlanPanel, Blur)
	case OpenCall:
		named = of(CallChooser, Up, Down, Copy)
	case FullView:
		named = of(Approval, Layout)
	case Focus:
		named = of(RetryBox, TryNow, Park, Details, Heavy, Medium, Light)
	}
	return locale.T(b.Does, named...)
}

// global holds the bindings that work in every state of the screen. The waiting
// keys are among them: they never need the focus.
var global = globalOf(Table)

func globalOf(table []Binding) map[string]Action {
	actions := map[string]Action{}
	for _, b := range table {
		if b.Where != Anywhere && b.Where != Waiting || b.Action == Focus {
			continue
		}
		for _, key := range b.Keys {
			actions[key] = b.Action
		}
	}
	return actions
}

// Global gives the action that a key has in every state of the screen, or "".
func Global(key string) Action { return global[key] }

// Is reports whether a key has this action, whatever the state.
func Is(key string, a Action) bool { return slices.Contains(Of(a).Keys, key) }

// Of gives an action's row.
func Of(a Action) Binding {
	if i, ok := rows[a]; ok {
		return Table[i]
	}
	return Binding{}
}

// rows is where each action stands in the table.
var rows = rowsOf(Table)

func rowsOf(table []Binding) map[Action]int {
	at := make(map[Action]int, len(table))
	for i, b := range table {
		if _, known := at[b.Action]; !known {
			at[b.Action] = i
		}
	}
	return at
}

// Commands lists what the palette offers.
func Commands() []Binding {
	var commands []Binding
	for _, b := range Table {
		if b.Command {
			commands = append(commands, b)
		}
	}
	return commands
}

// Label is how people write an action's first key, or the command that is typed
// for it.
func Label(a Action) string {
	b := Of(a)
	if len(b.Keys) == 0 {
		return "/" + Name(a)
	}
	return pretty(b.Keys[0])
}

// Hint names keys of the main screen and what they do, for a line of hints.
func Hint(does string, actions ...Action) [2]string {
	labels := make([]string, len(actions))
	for i, a := range actions {
		labels[i] = Label(a)
	}
	return [2]string{strings.Join(labels, " "), locale.T(does)}
}

// arrows are the signs that stand for the names of keys.
var arrows = strings.NewReplacer("up", "↑", "down", "↓", "left", "←", "right", "→")

// pretty writes a key as people do: "f8" is F8.
func pretty(key string) string {
	switch {
	case strings.HasPrefix(key, "pg"):
		return strings.Replace(key, "pgdown", "pgdn", 1)
	case len(key) > 1 && key[0] == 'f' && strings.Trim(key[1:], "0123456789") == "":
		return strings.ToUpper(key)
	}
	return arrows.Replace(key)
}

// KeyNamed is the key that a label stands for, such as f2 for F2; "": no key is called so.
func KeyNamed(label string) string {
	for _, b := range Table {
		for _, key := range b.Keys {
			if pretty(key) == label {
				return key
			}
		}
	}
	for _, p := range namedParts {
		for _, r := range p.part.rows {
			for _, key := range r.keys {
				if pretty(key) == label {
					return key
				}
			}
		}
	}
	return ""
}

// tiers are the actions of the tier keys, heavy first.
var tiers = []Action{Heavy, Medium, Light}

// Tier is the action that chooses a tier by its rank, or "".
func Tier(rank int) Action {
	if rank < 0 || rank >= len(tiers) {
		return ""
	}
	return tiers[rank]
}
