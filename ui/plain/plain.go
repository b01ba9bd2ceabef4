// Package plain decides how a running session is told without a screen: the
// answer and one line an event for people, or JSON lines for programs.
package plain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"belay/models"
	"belay/session"
	"belay/ui/locale"
	"belay/ui/theme"
)

// Writer tells of records.
type Writer interface {
	Record(r session.Record, t *Turn)
	Tick()
	// Part writes a record of the session that carries out a step.
	Part(r session.Record, t *Turn)
	// Answer writes the answer of a turn that was asked for one by a schema.
	Answer(end session.Record, value json.RawMessage)
	// Err is why the answer, or a line of JSON, could not be written.
	Err() error
}

// Turn is what is known of the turn so far. Feed it each record before it is
// written.
type Turn struct {
	Text   string // the model's words since its last tool call
	Before string // its words before the tool call that follows
	Usage  models.Usage
	Cost   float64

	Formed bool   // its answer must fit a schema: Writer.Answer tells it, and nothing else does
	Joined string // as Text, but what goes on after a length limit stands without a gap

	continued bool   // the next words go on where the last ones were cut
	served    string // the model that the endpoint says has answered
}

// Add takes the next record.
func (t *Turn) Add(r session.Record) {
	switch e := r.Event.(type) {
	case session.TurnStarted:
		*t = Turn{Formed: e.Prompt.Answer != nil}
	case session.ReplyContinued:
		t.continued = e.Reason == session.ContinuedAtLength
	case session.ItemAdded:
		switch {
		case e.Item.Kind == models.Call:
			t.Before, t.Text, t.Joined = t.Text, "", ""
		case e.Item.Kind == models.Message && e.Item.Role == models.Assistant:
			if t.Text != "" {
				t.Text += "\n\n"
			}
			if t.Joined != "" && !t.continued {
				t.Joined += "\n\n"
			}
			t.continued = false
			t.Text += e.Item.Text
			t.Joined += e.Item.Text
		}
	case session.StepMoved:
		if e.Step.State == session.StepDone { // a plan's answer is what its steps say of themselves
			t.Text += fmt.Sprintf("## %d. %s\n\n%s\n\n", e.Number, e.Step.Title, e.Step.Note)
		}
	case session.ReplyOpened:
		t.served = e.Served
	case session.ReplyEnded:
		t.served = cmp.Or(e.Served, t.served)
		t.AddRequest(r)
	case session.AttemptFailed, session.CutOff:
		t.AddRequest(r)
	}
}

// AddRequest counts what a request took. One for a summary is not of the turn;
// its events are not stored.
func (t *Turn) AddRequest(r session.Record) {
	if r.Seq > 0 {
		usage, cost := session.RequestUsage(r.Event)
		t.Usage = t.Usage.Add(usage)
		t.Cost += cost
	}
}

// another reports whether an endpoint served a model that was not asked for. A
// dated name of the same model is none.
func another(asked, served string) bool {
	if served == "" || models.SameName(served, asked) {
		return false
	}
	rest, same := strings.CutPrefix(served, asked+"-")
	return !same || strings.Trim(rest, "0123456789-") != ""
}

// Tick does nothing: programs do not need a countdown.
func (j *JSON) Tick() {}

// Err is why a line could not be written.
func (j *JSON) Err() error { return j.err }

// Describe says a fault in one line: plain words, the code, who and the
// server's own text.
func Describe(f *models.Fault) string {
	if f == nil {
		return locale.T("for an unknown reason")
	}
	s := theme.Kind(f)
	if code := cmp.Or(f.Code, f.Type); code != "" {
		s += " (" + theme.Line(code) + ")"
	} else if f.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", f.Status)
	}
	if f.Target != (models.Target{}) {
		s = locale.T("%s at %s", s, f.Target)
	}
	if f.Message != "" {
		s += ": " + locale.Said(theme.Line(f.Message))
	} else if f.Err != nil {
		s += ": " + theme.Line(f.Err.Error())
	}
	if f.RequestID != "" {
		s += " [" + locale.T("request %s", theme.Line(f.RequestID)) + "]"
	}
	return s
}

// Clean returns a writer that passes text on as theme.Sanitize leaves it.
// Each Write must hold whole characters.
func Clean(w io.Writer) io.Writer { return cleaner{w} }

type cleaner struct{ w io.Writer }

func (c cleaner) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.w, theme.Sanitize(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
