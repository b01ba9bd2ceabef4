package steps

import (
	"bytes"
	_ "embed" // for the prose and the templates
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"belay/models"
	"belay/session"
)

//go:embed steps.md
var prose string

//go:embed templates.toml
var templates []byte

// The bounds of a plan.
const (
	maxSteps = 30
	maxTitle = 80     // letters
	maxText  = 20_000 // bytes of one field
)

// stepText is a step as people and models write it.
type stepText struct {
	Title string `toml:"title"           json:"title"`
	Do    string `toml:"do,multiline"    json:"do"`
	Proof string `toml:"proof,omitempty" json:"proof"`
	Tier  string `toml:"tier,omitempty"  json:"tier"`
	Pin   bool   `toml:"pin,omitempty"   json:"pin"`
	Check string `toml:"check,omitempty" json:"check"`
	Needs *[]int `toml:"needs,omitempty" json:"needs"`
	Pause bool   `toml:"pause,omitempty" json:"pause"`

	MostRequests int     `toml:"most_requests,omitempty" json:"-"`
	MostCost     float64 `toml:"most_cost,omitempty"     json:"-"`
}

// planFile is a plan as it stands in a file.
type planFile struct {
	Task string     `toml:"task,multiline"`
	Step []stepText `toml:"step"`
}

// header stands at the top of a plan that a person edits.
const header = `# One [[step]] a step, in order. Each is carried out in a session of its own.
# title, do; and if you like: proof (what shows that it is done), check (a command
# that decides it), tier (heavy, medium, light), pin (no other tier), needs (numbers
# of the steps it builds on; [] for none, all before it by default), pause,
# most_requests, most_cost (US dollars).

`

// Write gives a plan as a file for a person to edit.
func Write(task string, list []session.Step) string {
	file := planFile{Task: task}
	for _, s := range list {
		w := stepText{
			Title:        s.Title,
			Do:           s.Instructions,
			Proof:        s.Proof,
			Tier:         string(s.Tier),
			Pin:          s.Pinned,
			Check:        s.Check,
			Pause:        s.Pause,
			MostRequests: s.MaxRequests,
			MostCost:     s.MaxCost,
		}
		if s.Needs != nil {
			w.Needs = &s.Needs
		}
		file.Step = append(file.Step, w)
	}
	b, err := toml.Marshal(file)
	if err != nil { // a struct of strings always can be
		return header
	}
	return header + string(b)
}

// Read reads a plan from a file. The error names what is wrong, and where.
func Read(text string) (task string, list []session.Step, err error) {
	var file planFile
	dec := toml.NewDecoder(strings.NewReader(text))
	if err := dec.DisallowUnknownFields().Decode(&file); err != nil {
		var strict *toml.StrictMissingError
		var bad *toml.DecodeError
		switch {
		case errors.As(err, &strict) && len(strict.Errors) > 0:
			row, _ := strict.Errors[0].Position()
			return "", nil, &PlanError{fmt.Errorf("line %d: unknown key %q", row, strings.Join(strict.Errors[0].Key(), "."))}
		case errors.As(err, &bad):
			row, _ := bad.Position()
			return "", nil, &PlanError{fmt.Errorf("line %d: %w", row, err)}
		}
		return "", nil, &PlanError{err}
	}
	list, err = parseSteps(file.Step)
	return strings.TrimSpace(file.Task), list, err
}

// PlanError says what is wrong with a plan.
type PlanError struct{ Err error }

// Error names the fault.
func (e *PlanError) Error() string { return "the plan: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *PlanError) Unwrap() error { return e.Err }

// Hint says what a plan looks like.
func (e *PlanError) Hint() string {
	return "write [[step]] with a title and what to do; `belay help steps` has an example"
}

// parseSteps checks what was written.
func parseSteps(list []stepText) ([]session.Step, error) {
	if len(list) == 0 {
		return nil, &PlanError{errors.New("it has no steps")}
	}
	if len(list) > maxSteps {
		return nil, &PlanError{fmt.Errorf("it has %d steps, more than %d", len(list), maxSteps)}
	}
	out := make([]session.Step, len(list))
	for i, text := range list {
		step, err := text.parse(i + 1)
		if err != nil {
			return nil, &PlanError{fmt.Errorf("step %d: %w", i+1, err)}
		}
		out[i] = step
	}
	return out, nil
}

// parse checks what was written of the step with a number.
func (t stepText) parse(number int) (session.Step, error) {
	step := session.Step{
		Title:        line(t.Title),
		Instructions: strings.TrimSpace(t.Do),
		Proof:        strings.TrimSpace(t.Proof),
		Pinned:       t.Pin,
		Check:        line(t.Check),
		Pause:        t.Pause,
		MaxRequests:  t.MostRequests,
		MaxCost:      t.MostCost,
		StepProgress: session.StepProgress{State: session.StepPending},
	}
	switch {
	case step.Title == "" && step.Instructions == "":
		return step, errors.New("it has neither a title nor anything to do")
	case len(t.Title)+len(t.Do)+len(t.Proof)+len(t.Check) > maxText:
		return step, fmt.Errorf("it is longer than %d bytes", maxText)
	case t.MostRequests < 0 || t.MostCost < 0:
		return step, errors.New("a limit cannot be less than nothing")
	case strings.ContainsAny(strings.TrimSpace(t.Check), "\n\r"):
		return step, errors.New("its check must be one line")
	}
	if step.Title == "" {
		step.Title = line(step.Instructions)
	}
	if step.Instructions == "" {
		step.Instructions = step.Title
	}
	if letters := []rune(step.Title); len(letters) > maxTitle {
		step.Title = string(letters[:maxTitle-1]) + "…"
	}
	if t.Tier != "" {
		tier, err := models.ParseTier(t.Tier)
		if err != nil {
			return step, err
		}
		step.Tier = tier
	}
	if t.Needs == nil {
		return step, nil
	}
	step.Needs = append([]int{}, *t.Needs...)
	for _, n := range step.Needs {
		if n < 1 || n >= number {
			return step, fmt.Errorf("it needs step %d, which does not come before it", n)
		}
	}
	return step, nil
}

func line(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(s)
}

// Template is a usual shape of a task.
type Template struct {
	Name, About string
	Steps       []session.Step
}

// Templates lists the usual shapes, by name.
func Templates() ([]Template, error) {
	var all map[string]struct {
		About string     `toml:"about"`
		Step  []stepText `toml:"step"`
	}
	if err := toml.Unmarshal(templates, &all); err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	var list []Template
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s, err := parseSteps(all[name].Step)
		if err != nil {
			return nil, fmt.Errorf("read the template %s: %w", name, err)
		}
		list = append(list, Template{name, all[name].About, s})
	}
	return list, nil
}

// FindTemplate finds a template. The error lists those that there are.
func FindTemplate(name string) (Template, error) {
	list, err := Templates()
	if err != nil {
		return Template{}, err
	}
	var names []string
	for _, t := range list {
		if strings.EqualFold(t.Name, name) {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Template{}, fmt.Errorf("there is no template %q: use %s", name, strings.Join(names, ", "))
}

// Shape is the template that a task names before a colon, as in "fix: the till";
// empty: none.
func Shape(task string) string {
	name, _, ok := strings.Cut(task, ":")
	if !ok {
		return ""
	}
	t, err := FindTemplate(strings.TrimSpace(name))
	if err != nil {
		return ""
	}
	return t.Name
}

// Parse reads the plan out of a model's answer: JSON, alone, in a fence, or
// among other words.
func Parse(answer string) ([]session.Step, error) {
	var last error
	for _, text := range candidates(answer) {
		list, err := decode(text)
		if err == nil {
			return list, nil
		}
		if last == nil {
			last = err
		}
	}
	if last == nil {
		last = &PlanError{errors.New("there is no JSON in the answer")}
	}
	return nil, last
}

// candidates are the parts of an answer that may be the plan, the likely first.
func candidates(answer string) []string {
	var list []string
	for rest := answer; ; {
		_, after, ok := strings.Cut(rest, "```")
		if !ok {
			break
		}
		_, after, ok = strings.Cut(after, "\n")
		if !ok {
			break
		}
		body, next, _ := strings.Cut(after, "\n```")
		list, rest = append(list, body), next
	}
	slices.Reverse(list) // what comes last is meant
	pairs := []string{"{}", "[]"}
	if at := strings.IndexByte(answer, '['); at >= 0 && at < strings.IndexByte(answer, '{') {
		slices.Reverse(pairs)
	}
	for _, pair := range pairs {
		from, to := strings.IndexByte(answer, pair[0]), strings.LastIndexByte(answer, pair[1])
		if from >= 0 && to > from {
			list = append(list, answer[from:to+1])
		}
	}
	return list
}

func decode(text string) ([]session.Step, error) {
	text = strings.TrimSpace(text)
	var list []stepText
	if strings.HasPrefix(text, "[") {
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return nil, &PlanError{err}
		}
		return parseSteps(list)
	}
	var plan struct {
		Steps []stepText `json:"steps"`
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := dec.Decode(&plan); err != nil {
		return nil, &PlanError{err}
	}
	return parseSteps(plan.Steps)
}
