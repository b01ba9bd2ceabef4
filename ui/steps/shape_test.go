package steps

import (
	"fmt"
	"strings"
	"testing"

	"belay/models"
	"belay/session"
)

// plan is five steps of which one is done; the fourth builds on the second, the
// fifth on the fourth.
func plan() []session.Step {
	return []session.Step{{Title: "a", StepProgress: session.StepProgress{State: session.StepDone}}, {Title: "b", StepProgress: session.StepProgress{State: session.StepPending}}, {Title: "c", StepProgress: session.StepProgress{State: session.StepPending}},
		{Title: "d", StepProgress: session.StepProgress{State: session.StepPending}, Needs: []int{2}}, {Title: "e", StepProgress: session.StepProgress{State: session.StepSkipped}, Needs: []int{4}}}
}

func brief(list []session.Step) string {
	var words []string
	for _, s := range list {
		w := s.Title
		if s.Needs != nil {
			w += fmt.Sprint(s.Needs)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func TestShape(t *testing.T) {
	for _, tt := range []struct {
		name, key string
		number    int
		want      string
		at        int
		why       string
	}{
		{"drop renumbers and inherits", "d", 2, "a c d[1] e[3]", 2, ""},
		{"drop of a need in the middle", "d", 4, "a b c e[2]", 4, ""},
		{"split is needed in both parts", "s", 2, "a b (first part) b (second part) c d[2 3] e[5]", 2, ""},
		{"the second part builds on the first", "s", 4, "a b c d (first part)[2] d (second part)[2 4] e[4 5]", 4, ""},
		{"down", "J", 2, "a c b d[3] e[4]", 3, ""},
		{"up", "K", 3, "a c b d[3] e[4]", 2, ""},
		{"not before what it builds on", "K", 5, "", 5, "step 5 builds on step 4"},
		{"not before one that has begun", "K", 2, "", 2, "step 1 has begun and keeps its place"},
		{"not out of the plan", "J", 5, "", 5, "it cannot move further"},
		{"not one that has begun", "d", 1, "", 1, "step 1 has begun and stays as it is; z goes back to before it"},
		{"no such step", "x", 9, "", 9, "there is no step to change"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := plan()
			got, at, why := Shape(tt.key, before, tt.number)
			if why != tt.why || at != tt.at || why == "" && brief(got) != tt.want {
				t.Errorf("Shape = %q, %d, %q; want %q, %d, %q", brief(got), at, why, tt.want, tt.at, tt.why)
			}
			if brief(before) != brief(plan()) {
				t.Errorf("the plan before was changed: %s", brief(before))
			}
		})
	}
	t.Run("x skips and takes that back", func(t *testing.T) {
		once, _, _ := Shape("x", plan(), 2)
		twice, _, _ := Shape("x", once, 2)
		if once[1].State != session.StepSkipped || twice[1].State != session.StepPending {
			t.Errorf("%s, then %s", once[1].State, twice[1].State)
		}
	})
	t.Run("t walks through the tiers", func(t *testing.T) {
		list, words := plan(), ""
		for range 4 {
			list, _, _ = Shape("t", list, 2)
			words += string(list[1].Tier) + " "
		}
		if words != "heavy medium light  " {
			t.Errorf("tiers %q", words)
		}
	})
	t.Run("the last step stays", func(t *testing.T) {
		if _, _, why := Shape("d", plan()[1:2], 1); why == "" {
			t.Error("it was dropped")
		}
	})
	t.Run("steps before one that has begun keep their numbers", func(t *testing.T) {
		list := plan()
		list[2].State = session.StepFailed
		for _, key := range []string{"d", "s"} {
			if _, _, why := Shape(key, list, 2); !strings.Contains(why, "step 3 has begun") {
				t.Errorf("%s: %q", key, why)
			}
		}
		if _, _, why := Insert(list, 1, session.Step{}); !strings.Contains(why, "step 3 has begun") {
			t.Errorf("insert: %q", why)
		}
	})
}

func TestInsert(t *testing.T) {
	if got, at, why := Insert(plan(), 3, session.Step{Title: "new"}); brief(got) != "a b c new d[2] e[5]" || at != 4 || why != "" {
		t.Errorf("Insert = %q, %d, %q", brief(got), at, why)
	}
}

func TestMerge(t *testing.T) {
	written := []session.Step{{Title: "a", Instructions: "rewritten"}, {Title: "b", Instructions: "new"}, {Title: "x"}, {Title: "y"}, {Title: "e"}}
	got, why := Merge(plan(), written)
	if why != "" || got[0].State != session.StepDone || got[0].Instructions != "" || got[1].Instructions != "new" || got[1].State != session.StepPending || got[4].State != session.StepSkipped {
		t.Errorf("Merge = %+v, %q", got, why)
	}
	for _, bad := range [][]session.Step{nil, written[1:]} {
		if _, why := Merge(plan(), bad); why == "" {
			t.Errorf("Merge took %+v", bad)
		}
	}
}

func TestAStepIsWrittenAndRead(t *testing.T) {
	s := session.Step{Title: "core logic", Instructions: "move the rules\ninto one place\nnote: carefully", Proof: "tests pass", Check: "go test ./...", Tier: models.Heavy, Pinned: true, Needs: []int{1}, Pause: true}
	got, err := Parse(Text(s), s)
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
			_, err := Parse(tt.text, session.Step{})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("title: a\ndo: b\nc\nproof:\ncheck: d\ntier: heavy only")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text, session.Step{})
		if err != nil {
			return
		}
		again, err := Parse(Text(s), session.Step{})
		if err != nil || again.Title != s.Title || again.Tier != s.Tier || again.Pinned != s.Pinned {
			t.Errorf("%q became %+v, then %+v, %v", text, s, again, err)
		}
	})
}
