package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"belay/session"
)

type planTool struct{}

func (planTool) prepare(_ *Set, raw []byte) (Call, error) {
	var args struct {
		Tasks []session.Todo `json:"tasks"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return Call{}, err
	}
	done := 0
	for _, t := range args.Tasks {
		if t.Status == "done" {
			done++
		}
	}
	title := fmt.Sprintf("%d of %d done", done, len(args.Tasks))
	return Call{Title: title, Todos: args.Tasks,
		Run: func(context.Context, func(string)) Result {
			return Result{Output: "The plan is shown to the user.", Summary: plural(len(args.Tasks), "task", "tasks")}
		}}, nil
}
