package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"belay/models"
)

// Why a plan is not changed. Steps that have begun have left something behind:
// they keep what they are, and their numbers.
var (
	ErrNoStep      = errors.New("there is no step to change")
	ErrOnlyStep    = errors.New("a plan has at least one step")
	ErrStepStarted = errors.New("has begun and stays as it is")
	ErrKeepsNumber = errors.New("has begun and keeps its number")
)

// ChangeStep changes one step that has not begun. Like all edits it gives the
// new list and leaves the plan as it is.
func (p *Plan) ChangeStep(number int, change func(s *Step)) ([]Step, error) {
	list, err := p.editable(number)
	if err != nil {
		return nil, err
	}
	change(&list[number-1])
	return list, nil
}

// editable is a copy of the steps, if one of them may be changed.
func (p *Plan) editable(number int) ([]Step, error) {
	if number < 1 || number > len(p.Steps) {
		return nil, ErrNoStep
	}
	if p.Steps[number-1].Started() {
		return nil, fmt.Errorf("step %d %w", number, ErrStepStarted)
	}
	return slices.Clone(p.Steps), nil
}

// RemoveStep takes a step out. What was built on it is built on what it was
// built on.
func (p *Plan) RemoveStep(number int) ([]Step, error) {
	list, err := p.editable(number)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 1:
		return nil, ErrOnlyStep
	case p.lastStarted() > number:
		return nil, fmt.Errorf("step %d %w", p.lastStarted(), ErrKeepsNumber)
	}
	inherited := list[number-1].Needs
	if inherited == nil {
		for n := 1; n < number; n++ {
			inherited = append(inherited, n)
		}
	}
	list = slices.Delete(list, number-1, number)
	renumberNeeds(list, func(n int) []int {
		switch {
		case n == number:
			return inherited
		case n > number:
			return []int{n - 1}
		}
		return []int{n}
	})
	return list, nil
}

// SplitStep makes two steps of one; what was built on it is built on both.
func (p *Plan) SplitStep(number int) ([]Step, error) {
	list, err := p.editable(number)
	if err != nil {
		return nil, err
	}
	if last := p.lastStarted(); last > number {
		return nil, fmt.Errorf("step %d %w", last, ErrKeepsNumber)
	}
	second := list[number-1]
	list[number-1].Title += " (first part)"
	second.Title += " (second part)"
	second.Pause = false
	renumberNeeds(list, func(n int) []int {
		switch {
		case n == number:
			return []int{n, n + 1}
		case n > number:
			return []int{n + 1}
		}
		return []int{n}
	})
	if second.Needs != nil {
		second.Needs = append(slices.Clone(second.Needs), number)
	}
	return slices.Insert(list, number, second), nil
}

// MoveStep swaps a step with its neighbour: by is 1 or -1.
func (p *Plan) MoveStep(number, by int) ([]Step, error) {
	list, err := p.editable(number)
	to := number + by
	switch {
	case err != nil:
		return nil, err
	case to < 1 || to > len(list):
		return nil, errors.New("it cannot move further")
	case list[to-1].Started():
		return nil, fmt.Errorf("step %d has begun and keeps its place", to)
	}
	list[number-1], list[to-1] = list[to-1], list[number-1]
	renumberNeeds(list, func(n int) []int {
		switch n {
		case number:
			return []int{to}
		case to:
			return []int{number}
		}
		return []int{n}
	})
	for i, s := range list {
		if len(s.Needs) > 0 && slices.Max(s.Needs) > i {
			return nil, fmt.Errorf("step %d builds on step %d", max(number, to), min(number, to))
		}
	}
	return list, nil
}

// InsertStep puts a step behind the one with a number; 0 is the beginning.
func (p *Plan) InsertStep(after int, s Step) ([]Step, error) {
	after = max(0, min(after, len(p.Steps)))
	if last := p.lastStarted(); last > after {
		return nil, fmt.Errorf("step %d %w: add it behind that one", last, ErrKeepsNumber)
	}
	list := slices.Clone(p.Steps)
	renumberNeeds(list, func(n int) []int {
		if n > after {
			n++
		}
		return []int{n}
	})
	return slices.Insert(list, after, s), nil
}

// ReplaceSteps puts a plan that was written as text in the place of the steps
// there are. Those that have begun keep what they have done.
func (p *Plan) ReplaceSteps(written []Step) ([]Step, error) {
	if len(written) == 0 {
		return nil, fmt.Errorf("%w; nothing was changed", ErrOnlyStep)
	}
	list := slices.Clone(written)
	for i := range list {
		if list[i].State == "" {
			list[i].State = StepPending
		}
	}
	for i, s := range p.Steps {
		same := i < len(list) && singleLine(list[i].Title) == singleLine(s.Title)
		switch {
		case s.Started() && !same:
			return nil, fmt.Errorf("step %d, “%s”, has begun and keeps its place; nothing was changed",
				i+1, singleLine(s.Title))
		case s.Started():
			list[i] = s
		case same && s.State == StepSkipped && list[i].State == StepPending:
			list[i].State = s.State
		}
	}
	return list, nil
}

// lastStarted is the number of the last step that has begun; 0: none has.
func (p *Plan) lastStarted() int {
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if p.Steps[i].Started() {
			return i + 1
		}
	}
	return 0
}

// renumberNeeds gives the steps that others build on their new numbers.
func renumberNeeds(list []Step, now func(old int) []int) {
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

// ToggleSkip leaves a step out, or takes it in again.
func (s *Step) ToggleSkip() {
	if s.State == StepSkipped {
		s.State = StepPending
		return
	}
	s.State = StepSkipped
}

// NextTier walks through the tiers that a step can begin with, and none.
func (s *Step) NextTier() {
	tiers := append([]models.Tier{""}, models.Tiers()...)
	s.Tier = tiers[(slices.Index(tiers, s.Tier)+1)%len(tiers)]
}

// The names of what a person can write about a step.
const (
	fieldTitle        = "title"
	fieldInstructions = "do"
	fieldProof        = "proof"
	fieldCheck        = "check"
	fieldTier         = "tier"
)

var stepFields = []string{fieldTitle, fieldInstructions, fieldProof, fieldCheck, fieldTier}

// pinnedTier marks a tier that is not left for another one.
const pinnedTier = "only"

// Text is a step as a person edits it; Rewrite reads it.
func (s Step) Text() string {
	tier := string(s.Tier)
	if s.Pinned {
		tier = strings.TrimSpace(tier + " " + pinnedTier)
	}
	return fmt.Sprintf("title: %s\ndo: %s\nproof: %s\ncheck: %s\ntier: %s",
		singleLine(s.Title), s.Instructions, s.Proof, singleLine(s.Check), tier)
}

// Rewrite is the step with what a person wrote about it. A line without the name
// of a field goes on with the one before.
func (s Step) Rewrite(text string) (Step, error) {
	values := map[string]string{}
	field := fieldTitle
	for _, l := range strings.Split(text, "\n") {
		head, rest, ok := strings.Cut(l, ":")
		if head = strings.ToLower(strings.TrimSpace(head)); ok && slices.Contains(stepFields, head) {
			field, l = head, rest
		}
		values[field] = strings.TrimSpace(values[field] + "\n" + l)
	}
	s.Title = singleLine(values[fieldTitle])
	s.Instructions = values[fieldInstructions]
	s.Proof = values[fieldProof]
	s.Check = singleLine(values[fieldCheck])
	if s.Title == "" {
		return s, errors.New("a step needs a title: write it behind “title:”")
	}
	words := strings.Fields(strings.ToLower(values[fieldTier]))
	s.Tier, s.Pinned = "", false
	if n := len(words); n > 0 && words[n-1] == pinnedTier {
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

// singleLine makes one line of a text, without control characters.
func singleLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, s))
}
