package session

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"belay/models"
)

// fiveSteps is a plan of which one step is done; the fourth builds on the second,
// the fifth on the fourth.
func fiveSteps() *Plan {
	return &Plan{Steps: []Step{
		{Title: "a", StepProgress: StepProgress{State: StepDone}},
		{Title: "b", StepProgress: StepProgress{State: StepPending}},
		{Title: "c", StepProgress: StepProgress{State: StepPending}},
		{Title: "d", StepProgress: StepProgress{State: StepPending}, Needs: []int{2}},
		{Title: "e", StepProgress: StepProgress{State: StepSkipped}, Needs: []int{4}},
	}}
}

// outline is the titles of the steps and what they build on.
func outline(list []Step) string {
	var titles []string
	for _, s := range list {
		title := s.Title
		if s.Needs != nil {
			title += fmt.Sprint(s.Needs)
		}
		titles = append(titles, title)
	}
	return strings.Join(titles, " ")
}

func TestPlanEdits(t *testing.T) {
	remove := func(n int) func(*Plan) ([]Step, error) {
		return func(p *Plan) ([]Step, error) { return p.RemoveStep(n) }
	}
	split := func(n int) func(*Plan) ([]Step, error) {
		return func(p *Plan) ([]Step, error) { return p.SplitStep(n) }
	}
	move := func(n, by int) func(*Plan) ([]Step, error) {
		return func(p *Plan) ([]Step, error) { return p.MoveStep(n, by) }
	}
	insert := func(after int) func(*Plan) ([]Step, error) {
		return func(p *Plan) ([]Step, error) { return p.InsertStep(after, Step{Title: "new"}) }
	}
	skip := func(n int) func(*Plan) ([]Step, error) {
		return func(p *Plan) ([]Step, error) { return p.ChangeStep(n, (*Step).ToggleSkip) }
	}
	for _, tt := range []struct {
		name    string
		edit    func(*Plan) ([]Step, error)
		want    string
		wantErr string
	}{
		{"removing renumbers and inherits", remove(2), "a c d[1] e[3]", ""},
		{"removing a need in the middle", remove(4), "a b c e[2]", ""},
		{"both parts of a split are needed", split(2), "a b (first part) b (second part) c d[2 3] e[5]", ""},
		{"the second part builds on the first", split(4), "a b c d (first part)[2] d (second part)[2 4] e[4 5]", ""},
		{"down", move(2, 1), "a c b d[3] e[4]", ""},
		{"up", move(3, -1), "a c b d[3] e[4]", ""},
		{"insert", insert(3), "a b c new d[2] e[5]", ""},
		{"not before what it builds on", move(5, -1), "", "step 5 builds on step 4"},
		{"not before one that has begun", move(2, -1), "", "step 1 has begun and keeps its place"},
		{"not out of the plan", move(5, 1), "", "it cannot move further"},
		{"not one that has begun", remove(1), "", "step 1 has begun and stays as it is"},
		{"no such step", skip(9), "", "there is no step to change"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := fiveSteps()
			got, err := tt.edit(before)
			if outline(got) != tt.want || fmt.Sprint(err) != tt.wantErr && (err != nil || tt.wantErr != "") {
				t.Errorf("got %q, %v; want %q, %q", outline(got), err, tt.want, tt.wantErr)
			}
			if outline(before.Steps) != outline(fiveSteps().Steps) {
				t.Errorf("the plan before was changed: %s", outline(before.Steps))
			}
		})
	}
	t.Run("a step is skipped and taken in again", func(t *testing.T) {
		p := fiveSteps()
		once, _ := p.ChangeStep(2, (*Step).ToggleSkip)
		twice, _ := (&Plan{Steps: once}).ChangeStep(2, (*Step).ToggleSkip)
		if once[1].State != StepSkipped || twice[1].State != StepPending {
			t.Errorf("%s, then %s", once[1].State, twice[1].State)
		}
	})
	t.Run("the tiers come around", func(t *testing.T) {
		var s Step
		tiers := ""
		for range 4 {
			s.NextTier()
			tiers += string(s.Tier) + " "
		}
		if tiers != "heavy medium light  " {
			t.Errorf("tiers %q", tiers)
		}
	})
	t.Run("the last step stays", func(t *testing.T) {
		p := &Plan{Steps: fiveSteps().Steps[1:2]}
		if _, err := p.RemoveStep(1); !errors.Is(err, ErrOnlyStep) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("steps before one that has begun keep their numbers", func(t *testing.T) {
		for name, edit := range map[string]func(*Plan) ([]Step, error){
			"remove": remove(2), "split": split(2), "insert": insert(1),
		} {
			p := fiveSteps()
			p.Steps[2].State = StepFailed
			if _, err := edit(p); !errors.Is(err, ErrKeepsNumber) || !strings.Contains(err.Error(), "step 3 has begun") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestReplaceSteps(t *testing.T) {
	written := []Step{
		{Title: "a", Instructions: "rewritten"}, {Title: "b", Instructions: "new"}, {Title: "x"}, {Title: "y"}, {Title: "e"},
	}
	got, err := fiveSteps().ReplaceSteps(written)
	if err != nil || got[0].State != StepDone || got[0].Instructions != "" || got[1].Instructions != "new" ||
		got[1].State != StepPending || got[4].State != StepSkipped {
		t.Errorf("ReplaceSteps = %+v, %v", got, err)
	}
	for _, bad := range [][]Step{nil, written[1:]} {
		if _, err := fiveSteps().ReplaceSteps(bad); err == nil {
			t.Errorf("ReplaceSteps took %+v", bad)
		}
	}
}

func TestAStepIsWrittenAndRead(t *testing.T) {
	s := Step{
		Title: "core logic", Instructions: "move the rules\ninto one place\nnote: carefully", Proof: "tests pass",
		Check: "go test ./...", Tier: models.Heavy, Pinned: true, Needs: []int{1}, Pause: true,
	}
	got, err := s.Rewrite(s.Text())
	if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", s) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, s)
	}
	for name, tt := range map[string]struct{ text, want string }{
		"no title":        {"title:\ndo: x", "a step needs a title"},
		"unknown tier":    {"title: x\ntier: huge", "tier: heavy, medium, light"},
		"too many words":  {"title: x\ntier: heavy light", "tier: heavy, medium, light"},
		"empty":           {"", "a step needs a title"},
		"a bare title":    {"just this\ndo: x", ""},
		"upper-case keys": {"TITLE: x\nTier: Medium ONLY", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Step{}.Rewrite(tt.text)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add("title: a\ndo: b\nc\nproof:\ncheck: d\ntier: heavy only")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Step{}.Rewrite(text)
		if err != nil {
			return
		}
		again, err := Step{}.Rewrite(s.Text())
		if err != nil || again.Title != s.Title || again.Tier != s.Tier || again.Pinned != s.Pinned {
			t.Errorf("%q became %+v, then %+v, %v", text, s, again, err)
		}
	})
}
