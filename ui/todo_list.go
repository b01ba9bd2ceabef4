package ui

import (
	"slices"
	"strings"
	"time"

	"belay/session"
	"belay/ui/locale"
	"belay/ui/theme"
)

// turnProgress is how far the turn under way has come, as far as it was heard of.
type turnProgress struct {
	todosTurn int   // in which the model's list was changed last
	written   int64 // tokens that the model has written in finished requests of the turn
	arriving  int64 // bytes of the reply that is arriving
	told      int64 // tokens that are shown: they change once a second
}

// apply follows the log.
func (p *turnProgress) apply(r session.Record) {
	switch e := r.Event.(type) {
	case session.TurnStarted:
		p.written, p.arriving, p.told = 0, 0, 0
	case session.TodosChanged:
		p.todosTurn = r.Turn
	case session.TextDelta:
		p.arriving += int64(len(e.Text))
	case session.ReasoningDelta:
		p.arriving += int64(len(e.Text))
	case session.ReplyEnded, session.AttemptFailed, session.CutOff:
		usage, _ := session.RequestUsage(e)
		p.written += usage.Output
		p.arriving = 0
	}
}

// count takes what is known now as what is shown.
func (p *turnProgress) count() { p.told = p.written + p.arriving/bytesPerToken }

// The bounds of the model's list above the composer.
const (
	maxTodos        = 5
	maxTodosMedium  = 3
	minTodosHeight  = 24 // below it is one line
	minTodosTall    = 36 // from here on it has its most lines
	todosStandAfter = 10 * time.Minute
)

// todoLines are the open points of the model's list: one line where there is little
// room, or something waits for a person.
func (v *sessionView) todoLines(area frame, crowded bool) []string {
	todos := v.state.Todos
	current := slices.IndexFunc(todos, func(t session.Todo) bool { return t.Status != todoDone })
	if current < 0 || !v.todosStand(area.now) {
		return nil
	}
	if active := slices.IndexFunc(todos, func(t session.Todo) bool { return t.Status == todoActive }); active >= 0 {
		current = active
	}
	done := len(slices.DeleteFunc(slices.Clone(todos), func(t session.Todo) bool { return t.Status != todoDone }))
	rows := maxTodos
	switch {
	case crowded || area.height < minTodosHeight:
		rows = 1
	case area.height < minTodosTall:
		rows = maxTodosMedium
	}
	rows = min(rows, len(todos))
	from := min(max(current-1, 0), len(todos)-rows)
	if rows == 1 {
		from = current
	}
	th := area.theme
	lead := locale.T("plan") + " " + theme.Count(int64(done)) + "/" + theme.Count(int64(len(todos)))
	var lines []string
	for i, todo := range todos[from : from+rows] {
		margin := strings.Repeat(" ", theme.Width(lead))
		if i == 0 {
			margin = th.Strong.Paint(lead)
		}
		mark, style := todoMark(th, todo.Status)
		text := theme.Cut(theme.Line(todo.Text), area.width-theme.Width(lead)-9)
		lines = append(lines, "   "+margin+"  "+mark+" "+style.Paint(text))
	}
	if area.height >= minAiryHeight {
		lines = append([]string{""}, lines...)
	}
	return lines
}

// The states of a point of the model's list.
const (
	todoDone   = "done"
	todoActive = "active"
)

func todoMark(th *theme.Theme, status string) (mark string, text theme.Style) {
	switch status {
	case todoDone:
		return th.Good.Paint("✓"), th.Dim
	case todoActive:
		return th.Accent.Paint("▸"), th.Strong
	}
	return th.Dim.Paint("○"), theme.Style{}
}

// todosStand reports whether the list belongs to what is being done: the turn that
// changed it, or the one after it, is under way, or ended a short while ago.
func (v *sessionView) todosStand(now time.Time) bool {
	age := v.state.Turn - v.progress.todosTurn
	switch {
	case v.progress.todosTurn == 0 || age > 1:
		return false
	case v.state.Live() || v.stuck():
		return true
	}
	return age == 0 && now.Sub(v.state.Updated) < todosStandAfter
}

// spins reports whether something is at work that a person waits for.
func (v *sessionView) spins() bool {
	return v.wait == nil && (v.state.Status == session.Running || v.activity.kind == summarising)
}

// writtenBy is the progress of the one who works: a step's session for its plan.
func writtenBy(view, worker *sessionView) *turnProgress {
	if worker != nil {
		return &worker.progress
	}
	return &view.progress
}
