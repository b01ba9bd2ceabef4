package transcript

import (
	"fmt"
	"slices"
	"strings"

	"belay/models"
	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// applyTurn shows what happens to a turn, from its prompt to its end.
func (f *fold) applyTurn(r session.Record) {
	switch e := r.Event.(type) {
	case session.TurnStarted:
		f.turnStarted(r, e)
	case session.PromptTaken:
		f.endReply(r.Time)
		f.prompted(r, e.Prompt, e.Note).taken = true
	case session.TurnResumed:
		f.endReply(r.Time)
		f.dropAdvice()
		f.endAttempt()
		f.addLine(r, "↻", strings.TrimSuffix(locale.T("goes on")+": "+locale.Said(theme.Line(e.Why)), ": "), plain)
	case session.AttemptFailed:
		f.attemptFailed(r, e)
	case session.ReplyResumed:
		f.addLine(r, "·", locale.T("the connection broke; the same reply goes on"), plain)
	case session.ReplyContinued:
		f.endReply(r.Time)
		f.addLine(r, "↻", locale.Said(theme.Line(e.Text())), plain)
	case session.Switched:
		f.switched(r, e)
	case session.ReplyEnded:
		f.replyEnded(r, e)
	case session.TodosChanged:
		f.todosChanged(r, e)
	case session.TurnEnded:
		f.turnEnded(r, e)
	case session.Noted:
		n := f.addNotice(r, "·", locale.Said(theme.Sanitize(e.Text)))
		n.level = plain
	case session.Unknown:
		f.addLine(r, "·", locale.T("written by a newer belay: %s", theme.Line(e.Type)), plain)
	default:
		if !f.applyContext(r) {
			f.applyPlan(r)
		}
	}
}

// applyContext shows what changes the requests that follow. It reports whether the
// record is one of these.
func (f *fold) applyContext(r session.Record) bool {
	switch e := r.Event.(type) {
	case session.Pruned:
		f.addLine(r, "…", locale.T("%s taken out of what the model sees: %s", locale.Said(theme.Line(e.By)), sizes(e.Before, e.After)), plain)
	case session.Restored:
		f.addLine(r, "…", locale.T("what was taken out is back in what the model sees"), plain)
	case session.Compacted:
		n := f.addNotice(r, "…", locale.T("older work is now a summary: %s", sizes(e.Before, e.After)))
		n.foldsDetail, n.detail = true, theme.Sanitize(e.Summary)
	case session.Focused:
		text := locale.T("searches keep to %s", theme.Line(strings.Join(e.Paths, ", ")))
		if len(e.Paths) == 0 {
			text = locale.T("searches look everywhere again")
		}
		f.addLine(r, "·", text, plain)
	case session.EffortChosen:
		text := locale.T("reasoning effort: %s", theme.Line(e.Effort))
		if e.Effort == "" {
			text = locale.T("reasoning effort as the settings say")
		}
		f.addLine(r, "·", text, plain)
	case session.NotePinned:
		text := locale.T("pinned to every request: %s", theme.Line(e.Text))
		if e.Unpinned {
			text = locale.T("no longer pinned: %s", theme.Line(e.Text))
		}
		f.addLine(r, "·", text, plain)
	default:
		return false
	}
	return true
}

func sizes(before, after int64) string {
	return locale.T("%s → %s tokens", theme.Count(before), theme.Count(after))
}

func (f *fold) turnStarted(r session.Record, e session.TurnStarted) {
	f.endReply(r.Time)
	f.dropAdvice()
	f.startTurn()
	if f.todos != nil && f.todos.brief { // it no longer stands above the composer
		f.todos.brief = false
		f.todos.invalidate()
	}
	f.turnTotals(r.Turn).startedAt = r.Time
	f.prompted(r, e.Prompt, e.Note)
}

// prompted shows a message of the person's, and what goes with it.
func (f *fold) prompted(r session.Record, message session.Prompt, note string) *entry {
	p := newEntry(prompt, r)
	p.at, p.text, p.inner = r.Time, message.Text, f.inner
	if p.text != "" { // a plan may begin without words
		f.push(p)
	}
	if n := len(message.Images); n > 0 {
		f.addLine(r, "+", theme.Plural(n, "picture"), plain)
	}
	for _, a := range message.Attachments {
		l := f.addLine(r, "+", locale.T("%s goes with it", locale.Said(theme.Line(a.Name))), plain)
		l.foldsDetail, l.detail = true, theme.Sanitize(a.Text)
	}
	if note != "" {
		f.addLine(r, "·", locale.T("the model is also told: %s", theme.Cut(theme.Line(note), 160)), plain)
	}
	return p
}

func (f *fold) replyEnded(r session.Record, e session.ReplyEnded) {
	f.addRequest(r)
	f.failures = 0
	f.endAttempt()
	if e.Served != "" && !models.SameName(e.Served, e.Target.Model) && !strings.HasPrefix(e.Served, e.Target.Model+"-") {
		f.addLine(r, "≠", locale.T("%s was asked, %s answered", e.Target.Model, e.Served), warn)
	}
	if e.LeftOut > 0 {
		f.addLine(r, "…", locale.N(e.LeftOut, "%d older item did not fit and stayed out of the request",
			"%d older items did not fit and stayed out of the request"), plain)
	}
}

// addRequest counts what a request of the turn took.
func (f *fold) addRequest(r session.Record) {
	usage, cost := session.RequestUsage(r.Event)
	totals := f.turnTotals(r.Turn)
	totals.usage = totals.usage.Add(usage)
	totals.cost += cost
}

// addLine shows one line about what happened.
func (f *fold) addLine(r session.Record, symbol, text string, l level) *entry {
	e := newEntry(statusLine, r)
	e.symbol = symbol
	e.text = text
	e.level = l
	return f.push(e)
}

// addNotice shows what a person should read.
func (f *fold) addNotice(r session.Record, symbol, text string) *entry {
	e := newEntry(notice, r)
	e.symbol, e.text = symbol, text
	return f.push(e)
}

func (f *fold) todosChanged(r session.Record, e session.TodosChanged) {
	todos := make([]todo, len(e.Todos))
	for i, t := range e.Todos {
		todos[i] = todo{t.Text, t.Status}
	}
	if f.todos == nil || f.todos.turn != r.Turn {
		f.todos = f.push(newEntry(todoList, r))
	}
	f.todos.todos = todos
	f.todos.brief = slices.ContainsFunc(todos, func(t todo) bool { return t.status != "done" })
	f.todos.invalidate()
}

func (f *fold) turnEnded(r session.Record, e session.TurnEnded) {
	f.endReply(r.Time)
	totals := f.turnTotals(r.Turn)
	totals.endedAt = r.Time
	symbol, text := "·", locale.T("done")
	reason := locale.Said(theme.Line(e.Reason))
	switch e.Outcome {
	case session.OutcomeParked:
		f.addNotice(r, "⏸", parkedText(e)+reasonText(e.Fault, reason)).level = warn
		return
	case session.OutcomeFailed:
		f.turnFailed(r, e.Fault, reason)
		text = locale.T("failed")
	case session.OutcomeStopped:
		if e.Interrupted {
			f.advice = f.addNotice(r, "≋", locale.T("belay ended here in mid-turn. What was done is kept."))
			f.advice.level = warn
			f.advice.detail = locale.T("%s goes on; or just write what is next", keys.Label(keys.TryNow))
			return
		}
		symbol, text = "■", locale.T("stopped")
	case session.OutcomeNeedsPerson:
		n := f.addNotice(r, "!", locale.T("needs you")+reasonText(e.Fault, reason))
		n.level, n.detail = warn, evidence(e.Fault)
		text = locale.T("waits for you")
	}
	end := newEntry(ending, r)
	end.symbol = symbol
	end.text = text
	end.totals = totals
	f.push(end)
}

func (f *fold) turnFailed(r session.Record, fault *models.Fault, reason string) {
	n := f.addNotice(r, "✗", locale.T("failed")+reasonText(fault, reason))
	n.level, n.detail = bad, evidence(fault)
	if fault != nil && reason != "" { // the turn ended for more than its last fault
		n.text = reason
		n.detail = strings.TrimPrefix(reasonText(fault, ""), ": ") + "\n" + n.detail
	}
}

func parkedText(e session.TurnEnded) string {
	text := locale.T("parked")
	if !e.RetryAt.IsZero() {
		text += locale.T(", next try at %s", theme.At(e.RetryAt)) // true also when it is read later
	}
	if e.ParkCount > 0 {
		text += locale.T(" (%s time)", ordinal(e.ParkCount))
	}
	return text
}

// dropAdvice takes back advice on how to go on: it goes on.
func (f *fold) dropAdvice() {
	if f.advice != nil {
		f.advice.detail = ""
		f.advice.invalidate()
		f.advice = nil
	}
}

func reasonText(f *models.Fault, reason string) string {
	switch {
	case f != nil && f.Target != (models.Target{}):
		return ": " + theme.Kind(f) + " (" + theme.Line(f.Target.String()) + ")"
	case f != nil:
		return ": " + theme.Kind(f)
	case reason != "":
		return ": " + locale.Said(reason)
	}
	return ""
}

// evidence is the server's own words and what a person can do.
func evidence(fault *models.Fault) string {
	if fault == nil {
		return ""
	}
	var lines []string
	var head []string
	if fault.Status != 0 {
		head = append(head, fmt.Sprint(fault.Status))
	}
	if fault.Code != "" {
		head = append(head, theme.Line(fault.Code))
	}
	if fault.RequestID != "" {
		head = append(head, locale.T("request %s", theme.Line(fault.RequestID)))
	}
	if len(head) > 0 {
		lines = append(lines, strings.Join(head, " · "))
	}
	if fault.Message != "" {
		lines = append(lines, "“"+theme.Line(fault.Message)+"”")
	}
	if fault.Hint != "" {
		lines = append(lines, locale.Said(theme.Line(fault.Hint)))
	}
	if len(fault.Nearest) > 0 {
		lines = append(lines, locale.T("the endpoint knows: %s", theme.Line(strings.Join(fault.Nearest, ", "))))
	}
	return strings.Join(lines, "\n")
}

func ordinal(n int) string {
	switch n {
	case 1:
		return locale.T("1st")
	case 2:
		return locale.T("2nd")
	case 3:
		return locale.T("3rd")
	}
	return locale.T("%dth", n)
}
