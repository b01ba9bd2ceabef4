// Package ui decides what a person sees and what their keys do: the full
// screen, its panes and how they share it. It knows engines and libraries only
// by the interfaces below; all work is theirs.
package ui

import (
	"context"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/capacity"
	"belay/ui/clipboard"
)

// Engine runs sessions. Do returns when the command is on disk, not when its
// work is done; what follows arrives through Next.
type Engine interface {
	// Start makes a new session for a project's folder.
	Start(ctx context.Context, project string) (session.Session, error)
	// Open makes this belay the session's writer. When another one is, the
	// error's chain has Owner() session.Owner, and takeover makes it give way.
	Open(ctx context.Context, id session.ID, takeover bool) (session.Session, error)
	// Do carries a command out.
	Do(ctx context.Context, id session.ID, c session.Command) error
	// Next waits for records of any session of this belay, deltas joined.
	Next(ctx context.Context) ([]session.Record, error)
	// Tiers is each tier's current target, heavy first. It is cheap. The empty
	// id asks for what a new session would get.
	Tiers(id session.ID) []models.Condition
}

// Library reads what is stored.
type Library interface {
	Load(ctx context.Context, id session.ID) (session.Session, error)
	List(ctx context.Context, f session.Filter) ([]session.Session, error)
	// Records pages backwards: at most limit records and about maxBytes bytes
	// of those before a sequence number, oldest first.
	Records(ctx context.Context, id session.ID, before int64, limit, maxBytes int) ([]session.Record, error)
	Search(ctx context.Context, query string, f session.Filter) ([]session.Hit, error)
	Fork(ctx context.Context, id session.ID, at int64) (session.Session, error)
}

// Drafts keep what a person is writing; an empty id is that of a session that is still
// to begin.
type Drafts interface {
	SaveUnsent(ctx context.Context, id session.ID, project string, u session.Unsent) error
	LoadUnsent(ctx context.Context, id session.ID, project string) (session.Unsent, error)
}

// Connect opens what the screen works with. It runs after the first frame, and
// again after each step of a setup it asked for.
type Connect func(ctx context.Context) (Engine, Library, *Setup, error)

// Options is what the screen needs of the world. Functions may be nil; what
// they serve is then not offered.
type Options struct {
	Project string                           // absolute path of the workspace
	Branch  func(ctx context.Context) string // of its repository, with a mark for changes: "main*"

	Engine  Engine // or Connect
	Library Library
	Connect Connect
	Setup   *Setup // when Engine is given: what to ask first

	Open   session.ID   // shown first; empty: a new one
	GoOn   bool         // resume its turn as soon as it is open
	Picker bool         // begin with the list of sessions
	Mode   session.Mode // of new sessions, until there is one to ask
	Prompt string       // sent at once, in a new session
	Split  bool         // it is cut into steps, and they are carried out

	Banner  string // such as "rehearsal: replies are scripted"
	Version string
	Theme   string            // one of theme.Names
	Colours map[string]string // of the person's own, in the place of the theme's
	Notices Notices
	NoMouse bool   // the mouse is the terminal's
	Editor  string // command line of the user's editor

	// Address is where a path of the workspace can be opened by the terminal, empty if it
	// is none; nil: the terminal takes no links.
	Address func(path string) string

	// Unheld says in a word or two what the system does not hold commands to; empty: it
	// does. Open says that nothing holds them.
	Unheld func() (word string, open bool)

	Warn  func() int64 // tokens of a request that is worth a hint before it goes out; 0: none
	Now   func() time.Time
	NewID func() string

	Clipboard clipboard.Clipboard

	// KeepTheme writes the choice of a theme into the settings; nil: it lasts as long as
	// the screen.
	KeepTheme func(ctx context.Context, name string) error

	// Left hears which session was in view when the screen closes, once something was
	// asked in it.
	Left func(of Talk)
	// ListFiles lists what can be mentioned with @, in some paths alone if there are any.
	ListFiles func(ctx context.Context, focus []string) ([]string, error)
	// CopiedPicture writes the picture in the clipboard to a file.
	CopiedPicture func(ctx context.Context) (file string, err error)
	// ReadImage reads a mentioned picture.
	ReadImage func(ctx context.Context, path string) (models.Image, error)
	// Prompts gives the prompts of earlier days, oldest first.
	Prompts func(ctx context.Context) []string
	// RunShell runs a command of the person's own, and passes its output on as it comes.
	RunShell func(ctx context.Context, command string, output func(string)) (string, error)
	// RunTool runs one of belay's own commands, such as doctor, in the workspace.
	RunTool func(ctx context.Context, command ...string) (string, error)
	// Written gives the prompts that can be called by name.
	Written func(ctx context.Context) []WrittenPrompt
	// Owners are the sessions that other running belays write to.
	Owners func(ctx context.Context) (map[session.ID]session.Owner, error)
	// Changes is the patch from the last commit to the workspace.
	Changes func(ctx context.Context) (patch string, err error)

	// Capacity says how all models are doing, as the next request of a session would
	// meet them.
	Capacity func(ctx context.Context, id session.ID) (capacity.View, error)
	// Models is what the list of models works with.
	Models ModelChoice
	// Weight says what a session's next request is made of.
	Weight func(ctx context.Context, id session.ID) (session.ContextUsage, error)
	// Curl is a session's last request, for a shell.
	Curl func(ctx context.Context, id session.ID) (string, error)

	// PlanText writes the plan of a large task for the editor, and ParsePlan reads it.
	PlanText  func(steps []session.Step) string
	ParsePlan func(text string) ([]session.Step, error)

	// Checkpoints lists where a session can return to, and Preview says what that would do.
	Checkpoints func(ctx context.Context, id session.ID) ([]session.Checkpoint, error)
	Preview     func(ctx context.Context, id session.ID, to int64) (session.Preview, error)

	// EditText writes a text to a file for the editor, and ReadText reads it back and
	// removes the file.
	EditText func(ctx context.Context, text string) (path string, err error)
	ReadText func(path string) (string, error)
}

// Setup is what must be asked before the first session.
type Setup struct {
	Trust    string                                                // a folder seen for the first time; empty: known
	Answer   func(ctx context.Context, trusted bool) error         // to the question of trust
	Key      bool                                                  // no key and no endpoint are known
	KeyFor   string                                                // whose key is asked for: "OpenAI"
	KeyEnv   string                                                // the variable that would hold it
	SaveKey  func(ctx context.Context, key string) (string, error) // gives where it is kept
	CheckKey func(ctx context.Context, key string) error           // asks the endpoint once; nil: unchecked
	Found    []FoundKey                                            // variables that hold a key
	UseKey   func(ctx context.Context, provider string) error      // takes one of Found for every tier
	Local    func(ctx context.Context) ([]Local, error)            // endpoints found on this computer
	Use      func(ctx context.Context, l Local, chosen map[models.Tier]string) error
	Rehearse func(ctx context.Context) (banner string, err error)
}

// FoundKey is a variable of the environment that holds the key of a provider.
type FoundKey struct {
	Provider string
	Variable string
	Models   []string // that the tiers would get
}

// Local is an endpoint found on this computer.
type Local struct {
	Name   string // "ollama"
	URL    string
	Models []string
}
