package transcript

import (
	"strings"
	"time"

	"belay/models"
	"belay/session"
)

type kind int

const (
	prompt     kind = iota // a person's words
	prose                  // a piece of the model's words
	cutOff                 // words of a failed attempt
	reasoning              // the model's thinking
	call                   // a tool call
	todoList               // the model's list
	statusLine             // one line about what happened
	notice                 // a line or more that a person should read
	ending                 // the end of a turn
	local                  // a shell command of the user's
	sheet                  // a text that is there by itself
)

// phase is how far a call is.
type phase int

const (
	pending phase = iota // its arguments are being written, or it is about to run
	waiting              // for a person
	running
	done
	failed
	denied
	unknown // interrupted; nobody knows
)

// entry is one thing in the transcript. Its lines are made when it comes into
// view and kept until its width, its theme or it itself changes.
type entry struct {
	kind  kind
	seq   int64 // of its record; 0: it is not in the log yet
	turn  int
	at    time.Time
	text  string
	label string // of the model, at the first piece of its words
	head  bool   // the first piece of a message
	open  bool   // unfolded
	inner bool   // a prompt that nobody typed

	// Of what arrives.
	unconfirmed bool   // the finished item is not in the log yet
	source      string // the whole text, at its first piece

	// Of words that still grow.
	live       bool
	blocks     *blocks
	linkDefs   string   // link definitions that stand in other pieces
	fenceLines []string // lines of an open code fence that are laid out
	fenceBytes int      // how much of it they are

	// Of a call.
	id           string
	tool         string
	isCheck      bool // it decides whether a step is done, and is no tool
	title        string
	args         string
	output       string
	summary      string
	diff         string
	file         string // with the whole output
	phase        phase
	startedAt    time.Time
	duration     time.Duration
	addedLines   int
	removedLines int
	headRows     int // of the layout, that name it
	bytes        int // of the arguments, while they are being written

	// Of lines about what happened.
	symbol      string
	level       level
	detail      string
	foldsDetail bool // the detail shows only when the entry is opened

	totals *turnTotals // of an ending
	page   *page       // of a sheet
	todos  []todo
	brief  bool // the list is a line until it is opened: it stands above the composer
	taken  bool // a prompt that did not begin its turn

	version int // counts changes
	cached  cacheKey
	lines   []string
}

type todo struct{ text, status string }

// level is how much a line asks for attention.
type level int

const (
	plain level = iota
	good
	warn
	bad
)

type cacheKey struct{ width, theme, version int }

// turnTotals sums up what a turn took.
type turnTotals struct {
	usage     models.Usage
	cost      float64
	startedAt time.Time
	endedAt   time.Time
}

// newEntry makes the entry of a record.
func newEntry(k kind, r session.Record) *entry { return &entry{kind: k, seq: r.Seq, turn: r.Turn} }

// newLive makes an entry of words that arrive.
func newLive(k kind, r session.Record) *entry {
	e := newEntry(k, r)
	e.at = r.Time
	e.live = true
	e.unconfirmed = true
	return e
}

// invalidate has the entry laid out again.
func (e *entry) invalidate() { e.version++ }

func (e *entry) foldable() bool {
	switch e.kind {
	case call, reasoning, local:
		return true
	case prompt:
		return e.inner || strings.Count(e.text, "\n") >= maxPromptLines
	}
	return e.foldsDetail || e.brief
}

// maxPromptLines is how many lines of a prompt are shown until it is opened.
const maxPromptLines = 14
