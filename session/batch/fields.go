package batch

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"belay/models"
	"belay/session"
)

// reader makes tasks of what a file says.
type reader struct {
	ReadOptions
	mistakes Mistakes
}

func (r *reader) bad(line int, key, problem, hint string) {
	r.mistakes = append(r.mistakes, Mistake{Line: line, Key: key, Problem: problem, Hint: hint})
}

func (r *reader) tasks(doc document) []Task {
	switch {
	case len(doc.tasks) == 0 && len(r.mistakes) == 0:
		r.bad(0, "", "there is no task in it", "see `belay help batch`")
		return nil
	case len(doc.tasks) > maxTasks:
		r.bad(0, "", fmt.Sprintf("%d tasks are too many", len(doc.tasks)), fmt.Sprintf("at most %d", maxTasks))
		return nil
	}
	base := r.Base
	r.fill(&base, "defaults", doc.defaults)
	_, worktreeSaid := doc.defaults.values["worktree"]
	named := map[string]int{}
	tasks := make([]Task, 0, len(doc.tasks))
	digits := max(3, len(fmt.Sprint(len(doc.tasks))))
	for i, t := range doc.tasks {
		label := fmt.Sprintf("task %d", i+1)
		task := base
		task.Name = ""
		r.fill(&task, label, t)
		if _, said := t.values["folder"]; task.Repository != "" && !said && doc.defaults.values["folder"].is == nil {
			task.Folder = ""
		}
		if task.Name == "" {
			task.Name = fmt.Sprintf("task-%0*d", digits, i+1)
		}
		if first, twice := named[task.Name]; twice {
			r.bad(t.line, label+": name", fmt.Sprintf("%q is the name of task %d", task.Name, first), "each name once")
		}
		named[task.Name] = i + 1
		if _, said := t.values["worktree"]; !said && !worktreeSaid && (task.Repository != "" || task.Branch != "") {
			task.Worktree = true
		}
		r.check(task, label, t)
		tasks = append(tasks, task)
	}
	return tasks
}

// field sets one value of a task; the problem is empty if it fits.
type field func(r *reader, t *Task, v any) (problem, hint string)

// fields are the keys of a task.
var fields = map[string]field{
	"name":       text(func(t *Task) *string { return &t.Name }, 200),
	"prompt":     text(func(t *Task) *string { return &t.Prompt }, maxPrompt),
	"folder":     folder,
	"repository": text(func(t *Task) *string { return &t.Repository }, 4096),
	"revision":   text(func(t *Task) *string { return &t.Revision }, 1000),
	"branch":     text(func(t *Task) *string { return &t.Branch }, 200),
	"effort":     text(func(t *Task) *string { return &t.Effort }, 50),
	"worktree":   truth(func(t *Task) *bool { return &t.Worktree }),
	"quiet":      truth(func(t *Task) *bool { return &t.Quiet }),
	"priority":   whole(func(t *Task) *int { return &t.Priority }, 1, maxPriority),
	"retries":    whole(func(t *Task) *int { return &t.Retries }, 0, maxRetries),
	"max_steps":  whole(func(t *Task) *int { return &t.MaxSteps }, 0, 1e6),
	"max_cost":   cost,
	"timeout":    duration,
	"tier": oneOf(func(t *Task, s string) { t.Tier = models.Tier(s) },
		string(models.Heavy), string(models.Medium), string(models.Light)),
	"approve": oneOf(func(t *Task, s string) { t.Approve = session.Mode(s) },
		string(session.Ask), string(session.Edits), string(session.All)),
	"lane": oneOf(func(t *Task, s string) { t.Lane = Lane(s) }, string(Interactive), string(Normal), string(Bulk)),
}

// Keys lists the keys that a task may have.
func Keys() []string { return slices.Sorted(maps.Keys(fields)) }

func (r *reader) fill(task *Task, label string, t table) {
	for _, key := range slices.Sorted(maps.Keys(t.values)) {
		v := t.values[key]
		set := fields[key]
		if set == nil {
			r.bad(v.line, label+": "+key, "is not known", nearest(key))
			continue
		}
		if problem, hint := set(r, task, v.is); problem != "" {
			r.bad(v.line, label+": "+key, problem, hint)
		}
	}
}

func nearest(key string) string {
	if found := models.Nearest(key, Keys()); len(found) > 0 {
		return fmt.Sprintf("did you mean %s?", found[0])
	}
	return "a task has " + strings.Join(Keys(), ", ")
}

// branchName is stricter than git: nothing that a shell, or git itself, takes for
// something else.
var branchName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+@-]*$`)

// check looks at what depends on several keys.
func (r *reader) check(task Task, label string, t table) {
	line := func(key string) int {
		if v, said := t.values[key]; said {
			return v.line
		}
		return t.line
	}
	if strings.TrimSpace(task.Prompt) == "" {
		r.bad(line("prompt"), label, "has no prompt", "")
	}
	if strings.HasPrefix(task.Repository, "-") || strings.Contains(task.Repository, "::") {
		r.bad(line("repository"), label+": repository", "is not a repository that belay fetches",
			"https://…, ssh://…, host:path or a folder")
	}
	if strings.HasPrefix(task.Revision, "-") || strings.ContainsAny(task.Revision, " \t\n:^~") {
		r.bad(line("revision"), label+": revision", "is not a branch, a tag or a commit", "")
	}
	badBranch := strings.Contains(task.Branch, "..") || strings.Contains(task.Branch, "//") ||
		strings.Contains(task.Branch, "@{") || strings.HasSuffix(task.Branch, "/") ||
		strings.HasSuffix(task.Branch, ".lock") || strings.HasSuffix(task.Branch, ".")
	switch {
	case task.Branch == "":
	case badBranch || !branchName.MatchString(task.Branch):
		r.bad(line("branch"), label+": branch", fmt.Sprintf("%q cannot be the name of a branch", task.Branch), "")
	case !task.Worktree:
		r.bad(line("branch"), label+": branch", "needs a worktree of its own", "worktree = true")
	}
	if task.Repository != "" && task.Folder != "" {
		r.bad(line("repository"), label+": repository", "and folder exclude each other", "")
	}
	if task.Repository != "" && !task.Worktree {
		r.bad(line("worktree"), label+": worktree", "a repository is always worked on in a worktree of its own", "leave it out")
	}
	if task.Revision != "" && !task.Worktree {
		r.bad(line("revision"), label+": revision", "needs a worktree of its own", "worktree = true")
	}
}

func text(at func(*Task) *string, most int) field {
	return func(_ *reader, t *Task, v any) (string, string) {
		s, ok := v.(string)
		switch {
		case !ok:
			return "must be text", "in quotes"
		case len(s) > most:
			return fmt.Sprintf("is longer than %d characters", most), ""
		case most < maxPrompt && strings.ContainsAny(s, "\n\r\x00\x1b"):
			return "must be one line", ""
		}
		*at(t) = strings.TrimSpace(s)
		return "", ""
	}
}

func truth(at func(*Task) *bool) field {
	return func(_ *reader, t *Task, v any) (string, string) {
		b, ok := v.(bool)
		if !ok {
			return "must be true or false", ""
		}
		*at(t) = b
		return "", ""
	}
}

func whole(at func(*Task) *int, least, most int) field {
	return func(_ *reader, t *Task, v any) (string, string) {
		n, ok := v.(int64)
		if !ok || n < int64(least) || n > int64(most) {
			return fmt.Sprintf("must be a number from %d to %d", least, most), ""
		}
		*at(t) = int(n)
		return "", ""
	}
}

func oneOf(set func(*Task, string), names ...string) field {
	return func(_ *reader, t *Task, v any) (string, string) {
		s, ok := v.(string)
		if !ok || !slices.Contains(names, s) {
			return fmt.Sprintf("%v is not one of them", v), strings.Join(names, ", ")
		}
		set(t, s)
		return "", ""
	}
}

func cost(_ *reader, t *Task, v any) (string, string) {
	f, ok := v.(float64)
	if n, is := v.(int64); is {
		f, ok = float64(n), true
	}
	if !ok || math.IsNaN(f) || f < 0 || f > 1e6 {
		return "must be US dollars, from 0 on", "such as 0.5"
	}
	t.MaxCost = f
	return "", ""
}

func duration(_ *reader, t *Task, v any) (string, string) {
	s, _ := v.(string)
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxTimeout {
		return "must be a time up to 168h", `such as "20m"`
	}
	t.Timeout = d
	return "", ""
}

func folder(r *reader, t *Task, v any) (string, string) {
	s, ok := v.(string)
	if !ok || strings.ContainsRune(s, 0) {
		return "must be a path", ""
	}
	t.Folder = s
	if s != "" && !filepath.IsAbs(s) {
		t.Folder = filepath.Join(r.Dir, s)
	}
	return "", ""
}
