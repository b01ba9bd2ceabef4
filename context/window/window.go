// Package window decides which items go into the next request, so that it is
// valid and fits its target, and keeps an account of what was left out.
package window

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"belay/models"
)

// Counter measures parts of a request in tokens.
type Counter interface {
	Text(string) int
	Item(models.Item) int
	Tool(models.ToolSpec) int
}

// Limits bound a request.
type Limits struct {
	Budget  int64 // tokens a request may take; 0: the model's window less Reserve
	Reserve int64 // tokens kept free for the reply

	// UnderPressure takes out of this request what the reducers find, though there
	// would be room: a slim request finds a place sooner.
	UnderPressure bool

	// Factor is how many tokens the target counts for one of ours; 0 is 1.
	Factor float64
}

// For is the number of tokens, as we count them, that a request to a model may
// take.
func (l Limits) For(m models.Model) int64 {
	window := m.Window
	if window <= 0 {
		window = models.UnknownWindow
	}
	most := max(window-l.Reserve, window/2)
	if l.Budget > 0 {
		most = min(most, l.Budget)
	}
	if l.Factor > 0 {
		most = int64(float64(most) / l.Factor)
	}
	return most
}

// Account says what a request is made of, in tokens.
type Account struct {
	Briefing     int64
	Tools        int64
	Conversation int64
	Budget       int64
	LeftOut      int   // items that did not go in
	LeftTokens   int64 // that they would have taken
	Truncated    int   // outputs that went in shortened
	Pruned       int   // attachments of which only the parts that tell most went in
}

// Total is the size of the request.
func (a Account) Total() int64 { return a.Briefing + a.Tools + a.Conversation }

// pruneOutput stands in for the output of a call when there is no room for it.
const pruneOutput = "(left out to save room; run the call again if you need its output)"

// Conversation is a conversation that a request is to be made of.
type Conversation struct {
	Head       []models.Item // goes before the items, whatever is left out of them
	Items      []models.Item // oldest first
	Essentials string        // takes the place of turns that are left out: what must not be lost with them
}

// Fit makes a request of a conversation for one model. The items it leaves out
// are the oldest turns, whole; within the last turn it shortens the oldest
// outputs, and what is attached to words. A conversation that still does not fit
// is a fault of kind size.
func Fit(m models.Model, l Limits, c Counter, instructions string, tools []models.ToolSpec, t Conversation) (models.Request, Account, error) {
	items := Repair(t.Items, m.Target)
	if !m.Images {
		items = withoutImages(items)
	}
	a := Account{Briefing: int64(c.Text(instructions)), Budget: l.For(m)}
	for _, it := range t.Head {
		a.Conversation += int64(c.Item(it))
	}
	for _, t := range tools {
		a.Tools += int64(c.Tool(t))
	}
	sizes := make([]int64, len(items))
	for i, it := range items {
		sizes[i] = int64(c.Item(it))
		a.Conversation += sizes[i]
	}
	if over := a.Total() - a.Budget; over > 0 {
		trimToFit(c, tools, items, sizes, &a, over)
	} else if l.UnderPressure {
		trimToFit(c, tools, items, sizes, &a, a.Total()/2)
	}
	// Oldest turns first. A turn begins at a user's message. The note about what
	// was left out needs room as well.
	start, note := 0, int64(0)
	for a.Total()+note > a.Budget {
		next := nextTurn(items, start)
		if next == len(items) {
			break
		}
		for _, n := range sizes[start:next] {
			a.Conversation -= n
			a.LeftTokens += n
		}
		a.LeftOut += next - start
		start, note = next, int64(c.Item(omissionNote(a.LeftOut, t.Essentials)))
	}
	a.Conversation += note
	items, sizes = items[start:], sizes[start:]
	masked := int64(c.Text(pruneOutput)) + int64(c.Item(models.Item{}))
	for i := range items {
		if a.Total() <= a.Budget {
			break
		}
		if items[i].Kind == models.Output && sizes[i] > masked && i < len(items)-1 {
			items[i].Text, items[i].Images = pruneOutput, nil
			a.Conversation -= sizes[i] - masked
			a.LeftTokens += sizes[i] - masked
			a.Truncated++
		}
	}
	trim(c, items, sizes, &a, a.Budget)
	if a.Total() > a.Budget {
		return models.Request{}, a, &models.Fault{Kind: models.KindSize, Scope: models.ScopeRequest, Target: m.Target,
			Message: fmt.Sprintf("the request takes about %d tokens, %d more than the %d that fit", a.Total(), a.Total()-a.Budget, a.Budget),
			Hint:    "begin a new session, shorten the message, /drop pinned notes, or choose a model with a larger window"}
	}
	items = slices.DeleteFunc(items, func(it models.Item) bool { return it.Kind == "" })
	if a.LeftOut > 0 {
		items = slices.Insert(items, 0, omissionNote(a.LeftOut, t.Essentials))
	}
	return models.Request{Instructions: instructions, Items: append(slices.Clip(t.Head), items...), Tools: tools, Tokens: a.Total()}, a, nil
}

// trim shortens what is attached to a person's words, the oldest first, until
// the request takes no more than most. What came from files of the workspace is
// never attached, so no source that will be edited is cut.
func trim(c Counter, items []models.Item, sizes []int64, a *Account, most int64) {
	for i := range items {
		if a.Total() <= most {
			return
		}
		if len(items[i].Attachments) == 0 {
			continue
		}
		texts, shorter := excerpts(items[i])
		a.Pruned += shorter
		truncateText(&items[i], texts)
		n := int64(c.Item(items[i]))
		a.Conversation -= sizes[i] - n
		a.LeftTokens += sizes[i] - n
		sizes[i] = n
	}
}

// trimToFit takes out what the reducers find, in this request alone: it has to
// fit a window that is smaller than the conversation was kept for.
func trimToFit(c Counter, tools []models.ToolSpec, items []models.Item, sizes []int64, a *Account, want int64) {
	pieces := make([]Piece, len(items))
	turn := 0
	for i, it := range items {
		if beginsTurn(it) {
			turn++
		}
		pieces[i] = Piece{Item: it, Turn: turn}
	}
	gone, thought := map[string]bool{}, 0
	texts := map[int][]string{}
	for _, r := range Prune(c, tools, pieces, a.Budget, want) {
		for _, id := range r.Calls {
			gone[id] = true
		}
		thought = max(thought, r.Reasoning)
		maps.Copy(texts, r.Excerpts)
	}
	for i := range items {
		switch it := &items[i]; {
		case it.Kind == models.Output && gone[it.CallID]:
			it.Text, it.Images = pruneOutput, nil
			a.Truncated++
		case it.Kind == models.Reasoning && pieces[i].Turn <= thought:
			*it = models.Item{} // goes with the empty ones
		case len(it.Attachments) > 0 && len(texts[pieces[i].Turn]) > 0:
			truncateText(it, texts[pieces[i].Turn])
			a.Pruned++
		default:
			continue
		}
		n := int64(0)
		if items[i].Kind != "" {
			n = int64(c.Item(items[i]))
		}
		a.Conversation -= sizes[i] - n
		a.LeftTokens += sizes[i] - n
		sizes[i] = n
	}
}

// truncateText puts texts in the place of what is attached to an item.
func truncateText(it *models.Item, texts []string) {
	it.Attachments = slices.Clone(it.Attachments)
	for i, text := range texts {
		it.Attachments[i].Text = text
	}
}

func omissionNote(n int, gist string) models.Item {
	return models.NewMessage(models.Developer, strings.TrimSpace(fmt.Sprintf("The beginning of this conversation (%d items) was left out to save room.\n%s", n, gist)))
}

// beginsTurn reports whether an item begins a turn.
func beginsTurn(it models.Item) bool { return it.Kind == models.Message && it.Role == models.User }

// nextTurn is where the turn after the one at i begins: at a user's message, or at
// the words of belay's that go with it.
func nextTurn(items []models.Item, i int) int {
	for i < len(items) && !beginsTurn(items[i]) { // what goes with the words of this turn
		i++
	}
	begin := i
	for i++; i < len(items) && !beginsTurn(items[i]); i++ {
		continue
	}
	if i < len(items) && i-1 > begin && items[i-1].Kind == models.Message && items[i-1].Role == models.Developer {
		i-- // the note of the turn; what came before it belongs to others
	}
	return min(i, len(items))
}

func withoutImages(items []models.Item) []models.Item {
	for i := range items {
		if n := len(items[i].Images); n > 0 {
			items[i].Images = nil
			items[i].Text += fmt.Sprintf("\n(%d picture(s) left out: this model cannot see them)", n)
		}
	}
	return items
}
