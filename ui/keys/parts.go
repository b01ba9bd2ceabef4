package keys

import (
	"slices"
	"strings"

	"belay/ui/locale"
)

// Part is a part of the screen that has keys of its own while it has the
// keyboard. A key means the first row that has it.
type Part struct{ rows []row }

type row struct {
	action Action
	keys   []string // as Bubble Tea names them, the one for hints first
}

func part(rows ...row) Part { return Part{rows} }

func on(a Action, keys ...string) row { return row{a, keys} }

// The parts of the main screen.
var (
	Draft = part(on(Send, "enter"), on(Steer, "ctrl+enter"), on(PastePicture, "ctrl+v"),
		on(Focus, "tab"), on(Top, "ctrl+home"), on(Bottom, "ctrl+end"))
	EmptyDraft = part(on(Steer, "enter", "ctrl+enter"), on(Help, "?"), on(Quit, "ctrl+d"), on(TakeBack, "up"),
		on(Top, "home", "ctrl+home"), on(Bottom, "end", "ctrl+end"))
	Composing  = part(on(Up, "up"), on(Down, "down"), on(DeleteBack, "backspace"))
	Mentioning = part(on(Up, "up"), on(Down, "down"), on(Accept, "enter", "tab"))
	Naming     = part(on(Up, "up", "ctrl+p"), on(Down, "down", "ctrl+n"), on(Complete, "tab"), on(Accept, "enter"))
	TextEntry  = part(on(Accept, "enter"), on(Close, "esc"))
	Finder     = part(on(FindPrevious, "up", "enter", "ctrl+f"), on(FindNext, "down"), on(DeleteBack, "backspace"),
		on(Close, "esc"))
	CallChooser = part(on(Up, "up", "k"), on(Down, "down", "j"), on(OpenCall, "enter", "space", "ctrl+o"),
		on(PageUp, "ctrl+u", "pgup"), on(PageDown, "ctrl+d", "pgdown"), on(Top, "g", "home"), on(Bottom, "G", "end"),
		on(FindPrevious, "n"), on(FindNext, "N"), on(Copy, "y"), on(Blur, "esc", "tab"))
	Approval = part(on(Yes, "y"), on(Always, "a"), on(No, "n"), on(Edit, "e"), on(Outside, "o"), on(Happened, "d"),
		on(Down, "down", "j"), on(Up, "up", "k"), on(PageDown, "pgdown", "ctrl+d"),
		on(PageUp, "pgup", "b", "ctrl+u"), on(NextPage, "space"),
		on(Top, "g", "home"), on(Bottom, "G", "end"), on(FullView, "f"), on(Layout, "t"),
		on(Close, "esc"), on(Blur, "tab"), on(Accept, "enter"))
	Refusal = part(on(Accept, "enter"), on(Close, "esc"), on(DeleteBack, "backspace"))

	// In the box the digits are those of the F-keys: 2 is F2.
	RetryBox = part(on(TryNow, "r"), on(Park, "p"), on(Details, "i"), on(Heavy, "2"), on(Medium, "3"), on(Light, "4"),
		on(Ignore, "1"), on(Blur, "esc", "tab"))
)

// The panels and dialogs.
var (
	CommandList = part(on(Close, "esc", "ctrl+p"), on(Accept, "enter"), on(Up, "up"), on(Down, "down", "ctrl+n"),
		on(PageUp, "pgup"), on(PageDown, "pgdown"), on(DeleteBack, "backspace"), on(ClearLine, "ctrl+u"))
	ThemeList = part(on(Close, "esc"), on(Accept, "enter"), on(Up, "up", "ctrl+p"), on(Down, "down", "ctrl+n"),
		on(PageUp, "pgup"), on(PageDown, "pgdown"), on(DeleteBack, "backspace"), on(ClearLine, "ctrl+u"))
	PromptList = part(on(Close, "esc", "ctrl+r"), on(Accept, "enter"), on(Up, "up", "ctrl+p"),
		on(Down, "down", "ctrl+n"), on(PageUp, "pgup"), on(PageDown, "pgdown"), on(DeleteBack, "backspace"),
		on(ClearLine, "ctrl+u"))
	HelpPage = part(on(Up, "up", "k"), on(Down, "down", "j"), on(PageUp, "pgup", "ctrl+u", "b"),
		on(PageDown, "pgdown", "space", "ctrl+d"), on(Top, "home", "g"), on(Bottom, "end", "G"), on(Close, "esc"))

	PagerKeys = part(on(Up, "up", "k"), on(Down, "down", "j"), on(PageUp, "pgup", "b", "ctrl+u"),
		on(PageDown, "pgdown", "space", "ctrl+d"), on(Top, "home", "g"), on(Bottom, "end", "G"), on(Layout, "t"),
		on(Close, "esc", "q"))

	SessionList = part(on(Accept, "enter"), on(OtherList, "tab"), on(Rename, "ctrl+r"), on(Delete, "ctrl+d", "delete"),
		on(Archive, "ctrl+a"), on(Fork, "ctrl+f"), on(Export, "ctrl+e"), on(UndoDelete, "ctrl+z"), on(New, "ctrl+n"),
		on(Up, "up", "ctrl+p"), on(Down, "down"), on(PageUp, "pgup"), on(PageDown, "pgdown"),
		on(DeleteBack, "backspace"), on(ClearLine, "ctrl+u"), on(Close, "esc"), on(Sessions, "ctrl+s"))
	SessionTitle = part(on(Accept, "enter"), on(Close, "esc"), on(DeleteBack, "backspace"), on(ClearLine, "ctrl+u"))

	ModelList = part(on(Accept, "enter"), on(KeepModel, "ctrl+g"), on(OtherTier, "tab"), on(AddProvider, "ctrl+a"),
		on(Up, "up", "ctrl+p"), on(Down, "down", "ctrl+n"), on(PageUp, "pgup"), on(PageDown, "pgdown"),
		on(DeleteBack, "backspace"), on(ClearLine, "ctrl+u"), on(Close, "esc"))
	ProviderList = part(on(Accept, "enter"), on(Up, "up", "ctrl+p"), on(Down, "down", "ctrl+n"), on(PageUp, "pgup"),
		on(PageDown, "pgdown"), on(DeleteBack, "backspace"), on(ClearLine, "ctrl+u"), on(Close, "esc"))

	CapacityPanel = part(on(PinModel, "enter"), on(SetAside, "i"), on(Doctor, "d"), on(Record, "r"),
		on(Up, "up", "k"), on(Down, "down", "j"), on(Close, "esc"))
	ContextPanel = part(on(Compact, "enter"), on(Trim, "t"), on(Slim, "s"), on(Restore, "r"), on(FocusPaths, "f"),
		on(PinNote, "p"), on(Handoff, "h"), on(Close, "esc"))
	PlanPanel = part(on(OpenStep, "enter"), on(RunThrough, "g"), on(RunNext, "n"), on(RunFrom, "r"), on(RewindStep, "z"),
		on(EditStep, "e"), on(AddStep, "a"), on(EditPlan, "E"), on(PauseStep, "space"), on(SkipStep, "x"),
		on(StepTier, "t"), on(PinTier, "P"), on(DropStep, "d"), on(SplitStep, "s"), on(MoveUp, "K"), on(MoveDown, "J"),
		on(Up, "up", "k"), on(Down, "down", "j"), on(Blur, "tab"), on(Close, "esc"))
	RewindDialog = part(on(Accept, "enter"), on(ForkHere, "k"), on(RewindBoth, "b"), on(RewindFiles, "f"),
		on(RewindTranscript, "c"), on(Up, "up"), on(Down, "down", "j"), on(PageUp, "pgup"),
		on(PageDown, "pgdown", "space"), on(Top, "home"), on(Bottom, "end"), on(Close, "esc"))

	LeaveDialog    = part(on(ParkAll, "p", "enter"), on(StopAll, "s"), on(Close, "esc"))
	TakeOverDialog = part(on(TakeOver, "t"), on(Close, "esc", "enter"))
	FailurePage    = part(on(Quit, "q", "esc", "enter"))

	TrustQuestion = part(on(Trust, "y"), on(Distrust, "n"), on(Accept, "enter"), on(Up, "up", "k"),
		on(Down, "down", "j"))
	SetupPage = part(on(Accept, "enter"), on(Up, "up", "k"), on(Down, "down", "j"),
		on(PasteKey, "1"), on(UseLocal, "2"), on(Rehearse, "3"), on(Quit, "q", "esc"))
	SecretEntry = part(on(Accept, "enter"), on(Close, "esc"), on(DeleteBack, "backspace"), on(ClearLine, "ctrl+u"))
	LocalModels = part(on(Accept, "enter"), on(LookAgain, "r"), on(Up, "up", "k"), on(Down, "down", "j"),
		on(Close, "esc"))
)

// namedParts are all parts, as the settings call them.
var namedParts = []struct {
	name string
	part *Part
}{
	{"draft", &Draft}, {"empty-draft", &EmptyDraft}, {"composing", &Composing}, {"mentioning", &Mentioning},
	{"naming", &Naming}, {"text-entry", &TextEntry}, {"finder", &Finder}, {"call-chooser", &CallChooser},
	{"approval", &Approval}, {"refusal", &Refusal}, {"retry-box", &RetryBox}, {"command-list", &CommandList},
	{"prompt-list", &PromptList}, {"help-page", &HelpPage}, {"pager", &PagerKeys}, {"session-list", &SessionList},
	{"session-title", &SessionTitle}, {"model-list", &ModelList}, {"provider-list", &ProviderList},
	{"theme-list", &ThemeList},
	{"capacity-panel", &CapacityPanel}, {"context-panel", &ContextPanel}, {"plan-panel", &PlanPanel},
	{"rewind-dialog", &RewindDialog}, {"leave-dialog", &LeaveDialog}, {"take-over-dialog", &TakeOverDialog},
	{"failure-page", &FailurePage}, {"trust-question", &TrustQuestion}, {"setup-page", &SetupPage},
	{"secret-entry", &SecretEntry}, {"local-models", &LocalModels},
}

// Action gives what a key does in the part, or "".
func (p Part) Action(key string) Action {
	for _, r := range p.rows {
		if slices.Contains(r.keys, key) {
			return r.action
		}
	}
	return ""
}

// Press is the first key of an action, or "".
func (p Part) Press(a Action) string {
	for _, r := range p.rows {
		if r.action == a {
			return first(r.keys)
		}
	}
	return ""
}

// Label is how people write an action's key in the part, or on the main screen
// where the part has none for it.
func (p Part) Label(a Action) string {
	for _, r := range p.rows {
		if r.action == a {
			return pretty(first(r.keys))
		}
	}
	return Label(a)
}

// Hint names keys of the part and what they do, for a line of hints.
func (p Part) Hint(does string, actions ...Action) [2]string {
	labels := make([]string, len(actions))
	for i, a := range actions {
		labels[i] = p.Label(a)
	}
	return [2]string{strings.Join(labels, " "), locale.T(does)}
}

// Actions lists what the part's keys do.
func (p Part) Actions() []Action {
	actions := make([]Action, len(p.rows))
	for i, r := range p.rows {
		actions[i] = r.action
	}
	return actions
}

// first is the key for hints; empty: the settings took all keys away.
func first(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}
