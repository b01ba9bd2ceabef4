package steps

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"belay/models"
	"belay/session"
	"belay/ui/theme"
)

// Shape changes a plan as a key says that was pressed on a step: the new plan,
// which step is chosen in it, and why nothing changes, if nothing does.
func Shape(key string, list []session.Step, number int) (out []session.Step, at int, why string) {
	i := number - 1
	if i < 0 || i >= len(list) {
		return list, number, "there is no step to change"
	}
	if list[i].Started() {
		return list, number, fmt.Sprintf("step %d has begun and stays as it is; z goes back to before it", number)
	}
	out, at = slices.Clone(list), number
	s := &out[i]
	switch key {
	case "space":
		s.Pause = !s.Pause
	case "x":
		s.State = map[bool]session.StepState{true: session.StepPending, false: session.StepSkipped}[s.State == session.StepSkipped]
	case "t":
		tiers := append([]models.Tier{""}, models.Tiers()...)
		s.Tier = tiers[(slices.Index(tiers, s.Tier)+1)%len(tiers)]
	case "P":
		s.Pinned = !s.Pinned
	case "d":
		return drop(out, i)
	case "s":
		return split(out, i)
	case "K":
		return move(out, i, i-1)
	case "J":
		return move(out, i, i+1)
	}
	return out, at, ""
}

// renumber gives the steps that others build on their new numbers.
func renumber(list []session.Step, now func(old int) []int) {
	for i := range list {
		if list[i].Needs == nil {
			continue
		}
		needs := []int{}
		for _, n := range list[i].Needs {
			needs = append(needs, now(n)...)
		}
		slices.Sort(needs)
		list[i].Needs = slices.Compact(needs)
	}
}

func drop(list []session.Step, i int) ([]session.Step, int, string) {
	if len(list) == 1 {
		return list, i + 1, "a plan has at least one step; x skips it"
	}
	if last := lastBegun(list); last > i {
		return list, i + 1, fmt.Sprintf("step %d has begun and keeps its number; x skips this one", last+1)
	}
	before := list[i].Needs
	if before == nil {
		for n := range i {
			before = append(before, n+1)
		}
	}
	out := slices.Delete(list, i, i+1)
	// What was built on it is built on what it was built on.
	renumber(out, func(n int) []int {
		switch {
		case n == i+1:
			return before
		case n > i+1:
			return []int{n - 1}
		}
		return []int{n}
	})
	return out, min(i+1, len(out)), ""
}

func split(list []session.Step, i int) ([]session.Step, int, string) {
	if last := lastBegun(list); last > i {
		return list, i + 1, fmt.Sprintf("step %d has begun and keeps its number", last+1)
	}
	second := list[i]
	list[i].Title += " (first part)"
	second.Title += " (second part)"
	second.Pause = false
	renumber(list, func(n int) []int {
		switch {
		case n == i+1:
			return []int{n, n + 1}
		case n > i+1:
			return []int{n + 1}
		}
		return []int{n}
	})
	if second.Needs != nil {
		second.Needs = append(slices.Clone(second.Needs), i+1)
	}
	return slices.Insert(list, i+1, second), i + 1, ""
}

func move(list []session.Step, i, to int) ([]session.Step, int, string) {
	switch {
	case to < 0 || to >= len(list):
		return list, i + 1, "it cannot move further"
	case list[to].Started():
		return list, i + 1, fmt.Sprintf("step %d has begun and keeps its place", to+1)
	}
	out := slices.Clone(list)
	out[i], out[to] = out[to], out[i]
	renumber(out, func(n int) []int {
		switch n {
		case i + 1:
			return []int{to + 1}
		case to + 1:
			return []int{i + 1}
		}
		return []int{n}
	})
	for k, s := range out {
		for _, n := range s.Needs {
			if n > k {
				return list, i + 1, fmt.Sprintf("step %d builds on step %d", max(i, to)+1, min(i, to)+1)
			}
		}
	}
	return out, to + 1, ""
}

func lastBegun(list []session.Step) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Started() {
			return i
		}
	}
	return -1
}

// Insert puts a step behind the one with a number.
func Insert(list []session.Step, after int, s session.Step) (out []session.Step, at int, why string) {
	after = max(0, min(after, len(list)))
	if last := lastBegun(list); last >= after {
		return list, after, fmt.Sprintf("step %d has begun and keeps its number: add it behind that one", last+1)
	}
	out = slices.Clone(list)
	renumber(out, func(n int) []int {
		if n > after {
			n++
		}
		return []int{n}
	})
	return slices.Insert(out, after, s), after + 1, ""
}

// Merge puts a plan that was written as text in the place of the one there is.
// Steps that have begun keep what they have done.
func Merge(list, written []session.Step) (out []session.Step, why string) {
	if len(written) == 0 {
		return nil, "a plan has at least one step; nothing was changed"
	}
	out = slices.Clone(written)
	for i := range out {
		if out[i].State == "" {
			out[i].State = session.StepPending
		}
	}
	for i, s := range list {
		same := i < len(out) && theme.Line(out[i].Title) == theme.Line(s.Title)
		switch {
		case s.Started() && !same:
			return nil, fmt.Sprintf("step %d, “%s”, has begun and keeps its place; nothing was changed", i+1, theme.Line(s.Title))
		case s.Started():
			out[i] = s
		case same && s.State == session.StepSkipped && out[i].State == session.StepPending:
			out[i].State = s.State
		}
	}
	return out, ""
}

// fields are the names of what a person can write about a step.
var fields = []string{"title", "do", "proof", "check", "tier"}

// only marks a tier that is not left for another one.
const only = "only"

// Text is a step as a person edits it.
func Text(s session.Step) string {
	tier := string(s.Tier)
	if s.Pinned {
		tier = strings.TrimSpace(tier + " " + only)
	}
	return fmt.Sprintf("title: %s\ndo: %s\nproof: %s\ncheck: %s\ntier: %s", theme.Line(s.Title), theme.Sanitize(s.Instructions), theme.Sanitize(s.Proof), theme.Line(s.Check), tier)
}

// Parse reads what Text wrote back into a step. A line without a name goes on
// with the one before.
func Parse(text string, s session.Step) (session.Step, error) {
	got := map[string]string{}
	name := "title"
	for _, l := range strings.Split(text, "\n") {
		head, rest, ok := strings.Cut(l, ":")
		if head = strings.ToLower(strings.TrimSpace(head)); ok && slices.Contains(fields, head) {
			name = head
			got[name] = strings.TrimSpace(got[name] + "\n" + rest)
			continue
		}
		got[name] = strings.TrimSpace(got[name] + "\n" + l)
	}
	s.Title, s.Instructions, s.Proof, s.Check = theme.Line(got["title"]), got["do"], got["proof"], theme.Line(got["check"])
	if s.Title == "" {
		return s, errors.New("a step needs a title: write it behind “title:”")
	}
	words := strings.Fields(strings.ToLower(got["tier"]))
	s.Tier, s.Pinned = "", false
	if n := len(words); n > 0 && words[n-1] == only {
		s.Pinned, words = true, words[:n-1]
	}
	if len(words) > 0 {
		s.Tier = models.Tier(words[0])
	}
	if len(words) > 1 || s.Tier != "" && !slices.Contains(models.Tiers(), s.Tier) {
		return s, errors.New("tier: heavy, medium, light, or nothing; “heavy only” waits for it")
	}
	return s, nil
}
