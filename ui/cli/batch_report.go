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
	"belay/ui/locale"
	"belay/ui/theme"
)

//go:embed batch.html
var batchHTML string

//go:embed batch.md
var batchMarkdown string

// reportTask is a task as a report tells of it.
type reportTask struct {
	Number                              int
	ID, Name, Prompt, Text, Error       string
	State, Class                        string // in words, and for the style
	Hint, Session, Branch, Commit, Took string
	Tries, Restarts, Requests, Full     int
	Cost                                float64
}

// report is what has come of a batch, in the person's language.
type report struct {
	Language, Title, File, When, Sum, Session string
	Heads                                     []string // of the table
	Tasks                                     []reportTask
}

func reportOf(b queue.Batch, tasks []queue.Entry, sum batchSum, now time.Time) report {
	r := report{
		Language: locale.T("en"), Title: locale.T("batch %s", b.ID), File: theme.Line(b.Name),
		When: now.Local().Format("2006-01-02 15:04"), Session: locale.T("session"),
		Sum: locale.T("%d of %d tasks done, %d failed, %d cancelled, %d open, %d begun anew. $%.2f, %d tokens in, %d out.",
			sum.done, sum.tasks, sum.failed, sum.cancelled, sum.open, sum.restarts, sum.cost, sum.usage.Input, sum.usage.Output),
		Heads: []string{
			"#", locale.T("task"), locale.T("state"), locale.T("tries"), locale.T("requests"), locale.T("no room"),
			locale.T("cost"), locale.T("took"), locale.T("branch"),
		},
	}
	for _, e := range tasks {
		took := ""
		if !e.Started.IsZero() && !e.Ended.IsZero() {
			took = e.Ended.Sub(e.Started).Round(time.Second).String()
		}
		failed := ""
		if e.State != batch.Done {
			failed = locale.Said(theme.Line(e.Result.Error))
		}
		r.Tasks = append(r.Tasks, reportTask{
			Number: e.Number, ID: e.ID, Name: theme.Line(e.Task.Name), State: locale.T(string(e.State)), Class: string(e.State),
			Prompt: theme.Sanitize(e.Task.Prompt), Text: theme.Sanitize(e.Result.Text), Error: failed,
			Hint: locale.Said(theme.Line(e.Result.Hint)), Session: string(e.Progress.Session), Branch: e.Result.Branch,
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
