package store

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"belay/models"
	"belay/models/redact"
	"belay/session"
)

// Export writes a whole session: "markdown" for reading, "jsonl" for programs,
// with one event a line under its stored name.
func (s *Store) Export(ctx context.Context, id session.ID, w io.Writer, format string) error {
	const step = "export session"
	state, _, err := s.state(ctx, s.reader, id)
	if err != nil {
		return s.wrap(step, err)
	}
	out := bufio.NewWriter(w)
	var each func(session.Record) error
	switch format {
	case "jsonl":
		each = func(r session.Record) error { return writeLine(out, r, s.rehearsed) }
	case "markdown":
		writeTitle(out, state)
		if s.rehearsed {
			fmt.Fprint(out, "Rehearsed: a script answered in place of the models.\n")
		}
		rewound := false
		each = func(r session.Record) error {
			if now := state.IsRewound(r.Seq); now != rewound {
				rewound = now
				writeRewoundMark(out, rewound)
			}
			writeRecord(out, r)
			return nil
		}
	default:
		return &Error{Step: step, Err: fmt.Errorf("unknown format %q", format), Advice: "use markdown or jsonl"}
	}
	if err := eachFrom(ctx, s.reader, id, 1, func(r session.Record, _ int64) error { return each(r) }); err != nil {
		return s.wrap(step, err)
	}
	return s.wrap(step, out.Flush())
}

// exportedEvent is an event in the exported form.
type exportedEvent struct {
	Version int             `json:"v"`
	Session session.ID      `json:"session"`
	Seq     int64           `json:"seq"`
	Turn    int             `json:"turn"`
	Time    time.Time       `json:"time"`
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`
	// Rehearsed says that a script answered in place of the models.
	Rehearsed bool `json:"rehearsed,omitempty"`
}

func writeLine(w io.Writer, r session.Record, rehearsed bool) error {
	name, data, err := session.Encode(r.Event)
	if err != nil {
		return err
	}
	if !json.Valid(data) { // an event of a newer belay whose text was hurt
		name, data = "noted", []byte(`{"text":"this record cannot be read"}`)
	}
	data = redact.JSON(data, redact.Likely)
	line, err := json.Marshal(exportedEvent{1, r.Session, r.Seq, r.Turn, r.Time, name, data, rehearsed})
	if err != nil {
		return err
	}
	_, err = w.Write(append(session.EscapeInvisible(line), '\n'))
	return err
}

func writeTitle(w io.Writer, s session.Session) {
	title := s.Title
	if title == "" {
		title = "Session " + string(s.ID)
	}
	fmt.Fprintf(w, "# %s\n\n", printable(strings.Join(strings.Fields(title), " ")))
	begun := s.Created.Format("2006-01-02 15:04 MST")
	fmt.Fprintf(w, "Session %s in %s, begun %s, turns: %d.\n", s.ID, printable(s.Project), begun, s.Turn)
	if s.Parent != "" {
		fmt.Fprintf(w, "Forked from %s.\n", s.Parent)
	}
}

// writeRewoundMark says where what a rewind took back begins, and where it ends.
func writeRewoundMark(w io.Writer, rewound bool) {
	if rewound {
		fmt.Fprint(w, "\n*From here on, this was taken back by a rewind:*\n")
	} else {
		fmt.Fprint(w, "\n*Up to here, it was taken back.*\n")
	}
}

// writeRecord writes what a reader wants to see of an event. Errors stay in
// the buffered writer until its Flush.
func writeRecord(w io.Writer, r session.Record) {
	switch e := r.Event.(type) {
	case session.TurnStarted:
		writePrompt(w, r.Time, e.Prompt)
	case session.PromptTaken:
		writePrompt(w, r.Time, e.Prompt)
	case session.ItemAdded:
		switch {
		case e.Item.Kind == models.Message && e.Item.Role == models.Assistant:
			fmt.Fprintf(w, "\n## %s\n\n%s\n", printable(firstNonEmpty(e.Item.Origin.Model, "Model")), printable(e.Item.Text))
		case e.Item.Kind == models.Reasoning && e.Item.Text != "":
			fmt.Fprintf(w, "\n> %s\n", strings.ReplaceAll(printable(e.Item.Text), "\n", "\n> "))
		}
	case session.CutOff:
		if e.Text != "" {
			fmt.Fprintf(w, "\n*Cut off:*\n\n%s\n", printable(e.Text))
		}
	case session.ToolEnded:
		fmt.Fprintf(w, "\n**%s** %s%s\n", printable(e.Tool), printable(e.Title), outcomeText(e))
		if e.Diff != "" {
			fence(w, "diff", e.Diff)
		} else if e.Output != "" {
			fence(w, "", e.Output)
		}
	case session.StepMoved:
		fmt.Fprintf(w, "\n*Step %d, %s: %s*\n", e.Number, printable(e.Step.Title), e.Step.State)
		if e.Step.State == session.StepDone && e.Step.Note != "" {
			fmt.Fprintf(w, "\n%s\n", printable(e.Step.Note))
		}
	case session.StepChecked:
		fmt.Fprintf(w, "\n*Check of step %d: %s: %s*\n", e.Number, printable(e.Command), printable(e.Summary))
	case session.Rewound:
		fmt.Fprintf(w, "\n*Rewound: %d files written, %d removed*\n", e.Written, e.Removed)
	case session.Switched:
		fmt.Fprintf(w, "\n*%s → %s*\n", printable(e.From.String()), printable(e.To.String()))
	case session.TurnEnded:
		if e.Outcome != session.OutcomeDone {
			why := e.Reason
			if e.Fault != nil {
				why = e.Fault.Error()
			}
			fmt.Fprintf(w, "\n*Turn %d: %s. %s*\n", r.Turn, e.Outcome, printable(why))
		}
	case session.Noted:
		fmt.Fprintf(w, "\n*%s*\n", printable(e.Text))
	}
}

func writePrompt(w io.Writer, at time.Time, p session.Prompt) {
	fmt.Fprintf(w, "\n## You, %s\n\n%s\n", at.Format("2006-01-02 15:04 MST"), printable(p.Text))
	if n := len(p.Images); n > 0 {
		fmt.Fprintf(w, "\n*%d pictures*\n", n)
	}
	for _, a := range p.Attachments {
		fmt.Fprintf(w, "\n**attached** %s\n", printable(a.Name))
		fence(w, "", a.Text)
	}
}

func outcomeText(e session.ToolEnded) string {
	switch {
	case e.Unknown:
		return " (interrupted: not known whether it was done)"
	case e.Denied:
		return " (denied)"
	case e.Error:
		return " (failed)"
	}
	return ""
}

// fence writes a block whose fence is longer than any in the text.
func fence(w io.Writer, language, text string) {
	longest, run := 2, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	mark := strings.Repeat("`", longest+1)
	fmt.Fprintf(w, "\n%s%s\n%s\n%s\n", mark, language, strings.TrimSuffix(printable(text), "\n"), mark)
}

// printable takes out what could steer a terminal or turn text around, for exports are
// read with cat; and what looks like a credential, for they are passed on.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if r < ' ' {
			return -1
		}
		return r
	}, session.EscapeText(redact.Likely(text)))
}

func firstNonEmpty(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
