package session

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// eventTypes maps the stored name of each durable event to its type. The names
// are on users' disks: never change one, only add.
var eventTypes = map[string]reflect.Type{
	"created":           reflect.TypeFor[Created](),
	"moved":             reflect.TypeFor[FolderMoved](),
	"titled":            reflect.TypeFor[Titled](),
	"renamed":           reflect.TypeFor[Renamed](),
	"filed":             reflect.TypeFor[ArchiveChanged](),
	"tier.chosen":       reflect.TypeFor[TierChosen](),
	"pinned":            reflect.TypeFor[TargetPinned](),
	"effort.chosen":     reflect.TypeFor[EffortChosen](),
	"mode.chosen":       reflect.TypeFor[ModeChosen](),
	"prompt.queued":     reflect.TypeFor[PromptQueued](),
	"prompt.unqueued":   reflect.TypeFor[PromptUnqueued](),
	"prompt.steered":    reflect.TypeFor[PromptSteered](),
	"prompt.taken":      reflect.TypeFor[PromptTaken](),
	"turn.started":      reflect.TypeFor[TurnStarted](),
	"briefed":           reflect.TypeFor[SystemPrompt](),
	"turn.resumed":      reflect.TypeFor[TurnResumed](),
	"item":              reflect.TypeFor[ItemAdded](),
	"cut.off":           reflect.TypeFor[CutOff](),
	"tool.started":      reflect.TypeFor[ToolStarted](),
	"effect.left":       reflect.TypeFor[EffectInterrupted](),
	"tool.ended":        reflect.TypeFor[ToolEnded](),
	"approval.asked":    reflect.TypeFor[ApprovalAsked](),
	"approval.answered": reflect.TypeFor[ApprovalAnswered](),
	"plan":              reflect.TypeFor[TodosChanged](),
	"steps.set":         reflect.TypeFor[PlanSet](),
	"steps.begun":       reflect.TypeFor[PlanStarted](),
	"step.moved":        reflect.TypeFor[StepMoved](),
	"step.checked":      reflect.TypeFor[StepChecked](),
	"checkpoint":        reflect.TypeFor[Checkpointed](),
	"rewinding":         reflect.TypeFor[Rewinding](),
	"rewound":           reflect.TypeFor[Rewound](),
	"reduced":           reflect.TypeFor[Pruned](),
	"restored":          reflect.TypeFor[Restored](),
	"compacted":         reflect.TypeFor[Compacted](),
	"focused":           reflect.TypeFor[Focused](),
	"kept":              reflect.TypeFor[NotePinned](),
	"attempt.failed":    reflect.TypeFor[AttemptFailed](),
	"switched":          reflect.TypeFor[Switched](),
	"reply.ended":       reflect.TypeFor[ReplyEnded](),
	"turn.ended":        reflect.TypeFor[TurnEnded](),
	"reply.continued":   reflect.TypeFor[ReplyContinued](),
	"noted":             reflect.TypeFor[Noted](),
}

var eventNames = func() map[reflect.Type]string {
	names := make(map[reflect.Type]string, len(eventTypes))
	for name, t := range eventTypes {
		names[t] = name
	}
	return names
}()

// Encode gives a durable event's stored name and its JSON.
func Encode(e Event) (name string, data []byte, err error) {
	if u, ok := e.(Unknown); ok {
		return u.Type, u.Data, nil
	}
	name, ok := eventNames[reflect.TypeOf(e)]
	if !ok {
		return "", nil, fmt.Errorf("encode event %T: it is not stored", e)
	}
	data, err = json.Marshal(e)
	if err != nil {
		return "", nil, fmt.Errorf("encode event %s: %w", name, err)
	}
	return name, data, nil
}

// Decode reads a stored event. A name that this belay does not know gives an
// Unknown, so that a log written by a newer one still opens.
func Decode(name string, data []byte) (Event, error) {
	t, ok := eventTypes[name]
	if !ok {
		return Unknown{Type: name, Data: append([]byte(nil), data...)}, nil
	}
	v := reflect.New(t)
	if err := json.Unmarshal(data, v.Interface()); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", name, err)
	}
	return v.Elem().Interface().(Event), nil
}
