package steps

import (
	"fmt"
	"strings"
	"testing"

	"belay/models"
	"belay/session"
)

func titles(list []session.Step) string {
	var words []string
	for _, s := range list {
		words = append(words, s.Title)
	}
	return strings.Join(words, ",")
}

func TestAPlanIsFoundInWhateverAModelWrites(t *testing.T) {
	for name, tt := range map[string]struct{ answer, want, fault string }{
		"in a fence": {"Here:\n```json\n{\"steps\":[{\"title\":\"a\"},{\"title\":\"b\"}]}\n```\n", "a,b",
			""},
		"in a fence without an end": {"```\n{\"steps\":[{\"title\":\"a\"}]}", "a", ""},
		"the last fence counts": {"```\n{\"steps\":[{\"title\":\"draft\"}]}\n```\nNo:\n```json\n" +
			"{\"steps\":[{\"title\":\"final\"}]}\n```", "final", ""},
		"alone":                     {`{"steps":[{"title":"a","do":"x","tier":"Heavy","needs":null}]}`, "a", ""},
		"as a list":                 {`[{"do":"write it\nin two lines"}]`, "write it", ""},
		"among other words":         {"I think {\"steps\": [{\"title\": \"a\"}]} is best.", "a", ""},
		"not at all":                {"I would rather not.", "", "no JSON"},
		"without steps":             {`{"steps":[]}`, "", "no steps"},
		"with nothing to do":        {`{"steps":[{"proof":"x"}]}`, "", "step 1: it has neither"},
		"with an unknown tier":      {`{"steps":[{"title":"a","tier":"huge"}]}`, "", "unknown tier"},
		"that needs a later step":   {`{"steps":[{"title":"a","needs":[2]},{"title":"b"}]}`, "", "needs step 2"},
		"with a check of two lines": {`{"steps":[{"title":"a","check":"true\nrm -r x"}]}`, "", "one line"},
		"with more than thirty steps": {`[` + strings.TrimSuffix(strings.Repeat(`{"title":"a"},`, 31), ",") + `]`, "",
			"31 steps"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := Parse(tt.answer)
			if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) ||
				titles(list) != tt.want {
				t.Errorf("Parse = %s, %v; want %s %s", titles(list), err, tt.want, tt.fault)
			}
		})
	}
}

func TestAPlanIsReadAsItWasWritten(t *testing.T) {
	list := []session.Step{
		{
			Title:        "a \"quoted\"",
			Instructions: "do a\nin '''two''' lines",
			Proof:        "p",
			Tier:         models.Heavy,
			Pinned:       true,
			Check:        "go test ./...",
			MaxRequests:  3,
			MaxCost:      0.5,
			StepProgress: session.StepProgress{State: session.StepPending},
		},
		{
			Title:        "b",
			Instructions: "do b",
			Needs:        []int{},
			Pause:        true,
			StepProgress: session.StepProgress{State: session.StepPending},
		},
		{Title: "c", Instructions: "do c", Needs: []int{1}, StepProgress: session.StepProgress{State: session.StepPending}},
	}
	task, got, err := Read(Write("the\ntask", list))
	if err != nil || task != "the\ntask" || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", list) {
		t.Errorf("Read = %q, %+v, %v; want %+v", task, got, err, list)
	}
}

func TestTheTemplatesArePlans(t *testing.T) {
	list, err := Templates()
	if err != nil || len(list) != 3 {
		t.Fatalf("%d templates, %v", len(list), err)
	}
	for task, want := range map[string]string{"fix: the till": "fix", "Change : it": "change", "note: to self": "",
		"review": ""} {
		if got := Shape(task); got != want {
			t.Errorf("Shape(%q) = %q, want %q", task, got, want)
		}
	}
}

func TestWhichStepIsNext(t *testing.T) {
	step := func(state session.StepState, needs []int) session.Step {
		return session.Step{StepProgress: session.StepProgress{State: state}, Needs: needs}
	}
	const pending, done, skipped = session.StepPending, session.StepDone, session.StepSkipped
	for name, tt := range map[string]struct {
		list    []session.Step
		waiting []int
		want    int
	}{
		"the first":                        {[]session.Step{step(pending, nil), step(pending, nil)}, nil, 1},
		"after those that are over":        {[]session.Step{step(done, nil), step(skipped, nil), step(pending, nil)}, nil, 3},
		"none when all are over":           {[]session.Step{step(done, nil)}, nil, 0},
		"nothing that builds on a waiting": {[]session.Step{step(session.StepParked, nil), step(pending, nil)}, []int{1}, 0},
		"what builds on something else": {[]session.Step{step(done, nil), step(session.StepParked, nil), step(pending,
			nil), step(pending, []int{1})}, []int{2}, 4},
		"a parked one first, another time": {[]session.Step{step(session.StepParked, nil), step(pending, []int{})}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			waiting := map[int]session.TurnEnded{}
			for _, n := range tt.waiting {
				waiting[n] = session.TurnEnded{}
			}
			if got := next(tt.list, waiting); got != tt.want {
				t.Errorf("next = %d, want %d", got, tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "```json\n{\"steps\":[{\"title\":\"a\",\"needs\":[0]}]}\n```", "[{}]",
		"{\"steps\":[{\"title\":\"\\u0000\",\"check\":\"x\"}]}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		list, err := Parse(answer)
		if err != nil {
			return
		}
		if _, _, err := Read(Write("task", list)); err != nil && strings.ToValidUTF8(answer, "") == answer &&
			!strings.Contains(answer, `\u0`) {
			t.Errorf("what was parsed cannot be read back: %v\n%q", err, answer)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("task = \"x\"\n[[step]]\ntitle = \"a\"\nneeds = []\n")
	f.Add("[[step]]\n[[step]]\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, list, err := Read(text)
		if err == nil && len(list) == 0 {
			t.Error("a plan without steps")
		}
	})
}
