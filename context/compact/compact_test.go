package compact

import (
	"strings"
	"testing"

	"belay/models"
)

const good = "## Goal\n- mend the till\n## Constraints\nnone\n## Decisions\n- multiply\n## Done\n- till.sh\n## Not done\nnone\n## Files touched\n- till.sh\n## Commands and results\n- sh check.sh: ok\n## Open questions\nnone\n## Next step\n- docs"

func TestASummaryHasWhatTheLogKnows(t *testing.T) {
	f := Facts{
		Task:  "The till is wrong",
		Files: []string{"till.sh", "orders/service.go"},
		Plan:  []string{"write the docs"},
		Keep:  "no new dependencies",
	}
	got, err := Check(good, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The till is wrong", "orders/service.go", "write the docs", "no new dependencies",
		"- multiply", "## Next step\n- docs"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
	if strings.Count(got, "till.sh") != strings.Count(good, "till.sh") {
		t.Error("what is there already was added again")
	}
	again, err := Check(got, f)
	if err != nil || again != got {
		t.Errorf("checking again changes it:\n%s", again)
	}
}

func TestAHeadingMayBeWrittenInSeveralWays(t *testing.T) {
	text := strings.NewReplacer("## Goal", "# GOAL:", "## Done", "**Done**").Replace(good)
	got, err := Check(text, Facts{})
	if err != nil || !strings.Contains(got, "## Goal\n- mend the till") ||
		!strings.Contains(got, "## Done\n- till.sh") {
		t.Errorf("Check = %v\n%s", err, got)
	}
}

func TestWhatIsNoSummaryIsRefused(t *testing.T) {
	for _, text := range []string{"", "I cannot do that.", "## Goal\n- x"} {
		if got, err := Check(text, Facts{}); err == nil {
			t.Errorf("Check(%q) = %q, want an error", text, got)
		}
	}
}

func TestARequestIsBoundedAndHoldsTheCertainFacts(t *testing.T) {
	items := []models.Item{
		models.NewMessage(models.User, strings.Repeat("old ", 1000)),
		{Kind: models.Call, Name: "shell", Arguments: "{}"},
		{
			Kind: models.Output,
			Text: "begin" + strings.Repeat("x", 10_000) + "end",
		},
		models.NewMessage(models.Assistant, "newest"),
	}
	req := Request("earlier", items, Facts{Task: "the task", Files: []string{"a.go"}}, 3000)
	text := req.Items[0].Text
	if len(text) > 5000 || strings.Contains(text, "old old") {
		t.Errorf("the request has %d bytes", len(text))
	}
	for _, want := range []string{"earlier", "newest", "begin", "end", "the task", "a.go", "left out"} {
		if !strings.Contains(text, want) {
			t.Errorf("the request lacks %q", want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(good, "task")
	f.Fuzz(func(t *testing.T, text, task string) {
		got, err := Check(text, Facts{Task: task})
		if err == nil && !strings.Contains(got, strings.TrimSpace(task)) {
			t.Errorf("Check(%q) lost the task", text)
		}
	})
}
