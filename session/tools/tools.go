// Package tools decides what a model may do to a workspace, and does it: one
// file a tool, the prose for the model beside it.
//
// A call is first prepared (arguments checked against the schema, paths
// resolved), which opens no file. Once the file may be read, a change of one is
// worked out, so that a person sees exactly what would happen. Only then it runs.
package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"belay/models"
	"belay/models/redact"
	"belay/session"
	"belay/session/permit"
	"belay/session/sandbox"
)

// Call is a prepared call: what would happen, and the way to make it happen.
type Call struct {
	Class   session.Class
	Title   string         // what is done, in a few words: a path, a command
	Detail  string         // the diff or the whole command
	Path    string         // of the file that is read or changed, absolute
	Outside bool           // touches a path outside the workspace
	Secret  bool           // touches a place of keys, tokens and what a person did
	Before  string         // hash of the file before, for a Write
	After   string         // and after
	Command string         // the shell line, for a Run
	Shell   string         // the name of the program that line is for
	Todos   []session.Todo // that take the place of the ones before; nil: they stay
	Group   func() int     // the process group of the command that runs; 0: none. nil: it is no command

	Run func(ctx context.Context, out func(string)) Result

	// Look reads the file that the call would change, and gives the call with its
	// diff and hashes. Whoever calls it has made sure that the file may be read:
	// its errors, which are for the model, quote from it. Nil: there is nothing to
	// look at. Run looks by itself where nobody has.
	Look func() (Call, error)

	// RunHeld is Run with the kernel holding a command to reading. It is nil, and
	// Unheld says why, where that cannot be.
	RunHeld func(ctx context.Context, out func(string)) Result
	Unheld  string

	// RunOutside is Run without the sandbox that Reach tells of. It is nil where there
	// is none.
	RunOutside func(ctx context.Context, out func(string)) Result
	Reach      string // what the command could reach, in a few words
	Refused    string // what the sandbox refused the same command before, for a person

	// RunDirect runs words without a shell. It is nil where that cannot be.
	RunDirect func(words []string) func(ctx context.Context, out func(string)) Result
}

// Runner is the way to make it happen that was decided.
func (c Call) Runner(decision permit.Decision) func(ctx context.Context, out func(string)) Result {
	switch {
	case decision.Outside && c.RunOutside != nil:
		return c.RunOutside
	case decision.Held:
		return c.RunHeld
	case decision.Direct != nil:
		return c.RunDirect(decision.Direct)
	}
	return c.Run
}

// Describe gives a call of a tool in the form that rules judge.
func (c Call) Describe(tool, root string) permit.Call {
	return permit.Call{
		Tool: tool, Class: c.Class, Command: c.Command, Shell: c.Shell, Path: c.Path, Outside: c.Outside, Secret: c.Secret,
		Root:   root,
		Unheld: c.Unheld, Direct: c.RunDirect != nil, Refused: c.Refused,
	}
}

// Result is what came of a job.
type Result struct {
	Output  string // for the model, bounded
	Images  []models.Image
	Summary string // for the screen: "212 lines", "exit 1"
	Diff    string
	Error   bool
	File    string // where the whole output is kept, if it was longer
}

// errorResult makes the result of a job that could not do its work.
func errorResult(err error) Result {
	return Result{Output: err.Error(), Summary: firstLine(err.Error()), Error: true}
}

// tool is one thing the model can do.
type tool interface {
	prepare(s *Set, args []byte) (Call, error)
}

// Options are what a Set works with.
type Options struct {
	Root    string         // the workspace, absolute
	Cache   string         // where commands that only read keep what they compile; may be empty
	Outputs string         // a folder for output that is too long for the model
	Data    string         // belay's own data, which no tool opens; links resolved; may be empty
	Secrets []string       // files and folders that no command reads unasked, beside those of the home folder
	Pass    []string       // environment variables that commands see although they look like secrets
	Hide    []string       // environment variables that commands must not see
	Redact  *redact.Values // what no output shows
	Network string         // what commands may do with the network: "ask", "allow" or "deny"; empty: "ask"
	Write   []string       // more places that commands may write
	Read    []string       // secret places that commands may read
	Open    bool           // commands that somebody allowed run with nothing around them
	NewID   func() string
}

// Set is the tools of one session in one workspace. It remembers which
// version of a file the model has seen.
type Set struct {
	o       Options
	entries map[string]entry
	schemas map[string]*jsonschema.Resolved // of all tools
	specs   []models.ToolSpec
	seen    seenFiles
	sandbox *sandbox.Sandbox

	unavailable error // why the sandbox holds nothing on this system

	mu      sync.Mutex
	unheld  map[string]string  // why commands were refused something while they were held
	refused map[string]refusal // and those that somebody had allowed
	closed  closedFiles        // of secretFiles
	focus   []string           // patterns that searches without a path keep to
}

// New returns the tools for a workspace.
func New(o Options) (*Set, error) {
	resolved, err := schemas()
	if err != nil {
		return nil, err
	}
	s := &Set{
		o: o, entries: map[string]entry{}, schemas: resolved,
		seen:    seenFiles{hash: map[string]string{}, seenAt: map[string]time.Time{}},
		sandbox: newSandbox(o),
		unheld:  map[string]string{},
		refused: map[string]refusal{},

		unavailable: sandbox.Available(),
	}
	prose := strings.NewReplacer("{{sandbox}}", sandboxProse(sandbox.Detect(), o.Open, o.Network))
	for _, e := range catalog {
		s.entries[e.name] = e
		s.specs = append(s.specs, models.ToolSpec{
			Name: e.name, Description: prose.Replace(strings.TrimSpace(e.prose)), Schema: []byte(e.schema), Traits: e.traits,
			Freeform: e.freeform,
		})
	}
	return s, nil
}

// Close ends what the tools have left running.
func (s *Set) Close() error {
	s.sandbox.Close()
	return nil
}

// Specs describes the tools to a model.
func (s *Set) Specs() []models.ToolSpec { return s.specs }

// RestrictToReading leaves only the tools that look at the workspace and change
// nothing.
func (s *Set) RestrictToReading() {
	maps.DeleteFunc(s.entries, func(_ string, e entry) bool { return !e.explores })
	s.specs = slices.DeleteFunc(s.specs, func(spec models.ToolSpec) bool { return !s.entries[spec.Name].explores })
}

// Changes reports whether calls of a tool change anything. A call of a tool that
// does not exist changes nothing.
func (s *Set) Changes(name string) bool {
	e, ok := s.entries[name]
	return ok && e.class != session.Read
}

// Check reports whether a call is complete and valid: a known tool, strict
// JSON, and arguments that fit its schema. Only such a call may be kept from
// a failed reply.
func (s *Set) Check(name, args string) error {
	_, err := s.readArguments(name, args)
	return err
}

func (s *Set) readArguments(name, args string) (string, error) {
	if _, ok := s.entries[name]; !ok {
		return "", fmt.Errorf("%w: there is no tool %q; there are %s", ErrArguments, name, strings.Join(s.names(), ", "))
	}
	return readArguments(s.schemas[name], args)
}

// Prepare checks a call and describes what running it would do. It opens no file
// and tells nothing of one. Its errors are for the model.
func (s *Set) Prepare(name, args string) (Call, error) {
	args, err := s.readArguments(name, args)
	if err != nil {
		return Call{}, err
	}
	e := s.entries[name]
	call, err := e.tool.prepare(s, []byte(args))
	if err != nil {
		return Call{}, err
	}
	call.Class, call.Secret = e.class, s.sandbox.IsSecret(call.Path)
	call.Run = s.redacted(call.Run)
	if look := call.Look; look != nil {
		call.Look = func() (Call, error) {
			looked, err := look()
			looked.Class, looked.Secret = call.Class, call.Secret
			looked.Run = s.redacted(looked.Run)
			return looked, s.redactError(err)
		}
	}
	return call, nil
}

// redacted is a job whose result shows no secret. The output of commands is without
// any from the start.
func (s *Set) redacted(run func(context.Context, func(string)) Result) func(context.Context, func(string)) Result {
	return func(ctx context.Context, out func(string)) Result {
		result := run(ctx, out)
		result.Output = s.o.Redact.Text(result.Output)
		result.Summary = s.o.Redact.Text(result.Summary)
		result.Diff = s.o.Redact.Text(result.Diff)
		return result
	}
}

// redactError is an error that quotes no secret.
func (s *Set) redactError(err error) error {
	if err == nil || s.o.Redact.Text(err.Error()) == err.Error() {
		return err
	}
	return errors.New(s.o.Redact.Text(err.Error()))
}

// lookFirst is a call that changes a file, before anybody has looked at the file.
func lookFirst(target location, look func() (Call, error)) Call {
	return Call{Title: target.rel, Path: target.abs, Outside: target.outside, Look: look,
		Run: func(ctx context.Context, out func(string)) Result {
			call, err := look()
			if err != nil {
				return errorResult(err)
			}
			return call.Run(ctx, out)
		}}
}

func (s *Set) names() []string {
	var names []string
	for _, spec := range s.specs {
		names = append(names, spec.Name)
	}
	return names
}

// Canonical gives arguments in the one form that equal arguments share, and a
// hash of it together with the tool's name.
func Canonical(name, args string) (canonical, hash string) {
	canonical = args
	if v, err := strict(args); err == nil {
		if b, err := json.Marshal(v); err == nil {
			canonical = string(b)
		}
	}
	sum := sha256.Sum256([]byte(name + "\x00" + canonical))
	return canonical, hex.EncodeToString(sum[:8])
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

func countLines(b []byte) int {
	n := bytes.Count(b, []byte("\n"))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
