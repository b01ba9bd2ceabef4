// Package keys decides which key does what. Its one table is the source of the
// bindings, the help on the screen, the palette and the table in the README.
package keys

import "strings"

// Action is something a person can make the screen do.
type Action string

// The actions of the screen.
const (
	Send       Action = "send"
	NewLine    Action = "new line"
	Heavy      Action = "heavy"
	Medium     Action = "medium"
	Light      Action = "light"
	NextTier   Action = "next tier"
	Stop       Action = "stop"
	Leave      Action = "leave"
	Palette    Action = "palette"
	Mention    Action = "mention"
	Shell      Action = "shell"
	Sessions   Action = "sessions"
	New        Action = "new"
	Previous   Action = "previous"
	Next       Action = "next"
	OpenCall   Action = "open call"
	Editor     Action = "editor"
	Prompts    Action = "prompts"
	Copy       Action = "copy"
	PageUp     Action = "page up"
	PageDown   Action = "page down"
	Top        Action = "top"
	Bottom     Action = "bottom"
	Find       Action = "find"
	Yes        Action = "yes"
	Always     Action = "always"
	No         Action = "no"
	Edit       Action = "edit"
	TryNow     Action = "try now"
	Park       Action = "park"
	Details    Action = "details"
	NextMode   Action = "next mode"
	Help       Action = "help"
	Focus      Action = "focus"
	TakeBack   Action = "take back"
	Resume     Action = "resume"
	Drop       Action = "drop"
	Rename     Action = "rename"
	Fork       Action = "fork"
	Reasoning  Action = "reasoning"
	ThemeCycle Action = "theme"
	Suspend    Action = "suspend"
	Capacity   Action = "capacity"
	CopyCurl   Action = "copy curl"
	Context    Action = "context"
	Compact    Action = "compact"
	Trim       Action = "trim"
	Slim       Action = "slim"
	Effort     Action = "effort"
	Restore    Action = "restore"
	Keep       Action = "keep"
	Unkeep     Action = "drop note"
	HandOver   Action = "hand over"
	FocusOn    Action = "focus on"
	StepsPanel Action = "steps panel"
	Steps      Action = "steps"
	Rewind     Action = "rewind"
	Unrewind   Action = "undo rewind"
	Quit       Action = "quit"
)

// Where says in which state of the screen a binding holds.
type Where string

// The places of bindings.
const (
	Anywhere Where = "anywhere"
	Empty    Where = "empty composer"
	Composer Where = "composer"
	Asked    Where = "approval"
	Waiting  Where = "waiting"
	Typed    Where = "typed"
	Listed   Where = "palette only"
)

// Binding is one row of the table.
type Binding struct {
	Action  Action
	Keys    []string // as Bubble Tea names them; none: reached through the palette
	Show    string   // how people write the keys, and the name that can be typed: "F5, /model"
	Does    string
	Where   Where
	Command bool // listed in the palette
}

// Table is every binding, in the order people read them.
var Table = []Binding{
	{Send, []string{"enter"}, "enter", "send; while a turn runs: queue", Composer, false},
	{NewLine, []string{"alt+enter", "ctrl+j", "shift+enter"}, "alt+enter, ctrl+j", "new line", Composer, false},
	{Heavy, []string{"f2", "alt+1"}, "F2, alt+1", "heavy tier", Anywhere, true},
	{Medium, []string{"f3", "alt+2"}, "F3, alt+2", "medium tier", Anywhere, true},
	{Light, []string{"f4", "alt+3"}, "F4, alt+3", "light tier", Anywhere, true},
	{NextTier, []string{"ctrl+t"}, "ctrl+t", "next tier", Anywhere, true},
	{Stop, []string{"esc"}, "esc", "stop what runs, close what is open", Anywhere, true},
	{Leave, []string{"ctrl+c"}, "ctrl+c ctrl+c", "leave", Anywhere, false},
	{Palette, []string{"ctrl+p"}, "ctrl+p, /", "palette: every command, fuzzy", Anywhere, false},
	{Mention, []string{"@"}, "@", "mention a file, or lines of it: @a.go:20-45", Composer, false},
	{Shell, []string{"!"}, "!", "run a shell command yourself", Empty, false},
	{Sessions, []string{"ctrl+s"}, "ctrl+s", "sessions: find, open, rename, fork, delete", Anywhere, true},
	{New, []string{"ctrl+n"}, "ctrl+n", "new session", Anywhere, true},
	{Previous, []string{"alt+left"}, "alt+←", "previous running session", Anywhere, true},
	{Next, []string{"alt+right"}, "alt+→", "next running session", Anywhere, true},
	{Capacity, []string{"f5"}, "F5, /model", "capacity: how all models are doing", Anywhere, true},
	{Context, []string{"f6"}, "F6", "context: what fills the next request; leave things out", Anywhere, true},
	{StepsPanel, []string{"f7"}, "F7", "steps: the plan of a large task; tab goes in and out", Anywhere, true},
	{OpenCall, []string{"ctrl+o"}, "ctrl+o", "open a tool call; then ↑ ↓ choose another", Anywhere, true},
	{Editor, []string{"ctrl+e"}, "ctrl+e", "edit the draft in $EDITOR", Anywhere, true},
	{Prompts, []string{"ctrl+r"}, "ctrl+r", "search earlier prompts", Anywhere, true},
	{Copy, []string{"ctrl+y"}, "ctrl+y", "copy the last answer", Anywhere, true},
	{PageUp, []string{"pgup", "ctrl+up"}, "pgup, wheel", "scroll back", Anywhere, false},
	{PageDown, []string{"pgdown", "ctrl+down"}, "pgdn, wheel", "scroll on", Anywhere, false},
	{Top, []string{"home", "ctrl+home"}, "home", "to the beginning (empty composer)", Empty, false},
	{Bottom, []string{"end", "ctrl+end"}, "end", "to the end, and follow", Empty, false},
	{Find, []string{"ctrl+f"}, "ctrl+f", "find in the transcript", Anywhere, true},
	{TakeBack, []string{"up"}, "↑", "take a queued message back; else earlier prompts", Empty, false},
	{Suspend, []string{"ctrl+z"}, "ctrl+z", "back to the shell; fg returns", Anywhere, false},
	{Yes, []string{"y"}, "y", "approve this call", Asked, false},
	{Always, []string{"a"}, "a a", "approve always here; the second press confirms", Asked, false},
	{No, []string{"n"}, "n", "refuse, with words for the model if you like", Asked, false},
	{Edit, []string{"e"}, "e", "edit the call before it runs", Asked, false},
	{TryNow, []string{"f8"}, "F8", "try now; go on with a stopped, failed or parked turn", Waiting, true},
	{Park, []string{"f9"}, "F9", "park: save for later", Waiting, true},
	{Details, []string{"f10"}, "F10", "the server's own words", Waiting, true},
	{Drop, []string{"ctrl+x"}, "ctrl+x", "give up the parked or failed turn; what is held is sent", Waiting, true},
	{Focus, []string{"tab"}, "tab", "into the box, where letters work: r p i 2 3 4", Waiting, false},
	{NextMode, []string{"shift+tab"}, "shift+tab", "approval mode: ask, edits, all", Anywhere, true},
	{Help, []string{"?"}, "?, /help", "this help", Empty, true},
	{Compact, nil, "/compact [what to keep]", "let a summary stand for older work", Typed, true},
	{Trim, nil, "/trim", "take older tool outputs out of the requests", Typed, true},
	{Slim, nil, "/slim", "let the next request, or the one that waits, go out without older outputs", Typed, true},
	{Restore, nil, "/restore", "bring back all that was taken out", Typed, true},
	{Keep, nil, "/pin NOTE", "put a note into every request", Typed, true},
	{Unkeep, nil, "/drop NOTE", "drop a note that was pinned", Typed, true},
	{Effort, nil, "/effort [LEVEL]", "reasoning effort, such as low or high; without one, as the settings say", Typed, true},
	{FocusOn, nil, "/focus [PATHS]", "keep searches to some folders or patterns; without paths, no longer", Typed, true},
	{Steps, nil, "/steps TASK", "cut a large task into steps, each with a session of its own", Typed, true},
	{Rewind, nil, "/rewind", "return to a checkpoint: the conversation, the files, or both", Typed, true},
	{Unrewind, nil, "/undo rewind", "bring back what the last rewind took", Typed, true},
	{HandOver, nil, "/hand over TASK", "a new session with what this one carries over", Typed, true},
	{Resume, nil, "", "go on with the stopped, failed or parked turn", Listed, true},
	{Rename, nil, "", "rename this session", Listed, true},
	{Fork, nil, "", "fork this session", Listed, true},
	{Reasoning, nil, "", "fold or unfold all reasoning", Listed, true},
	{ThemeCycle, nil, "", "theme: auto, dark, light", Listed, true},
	{CopyCurl, nil, "", "copy the last request as curl, without the key", Listed, true},
	{Quit, nil, "", "leave belay", Listed, true},
}

var byKey = func() map[string]Binding {
	m := map[string]Binding{}
	for _, b := range Table {
		if b.Where != Anywhere && b.Where != Waiting {
			continue
		}
		for _, k := range b.Keys {
			m[k] = b
		}
	}
	return m
}()

// Global gives the action that a key has in every state of the screen, or "".
// The waiting keys are among them: they never need the focus.
func Global(key string) Action {
	b, ok := byKey[key]
	if !ok || b.Action == Focus {
		return ""
	}
	return b.Action
}

// Is reports whether a key has this action, whatever the state.
func Is(key string, a Action) bool {
	for _, b := range Table {
		if b.Action == a {
			for _, k := range b.Keys {
				if k == key {
					return true
				}
			}
		}
	}
	return false
}

// Of gives an action's row.
func Of(a Action) Binding {
	for _, b := range Table {
		if b.Action == a {
			return b
		}
	}
	return Binding{}
}

// Commands lists what the palette offers.
func Commands() []Binding {
	var out []Binding
	for _, b := range Table {
		if b.Command {
			out = append(out, b)
		}
	}
	return out
}

// Markdown is the table for the README.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| key | does | where |\n|---|---|---|\n")
	for _, r := range Table {
		if r.Show == "" {
			continue
		}
		b.WriteString("| " + r.Show + " | " + r.Does + " | " + string(r.Where) + " |\n")
	}
	return b.String()
}
