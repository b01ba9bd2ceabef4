package steps

import (
	"fmt"
	"strings"

	"belay/session"
)

// instructions are what a step's session is told next.
func (r *stepRun) instructions() string {
	if r.step.FailedChecks > 0 {
		return "The check of this step has failed. Mend what is wrong, in the spirit of the step; " +
			"do not weaken the check.\n\n" + r.step.Reason
	}
	return firstInstructions(*r.Log.State().Plan, r.number)
}

// firstInstructions are all that the session of a step knows at its beginning.
func firstInstructions(plan session.Plan, number int) string {
	step := plan.Steps[number-1]
	var text strings.Builder
	fmt.Fprintf(&text, "Step %d of %d: %s\n\n%s\n", number, len(plan.Steps), step.Title, step.Instructions)
	if step.Proof != "" {
		fmt.Fprintf(&text, "\nWhat shows that it is done: %s\n", step.Proof)
	}
	if step.Check != "" {
		fmt.Fprintf(&text, "\nThis command decides whether it is done, and is run for you when you end: %s\n", step.Check)
	}
	fmt.Fprintf(&text, "\n# The task that this is a step of, in the user's words\n\n%s\n\n# The plan\n\n", plan.Task)
	for i, x := range plan.Steps {
		state := string(x.State)
		if i == number-1 {
			state = "this step"
		}
		fmt.Fprintf(&text, "%d. %s (%s)\n", i+1, x.Title, state)
	}
	for i, x := range plan.Steps {
		if x.State == session.StepDone && x.Note != "" {
			fmt.Fprintf(&text, "\n# What came of step %d, %s\n\n%s\n", i+1, x.Title, x.Note)
		}
	}
	text.WriteString("\nDo this step and nothing of the others. End with a short note for whoever does the next one: " +
		"what you did and decided, the files you changed, what is left.")
	return text.String()
}

// note is what a step leaves for those after it.
func note(answer string) string { return truncate(strings.TrimSpace(answer), maxNote) }

// truncate keeps the beginning and the end of a text.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit/3], "") + "\n…\n" + strings.ToValidUTF8(text[len(text)-limit*2/3:], "")
}
