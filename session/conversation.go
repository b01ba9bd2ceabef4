package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"belay/models"
)

// Conversation is what the model is to see of a log: prompts, finished items
// and the outputs of calls, oldest first, without what was taken out to save
// room. Making it valid for one target is the work of the one who builds a
// request. The zero value is an empty conversation.
type Conversation struct {
	whole            []models.Item   // as they were added
	places           []place         // of each of them
	masked           map[string]bool // by call id
	summaryThrough   int64           // the summary stands for all up to this record
	summary          string
	taskPrompt       string           // the user's words of the turn in which the summary was made, if it swallowed them
	reasoningThrough int              // reasoning up to this turn is left out
	excerpts         map[int][]string // what stays of the attachments of a turn
	pinnedNotes      []string
	focus            []string
	firstPrompt      string // the words that began the session, bounded
	todos            []Todo

	items      []models.Item // as Items gave them, while that holds; whole itself if all is shown
	itemsValid bool
}

// NewConversation makes the conversation of a session whose log is read only from some
// record on; the state knows what stands for the beginning.
func NewConversation(s Session) Conversation {
	return Conversation{
		summaryThrough: s.SummaryThrough,
		summary:        s.Summary,
		taskPrompt:     s.TaskPrompt,
		pinnedNotes:    s.PinnedNotes,
		focus:          s.Focus,
		firstPrompt:    s.FirstPrompt,
		todos:          s.Todos,
	}
}

// Grow makes room for the items of as many records, which are about half as many.
func (c *Conversation) Grow(records int) {
	c.whole, c.places = slices.Grow(c.whole, records/2), slices.Grow(c.places, records/2)
}

// OmitBeginning says that the beginning of the log was not read. What must not be
// lost of it stands in its place, unless a summary does.
func (c *Conversation) OmitBeginning() {
	if c.summary == "" {
		c.add(models.NewMessage(models.Developer,
			strings.TrimSpace("The beginning of this conversation was left out to save room.\n"+c.Essentials())), place{})
	}
}

// place says where an item comes from.
type place struct {
	seq          int64
	turn         int
	isTaskPrompt bool // the words that began a turn
	isTaken      bool // words that came while it ran
}

// Piece describes an item that is in the conversation now, for what decides
// which ones could be taken out.
type Piece struct {
	Item   models.Item
	Seq    int64
	Turn   int
	Masked bool // an output that was taken out: Item holds the stub
	Whole  bool // its attachments are not reduced to excerpts
}

// Apply takes the next record.
func (c *Conversation) Apply(record Record) {
	at := place{seq: record.Seq, turn: record.Turn}
	note := func(text string) { c.add(models.NewMessage(models.Developer, text), at) }
	switch e := record.Event.(type) {
	case TurnStarted:
		if e.Note != "" {
			note(e.Note)
		}
		at.isTaskPrompt = true
		c.add(e.Prompt.item(), at)
		if c.firstPrompt == "" {
			c.firstPrompt = truncate(e.Prompt.Text, maxFirstPrompt)
		}
		c.todos = carryOverTodos(c.todos)
	case PromptTaken:
		if e.Note != "" {
			note(e.Note)
		}
		at.isTaken = true
		c.add(e.Prompt.item(), at)
	case ReplyContinued:
		note(e.Note)
	case TodosChanged:
		c.todos = e.Todos
	case StepMoved:
		if e.Step.State == StepDone {
			note(fmt.Sprintf("Step %d, %s, is done. %s", e.Number, e.Step.Title, e.Step.Note))
		}
	case ItemAdded:
		c.add(e.Item, at)
	case ToolEnded:
		c.add(models.Item{Kind: models.Output, CallID: e.CallID, Text: e.Output, Images: e.Images}, at)
	case Pruned:
		c.mask(e.Calls, true)
		c.reasoningThrough = max(c.reasoningThrough, e.Reasoning)
		if len(e.Excerpts) > 0 {
			c.excerpts = maps.Clone(c.excerpts)
			if c.excerpts == nil {
				c.excerpts = map[int][]string{}
			}
			maps.Copy(c.excerpts, e.Excerpts)
		}
		c.itemsValid = false
	case Restored:
		if len(e.Calls) == 0 {
			c.masked = nil
			c.excerpts = nil
			c.reasoningThrough, c.summaryThrough, c.summary, c.taskPrompt = 0, 0, "", ""
		}
		c.mask(e.Calls, false)
		c.itemsValid = false
	case Compacted:
		c.summaryThrough, c.summary, c.taskPrompt, c.itemsValid = e.Through, e.Summary, e.Task, false
	case Focused:
		c.focus = e.Paths
	case NotePinned:
		c.pinnedNotes = without(c.pinnedNotes, func(s string) bool { return s == e.Text })
		if !e.Unpinned {
			c.pinnedNotes = append(c.pinnedNotes, e.Text)
		}
	}
}

// add appends an item. What Items gave before stays as it is.
func (c *Conversation) add(item models.Item, at place) {
	c.whole, c.places = append(c.whole, item), append(c.places, at)
	switch {
	case c.allShown():
		c.items = c.whole
	case c.itemsValid:
		c.items = append(c.items, c.shown(len(c.whole)-1))
	}
}

// allShown reports whether nothing was ever taken out: then the items are kept once.
func (c *Conversation) allShown() bool {
	return c.summaryThrough == 0 && c.reasoningThrough == 0 && len(c.masked)+len(c.excerpts) == 0
}

func (c *Conversation) mask(calls []string, on bool) {
	masked := maps.Clone(c.masked) // copies of the conversation may still be read
	if masked == nil {
		masked = map[string]bool{}
	}
	for _, id := range calls {
		if on {
			masked[id] = true
		} else {
			delete(masked, id)
		}
	}
	c.masked = masked
}

// Snapshot is a copy of the conversation as it is now: what is applied later
// does not change it. The copy itself must not be changed.
func (c *Conversation) Snapshot() Conversation {
	c.Items() // made once, for this and later copies
	return *c
}

// Stub stands in for an output that was taken out.
const Stub = "(this output was taken out to save room. Make the call again if you need it.)"

// shown is an item as the model sees it.
func (c *Conversation) shown(i int) models.Item {
	it, at := c.whole[i], c.places[i]
	if c.isMasked(i) {
		return models.Item{Kind: models.Output, CallID: it.CallID, Text: Stub}
	}
	texts := c.excerpts[at.turn]
	if !at.isTaskPrompt || len(texts) == 0 {
		return it
	}
	it.Attachments = slices.Clone(it.Attachments)
	for i := range min(len(texts), len(it.Attachments)) {
		it.Attachments[i].Text = texts[i]
	}
	return it
}

func (c *Conversation) isMasked(i int) bool {
	return c.whole[i].Kind == models.Output && c.masked[c.whole[i].CallID]
}

// hidden reports whether an item is not shown at all.
func (c *Conversation) hidden(i int) bool {
	at := c.places[i]
	return at.seq <= c.summaryThrough && at.seq > 0 ||
		c.whole[i].Kind == models.Reasoning && at.turn <= c.reasoningThrough
}

// Items is the conversation behind its head. The caller must not change it.
func (c *Conversation) Items() []models.Item {
	if c.itemsValid {
		return slices.Clip(c.items)
	}
	c.itemsValid = true
	if c.allShown() {
		c.items = c.whole
		return slices.Clip(c.items)
	}
	c.items = make([]models.Item, 0, len(c.whole)+2)
	for i := range c.whole {
		if !c.hidden(i) {
			c.items = append(c.items, c.shown(i))
		}
	}
	return slices.Clip(c.items)
}

// HeadItem is an item of the head, and where it comes from.
type HeadItem struct {
	Item   models.Item
	Source Source
}

// Head is what stands before the items of every request, whatever is left out
// of them: what the user wants kept, the summary, and the words of the task if
// the summary swallowed them. It changes only when somebody changes it, so that
// prompt caches live.
func (c *Conversation) Head() []HeadItem {
	var head []HeadItem
	add := func(o Source, r models.Role, text string) {
		head = append(head, HeadItem{models.NewMessage(r, text), o})
	}
	if len(c.focus) > 0 {
		add(
			SourcePinned,
			models.Developer,
			"The user wants you to work in "+strings.Join(c.focus, ", ")+" only. Searches without a path look there alone.",
		)
	}
	for _, k := range c.pinnedNotes {
		add(SourcePinned, models.Developer, "The user wants you to keep in mind: "+k)
	}
	if c.summary != "" {
		add(SourceSummary, models.Developer, "What happened before, in short:\n\n"+c.summary)
	}
	if c.taskPrompt != "" {
		add(SourceUser, models.User, c.taskPrompt)
	}
	return head
}

// Essentials is what must not be lost where items are left out and no summary stands
// for them: the words that began the session, and the plan.
func (c *Conversation) Essentials() string {
	var b strings.Builder
	if c.firstPrompt != "" {
		b.WriteString("It began with these words of the user's: " + c.firstPrompt + "\n")
	}
	if c.steered() { // a request may begin at the words that came while the turn ran
		words, _ := c.Task(0)
		b.WriteString("The words of the running task: " + truncate(words, maxFirstPrompt) + "\n")
	}
	if len(c.todos) > 0 {
		b.WriteString("The plan:\n")
	}
	for _, t := range c.todos {
		b.WriteString("- " + t.Text + " (" + t.Status + ")\n")
	}
	return strings.TrimSpace(b.String())
}

// steered reports whether words of the user's came while the last turn ran.
func (c *Conversation) steered() bool {
	for _, at := range slices.Backward(c.places) {
		if at.isTaskPrompt || at.isTaken {
			return at.isTaken
		}
	}
	return false
}

// Pieces lists what could be taken out, oldest first.
func (c *Conversation) Pieces() []Piece {
	pieces := make([]Piece, 0, len(c.whole))
	for i, at := range c.places {
		if !c.hidden(i) {
			pieces = append(pieces, Piece{
				Item: c.shown(i), Seq: at.seq, Turn: at.turn, Whole: at.isTaken, Masked: c.isMasked(i),
			})
		}
	}
	return pieces
}

// SummaryInput gives the items that a summary up to a record has to stand for,
// whole, together with the summary that stood for the ones before them.
func (c *Conversation) SummaryInput(through int64) (summary string, items []models.Item) {
	for i, at := range c.places {
		if at.seq <= through && (at.seq > c.summaryThrough || at.seq == 0) {
			items = append(items, c.whole[i])
		}
	}
	return c.summary, items
}

// Task is the user's words of the last turn, also those that came while it ran, and
// which of them a summary up to a record swallows.
func (c *Conversation) Task(through int64) (words, swallowed string) {
	for i, at := range slices.Backward(c.places) {
		if !at.isTaskPrompt && !at.isTaken {
			continue
		}
		text := c.whole[i].Text
		words = joinWords(text, words)
		if at.seq <= through {
			swallowed = joinWords(text, swallowed)
		}
		if at.isTaskPrompt {
			return words, swallowed
		}
	}
	return joinWords(c.taskPrompt, words), joinWords(c.taskPrompt, swallowed)
}

func joinWords(before, after string) string {
	if before == "" || after == "" {
		return before + after
	}
	return before + "\n\n" + after
}
