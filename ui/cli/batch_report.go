package cli

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
	texttemplate "text/template"
	"time"

	"belay/session/batch"
	"belay/session/queue"
	"belay/ui/theme"
)

//go:embed batch.html
var batchHTML string

//go:embed batch.md
var batchMarkdown string

// reportTask is a task as a report tells of it.
type reportTask struct {
	Number                               int
	ID, Name, State, Prompt, Text, Error string
	Hint, Session, Branch, Commit, Took  string
	Tries, Restarts, Requests, Full      int
	Cost                                 float64
}

type report struct {
	Batch, File, When string
	Sum               reportSum
	Tasks             []reportTask
}

type reportSum struct {
	Tasks, Done, Failed, Cancelled, Open, Restarts int
	Cost                                           float64
	Input, Output                                  int64
}

func reportOf(b queue.Batch, tasks []queue.Entry, sum batchSum, now time.Time) report {
	r := report{
		Batch: b.ID, File: theme.Line(b.Name), When: now.Local().Format("2006-01-02 15:04"),
		Sum: reportSum{
			Tasks: sum.tasks, Done: sum.done, Failed: sum.failed, Cancelled: sum.cancelled, Open: sum.open,
			Restarts: sum.restarts, Cost: sum.cost, Input: sum.usage.Input, Output: sum.usage.Output,
		},
	}
	for _, e := range tasks {
		took := ""
		if !e.Started.IsZero() && !e.Ended.IsZero() {
			took = e.Ended.Sub(e.Started).Round(time.Second).String()
		}
		failed := ""
		if e.State != batch.Done {
			failed = theme.Line(e.Result.Error)
		}
		r.Tasks = append(r.Tasks, reportTask{
			Number: e.Number, ID: e.ID, Name: theme.Line(e.Task.Name), State: string(e.State),
			Prompt: theme.Sanitize(e.Task.Prompt), Text: theme.Sanitize(e.Result.Text), Error: failed,
			Hint: theme.Line(e.Result.Hint), Session: string(e.Progress.Session), Branch: e.Result.Branch,
			Commit: e.Result.Commit, Took: took, Tries: e.Tries, Restarts: e.Restarts, Cost: e.Result.Cost,
			Requests: e.Result.Requests, Full: e.Result.Full,
		})
	}
	return r
}

// writeReport writes what has come of a batch: HTML where the file is called so, else
// Markdown. An older report is replaced.
func (cli batchCLI) writeReport(name string, r report) error {
	var text strings.Builder
	if strings.EqualFold(filepath.Ext(name), ".html") {
		page := template.Must(template.New("batch").Parse(batchHTML)) // escapes whatever it is given
		if err := page.Execute(&text, r); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	} else if err := r.markdown(&text); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (r report) markdown(b *strings.Builder) error {
	return texttemplate.Must(texttemplate.New("batch").Funcs(texttemplate.FuncMap{
		"cell":   func(s string) string { return strings.ReplaceAll(s, "|", "\\|") },
		"quoted": quoted,
	}).Parse(batchMarkdown)).Execute(b, r)
}

func quoted(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ")
}
