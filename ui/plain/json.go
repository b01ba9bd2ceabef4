package plain

import (
	"encoding/json"
	"io"
	"time"

	"belay/models"
	"belay/session"
)

// JSON writes one object a line for programs that read along. The set of types
// and their fields is a contract: fields are added, never changed.
type JSON struct {
	w    io.Writer
	err  error
	args map[string]string // of calls, by id
}

// NewJSON returns a writer of JSON lines.
func NewJSON(w io.Writer) *JSON { return &JSON{w: w, args: map[string]string{}} }

// head begins every line.
type head struct {
	V       int        `json:"v"`
	Time    time.Time  `json:"time"`
	Session session.ID `json:"session"`
	Turn    int        `json:"turn"`
	Type    string     `json:"type"`
}

// fault is a models.Fault with its times in the units of the contract.
type fault struct {
	Kind         models.Kind  `json:"kind"`
	Scope        models.Scope `json:"scope"`
	Phase        models.Phase `json:"phase"`
	Status       int          `json:"status"`
	Code         string       `json:"code"`
	Type         string       `json:"type"`
	Message      string       `json:"message"`
	RequestID    string       `json:"request_id"`
	RetryAfterMS *int64       `json:"retry_after_ms"`
	ResetAt      *time.Time   `json:"reset_at"`
	Target       string       `json:"target"`
	Served       string       `json:"served_model,omitempty"`
	Hint         string       `json:"hint,omitempty"`
	Adjusted     string       `json:"adjusted,omitempty"` // how the next request is written
	Torn         []string     `json:"torn,omitempty"`     // tools whose calls were not finished
	Usage        models.Usage `json:"usage,omitzero"`     // as far as the endpoint stated it
}

// request is a session.Weight that names its target as all lines do.
type request struct {
	session.ContextUsage
	Target string `json:"target"`
}

// JSONFault is a fault as the lines tell it, for those of other commands.
func JSONFault(f *models.Fault) any { return faultOf(f) }

func faultOf(f *models.Fault) *fault {
	if f == nil {
		return nil
	}
	out := &fault{
		Kind:      f.Kind,
		Scope:     f.Scope,
		Phase:     f.Phase,
		Status:    f.Status,
		Code:      f.Code,
		Type:      f.Type,
		Message:   f.Error(),
		RequestID: f.RequestID,
		Target:    f.Target.String(),
		Served:    f.ServedModel,
		Hint:      f.Hint,
		Adjusted:  f.Adjusted,
		Torn:      f.Torn,
		Usage:     f.Usage,
	}
	if f.Message != "" {
		out.Message = f.Message
	}
	if f.Delayed {
		ms := f.RetryAfter.Milliseconds()
		out.RetryAfterMS = &ms
	}
	if !f.ResetAt.IsZero() {
		out.ResetAt = &f.ResetAt
	}
	return out
}

// Record writes what a record says to programs; some say nothing to them.
func (j *JSON) Record(record session.Record, turn *Turn) {
	switch e := record.Event.(type) {
	case session.TurnStarted:
		j.line(record, "turn.started", struct {
			Prompt   string   `json:"prompt"`
			Attached []string `json:"attached,omitempty"` // names
		}{e.Prompt.Text, names(e.Prompt.Attachments)})
	case session.PromptTaken:
		j.line(record, "prompt.taken", struct {
			Prompt   string   `json:"prompt"`
			Attached []string `json:"attached,omitempty"` // names
		}{e.Prompt.Text, names(e.Prompt.Attachments)})
	case session.TurnResumed:
		j.line(record, "turn.started", struct {
			Resumed string `json:"resumed"`
		}{e.Why})
	case session.ItemAdded:
		j.item(record, e.Item)
	case session.CutOff:
		j.line(record, "text", struct {
			Text   string `json:"text"`
			CutOff bool   `json:"cut_off"`
		}{e.Text, true})
	case session.ToolStarted:
		j.line(record, "tool.started", struct {
			CallID string          `json:"call_id"`
			Tool   string          `json:"tool"`
			Title  string          `json:"title"`
			Args   json.RawMessage `json:"arguments"`
		}{e.Effect.CallID, e.Effect.Tool, e.Effect.Title, raw(e.Effect.Args)})
	case session.ToolEnded:
		j.line(record, "tool.ended", struct {
			CallID  string `json:"call_id"`
			Tool    string `json:"tool"`
			Title   string `json:"title"`
			Summary string `json:"summary"`
			Output  string `json:"output"`
			Diff    string `json:"diff,omitempty"`
			Error   bool   `json:"error"`
			Denied  bool   `json:"denied"`
			Unknown bool   `json:"unknown"`
			TookMS  int64  `json:"took_ms"`
		}{e.CallID, e.Tool, e.Title, e.Summary, e.Output, e.Diff, e.Error, e.Denied, e.Unknown, e.Duration.Milliseconds()})
	case session.PlanSet:
		j.line(record, "steps", struct {
			Task  string         `json:"task"`
			Steps []session.Step `json:"steps"`
		}{e.Plan.Task, e.Plan.Steps})
	case session.StepMoved:
		j.step(record, e)
	case session.StepChecked:
		j.line(record, "step.checked", struct {
			Number  int    `json:"number"`
			Command string `json:"command"`
			OK      bool   `json:"ok"`
			Summary string `json:"summary"`
			Output  string `json:"output"`
			TookMS  int64  `json:"took_ms"`
		}{e.Number, e.Command, e.OK, e.Summary, e.Output, e.Duration.Milliseconds()})
	case session.Checkpointed:
		j.line(record, "checkpoint", struct {
			Step    int      `json:"step"` // before this step; 0: before a turn
			Tree    string   `json:"tree"` // empty: the files were not kept
			Files   int      `json:"files"`
			Skipped []string `json:"skipped"`
			Why     string   `json:"why,omitempty"`
			TookMS  int64    `json:"took_ms"`
		}{e.Step, e.Tree, e.Files, e.Skipped, e.Problem, e.Duration.Milliseconds()})
	case session.Rewound:
		j.line(record, "rewound", struct {
			To      int64    `json:"to"`
			Talk    bool     `json:"conversation"`
			Files   bool     `json:"files"`
			Written int      `json:"written"`
			Removed int      `json:"removed"`
			Failed  []string `json:"failed"`
		}{e.To, e.Conversation, e.Files, e.Written, e.Removed, e.Failed})
	case session.ContextMeasured:
		j.line(record, "request", request{e.Usage, e.Usage.Target.String()})
	case session.Noted:
		j.line(record, "noted", struct {
			Text string `json:"text"`
		}{e.Text})
	case session.Pruned:
		j.line(record, "reduced", e)
	case session.Compacted:
		j.line(record, "compacted", e)
	case session.ApprovalAsked:
		j.line(record, "asked", e.Approval)
	case session.TurnEnded:
		j.ended(record, e, turn)
	default:
		j.attempt(record)
	}
}

// Answer writes the answer to a prompt that asked for one by a schema.
func (j *JSON) Answer(end session.Record, value json.RawMessage) {
	j.line(end, "answer", struct {
		Answer json.RawMessage `json:"answer"`
	}{value})
}

// Part writes a record of a step's session: like any other, under its own id.
func (j *JSON) Part(r session.Record, t *Turn) { j.Record(r, t) }

func (j *JSON) step(r session.Record, moved session.StepMoved) {
	kind := "step.ended"
	if moved.Step.State == session.StepRunning {
		kind = "step.started"
	}
	j.line(r, kind, struct {
		Number int `json:"number"`
		session.Step
		Fault *fault `json:"fault"`
	}{moved.Number, moved.Step, faultOf(moved.Step.Fault)})
}

func (j *JSON) item(record session.Record, it models.Item) {
	switch {
	case it.Kind == models.Message && it.Role == models.Assistant:
		j.line(record, "text", struct {
			Text string `json:"text"`
		}{it.Text})
	case it.Kind == models.Reasoning && it.Text != "":
		j.line(record, "reasoning", struct {
			Text string `json:"text"`
		}{it.Text})
	}
}

func (j *JSON) attempt(record session.Record) {
	switch e := record.Event.(type) {
	case session.ReplyContinued:
		j.line(record, "reply.continued", struct {
			Reason session.ContinueReason `json:"reason"`
			Number int                    `json:"number"`
			Of     int                    `json:"of"`
			Tools  []string               `json:"tools,omitempty"` // whose calls were not run
		}{e.Reason, e.Number, e.Of, e.Tools})
	case session.AttemptStarted:
		j.line(record, "attempt.started", struct {
			Attempt int         `json:"attempt"`
			Of      int         `json:"of"`
			Tier    models.Tier `json:"tier"`
			Target  string      `json:"target"`
		}{e.Number, e.Of, e.Tier, e.Target.String()})
	case session.ReplyResumed:
		j.line(record, "attempt.resumed", struct {
			Target string `json:"target"`
		}{e.Target.String()})
	case session.AttemptFailed:
		j.line(record, "attempt.failed", struct {
			Fault     *fault      `json:"fault"`
			Attempt   int         `json:"attempt"`
			Of        int         `json:"of"`
			Tier      models.Tier `json:"tier"`
			Target    string      `json:"target"`
			Next      models.Next `json:"next"`
			WillRetry bool        `json:"will_retry"`
			DelayMS   int64       `json:"delay_ms"`
		}{
			Fault:     faultOf(e.Fault),
			Attempt:   e.Number,
			Of:        e.Of,
			Tier:      e.Tier,
			Target:    e.Target.String(),
			Next:      e.Next,
			WillRetry: e.Next == models.NextRetry || e.Next == models.NextSwitch,
			DelayMS:   e.Delay.Milliseconds(),
		})
	case session.Waiting:
		j.line(record, "waiting", struct {
			Attempt  int       `json:"attempt"`
			Of       int       `json:"of"`
			Until    time.Time `json:"until"`
			GiveUpAt time.Time `json:"give_up_at,omitzero"`
			Target   string    `json:"target"`
			Fault    *fault    `json:"fault"`
		}{e.Number, e.Of, e.Until, e.GiveUpAt, e.Target.String(), faultOf(e.Fault)})
	case session.Switched:
		j.line(record, "switched", struct {
			From     string      `json:"from"`
			To       string      `json:"to"`
			FromTier models.Tier `json:"from_tier"`
			ToTier   models.Tier `json:"to_tier"`
			Fault    *fault      `json:"fault"`
			Pictures bool        `json:"pictures,omitempty"`
		}{e.From.String(), e.To.String(), e.FromTier, e.ToTier, faultOf(e.Fault), e.Pictures})
	}
}

func (j *JSON) ended(record session.Record, end session.TurnEnded, turn *Turn) {
	if end.Outcome == session.OutcomeParked {
		j.line(record, "parked", struct {
			Until time.Time `json:"until"`
			Rung  int       `json:"rung"`
			Fault *fault    `json:"fault"`
		}{end.RetryAt, end.ParkCount, faultOf(end.Fault)})
	}
	j.line(record, "turn.ended", struct {
		Outcome session.TurnOutcome `json:"outcome"`
		Reason  string              `json:"reason,omitempty"`
		Fault   *fault              `json:"fault"`
		Usage   models.Usage        `json:"usage"`
		Cost    float64             `json:"cost"`
		Text    string              `json:"text"`
		Served  string              `json:"served_model"`
	}{end.Outcome, end.Reason, faultOf(end.Fault), turn.Usage, turn.Cost, turn.Text, turn.served})
}

// line writes one object: the head's fields, then the body's.
func (j *JSON) line(r session.Record, kind string, body any) {
	if j.err != nil {
		return
	}
	front, err := json.Marshal(head{1, r.Time.UTC(), r.Session, r.Turn, kind})
	if err != nil {
		j.err = err
		return
	}
	back, err := json.Marshal(body)
	if err != nil {
		j.err = err
		return
	}
	front = front[:len(front)-1]
	if len(back) > 2 {
		front = append(append(front, ','), back[1:]...)
	} else {
		front = append(front, '}')
	}
	_, j.err = j.w.Write(append(session.EscapeInvisible(front), '\n'))
}

func names(list []models.Attachment) []string {
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
	}
	return names
}

// raw passes arguments on as JSON; what is not JSON goes as a string.
func raw(args string) json.RawMessage {
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	quoted, _ := json.Marshal(args) // a string always can be
	return quoted
}
