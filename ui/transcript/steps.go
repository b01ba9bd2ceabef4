package transcript

import (
	"fmt"
	"strings"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// stepsState is what the transcript remembers of a plan while it is carried out.
type stepsState struct {
	total    int                       // steps in the plan; 0: not known
	proposal string                    // the last proposal that was shown
	told     map[int]session.StepState // the states that were shown last
}

// applyPlan shows what happens to a plan, and to the checkpoints.
func (f *fold) applyPlan(r session.Record) {
	switch e := r.Event.(type) {
	case session.PlanSet:
		f.planSet(r, e.Plan)
	case session.StepMoved:
		f.stepMoved(r, e)
	case session.StepChecked:
		f.stepChecked(r, e)
	case session.Checkpointed:
		f.checkpointed(r, e)
	case session.Rewound:
		f.rewound(r, e)
	}
}

// planSet says that a plan was proposed, once.
func (f *fold) planSet(r session.Record, plan session.Plan) {
	f.steps.total = len(plan.Steps)
	if len(plan.Steps) == 0 {
		if plan.Planning != "" {
			f.addLine(r, "≡", locale.T("a model looks around and proposes steps"), plain)
		}
		return
	}
	proposal := plan.Task + "\x00" + string(plan.Planning)
	if f.steps.proposal == proposal {
		return
	}
	f.steps.proposal, f.steps.told = proposal, nil
	text := theme.Plural(len(plan.Steps), "step")
	if plan.By.Model != "" {
		text = locale.T("%s proposed by %s", text, f.shortName(plan.By))
	}
	f.addLine(r, "≡", locale.T("%s: %s shows them", text, keys.Label(keys.StepsPanel)), plain)
}

// stepMoved says that a step began, or what came of it, once.
func (f *fold) stepMoved(r session.Record, e session.StepMoved) {
	if f.steps.told[e.Number] == e.Step.State {
		return
	}
	if f.steps.told == nil {
		f.steps.told = map[int]session.StepState{}
	}
	f.steps.told[e.Number] = e.Step.State
	s := e.Step
	step := locale.T("step %d", e.Number)
	switch s.State {
	case session.StepRunning:
		if f.steps.total > 0 {
			step = locale.T("step %d of %d", e.Number, f.steps.total)
		}
		if s.Title != "" {
			step += ": " + theme.Line(s.Title)
		}
		if s.Tier != "" {
			step += " (" + theme.Line(locale.T(string(s.Tier))) + ")"
		}
		f.addLine(r, "▶", step, plain)
	case session.StepDone:
		text := locale.T("%s done", step)
		if note := theme.Line(withoutMarks(firstLine(strings.TrimSpace(s.Note)))); note != "" {
			text += ": " + theme.Cut(note, 200)
		}
		if s.ToolCalls > 0 {
			text += " · " + theme.Plural(s.ToolCalls, "call")
		}
		if s.Cost > 0 {
			text += " · " + theme.Money(s.Cost)
		}
		f.addLine(r, "✓", text, good)
	case session.StepFailed:
		f.addLine(r, "✗", locale.T("%s failed", step)+reasonText(s.Fault, theme.Line(s.Reason)), bad)
	case session.StepParked:
		text := locale.T("%s parked", step)
		if !s.RetryAt.IsZero() {
			text += locale.T(", next try at %s", theme.At(s.RetryAt))
		}
		f.addLine(r, "⏸", text+reasonText(s.Fault, theme.Line(s.Reason)), warn)
	case session.StepPerson:
		f.addLine(r, "!", locale.T("%s needs you", step)+reasonText(s.Fault, theme.Line(s.Reason)), warn)
	case session.StepSkipped:
		f.addLine(r, "–", locale.T("%s skipped", step)+reasonText(nil, theme.Line(s.Reason)), plain)
	}
}

// stepChecked shows a check as a call: one line, and what it printed behind it.
func (f *fold) stepChecked(r session.Record, e session.StepChecked) {
	c := newEntry(call, r)
	c.id, c.isCheck = fmt.Sprintf("check %d", r.Seq), true
	c.tool, c.title = "check", e.Command
	c.output, c.summary = e.Output, e.Summary
	c.phase, c.duration = done, e.Duration
	if !e.OK {
		c.phase = failed
	}
	f.push(c)
}
