// Package window decides which items go into the next request, so that it is
// valid and fits its target, and keeps an account of what was left out.
package window

import (
	"fmt"
	"maps"
	"math"
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

	// Guess is a size, as we count it, that is thought to be too much: the request is
	// made to fit it as far as that goes, and is none the less valid. 0: there is none.
	Guess int64
	// Smallest makes the request as short as it can be: the words of the last turn,
	// and what its last calls gave.
	Smallest bool

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

// aim is the size that a request should have.
func (l Limits) aim(m models.Model) int64 {
	switch most := l.For(m); {
	case l.Smallest:
		return 0
	case l.Guess > 0:
		return min(most, l.Guess)
	default:
		return most
	}
}

// limit is the size above which a request is not even sent: what the user or the
// catalogue says, but never a guess.
func (l Limits) limit(m models.Model) int64 {
	switch {
	case l.Budget > 0:
		return l.For(m)
	case m.Window <= 0:
		return math.MaxInt64
	case l.Factor > 0:
		return int64(float64(m.Window) / l.Factor)
	}
	return m.Window
}

// Account is the breakdown of a request: what takes its tokens, and what was left
// out of it.
type Account struct {
	SystemPrompt         int64
	Tools                int64
	Conversation         int64
	Budget               int64
	OmittedItems         int   // items left out, the oldest first
	OmittedTokens        int64 // what the items and texts left out would have taken
	PrunedOutputs        int   // outputs replaced by a note
	TruncatedAttachments int   // attachments reduced to excerpts
}

// Total is the size of the request.
func (a Account) Total() int64 { return a.SystemPrompt + a.Tools + a.Conversation }

// prunedOutput stands in for the output of a call when there is no room for it.
const prunedOutput = "(left out to save room; run the call again if you need its output)"

// Conversation is a conversation that a request is to be made of.
type Conversation struct {
	Head       []models.Item // goes before the items, whatever is left out of them
	Items      []models.Item // oldest first
	Essentials string        // takes the place of turns that are left out: what must not be lost with them
}

// Complete is all of a conversation, as a target may see it if there is room. The items
// must not be changed.
func (c Conversation) Complete(target models.Target) []models.Item {
	return behind(c.Head, Repair(c.Items, target))
}

func behind(head, items []models.Item) []models.Item {
	if len(head) == 0 {
		return slices.Clip(items)
	}
	return slices.Concat(head, items)
}

// Fit makes a request of a conversation for one model. The items it leaves out
// are the oldest turns, whole; within the last turn it shortens the oldest
// outputs, and what is attached to words. A conversation that even then takes more
// than is known to fit is a fault of kind size. The items of the request must not be
// changed: they may be those of the conversation.
func Fit(
	model models.Model,
	limits Limits,
	counter Counter,
	instructions string,
	tools []models.ToolSpec,
	conversation Conversation,
) (models.Request, Account, error) {
	items := Repair(conversation.Items, model.Target)
	if model.Blind() {
		items = withoutImages(items)
	}
	account := Account{SystemPrompt: int64(counter.Text(instructions)), Budget: limits.For(model)}
	for _, it := range conversation.Head {
		account.Conversation += int64(counter.Item(it))
	}
	for _, conversation := range tools {
		account.Tools += int64(counter.Tool(conversation))
	}
	aim := limits.aim(model)
	items = shortest(counter, limits, items, &account)
	sizes := make([]int64, len(items))
	for i, it := range items {
		sizes[i] = int64(counter.Item(it))
		account.Conversation += sizes[i]
	}
	if account.Total() > aim || limits.UnderPressure {
		items = slices.Clone(items) // they are the conversation's, and are going to be changed
	}
	if over := account.Total() - aim; over > 0 {
		trimToFit(counter, tools, items, sizes, &account, over)
	} else if limits.UnderPressure {
		trimToFit(counter, tools, items, sizes, &account, account.Total()/2)
	}
	// Oldest turns first. A turn begins at a user's message. The note about what
	// was left out needs room as well.
	start, note := 0, int64(0)
	if account.OmittedItems > 0 {
		note = int64(counter.Item(omissionNote(account.OmittedItems, conversation.Essentials)))
	}
	for account.Total()+note > aim {
		next := nextTurn(items, start)
		if next == len(items) {
			break
		}
		for _, n := range sizes[start:next] {
			account.Conversation -= n
			account.OmittedTokens += n
		}
		account.OmittedItems += next - start
		start, note = next, int64(counter.Item(omissionNote(account.OmittedItems, conversation.Essentials)))
	}
	account.Conversation += note
	items, sizes = items[start:], sizes[start:]
	masked := int64(counter.Text(prunedOutput)) + int64(counter.Item(models.Item{}))
	for i := range items {
		if account.Total() <= aim {
			break
		}
		if items[i].Kind == models.Output && sizes[i] > masked && i < len(items)-1 {
			items[i].Text, items[i].Images = prunedOutput, nil
			account.Conversation -= sizes[i] - masked
			account.OmittedTokens += sizes[i] - masked
			account.PrunedOutputs++
		}
	}
	trim(counter, items, sizes, &account, aim)
	if limit := limits.limit(model); account.Total() > limit {
		return models.Request{}, account, &models.Fault{
			Kind:   models.KindSize,
			Scope:  models.ScopeRequest,
			Target: model.Target,
			Message: fmt.Sprintf("the request takes about %d tokens, %d more than the %d that fit", account.Total(),
				account.Total()-limit, limit),
			Hint: "begin a new session, shorten the message, /drop pinned notes, or choose a model with a larger window",
		}
	}
	items = slices.DeleteFunc(items, func(it models.Item) bool { return it.Kind == "" })
	if account.OmittedItems > 0 {
		items = slices.Insert(items, 0, omissionNote(account.OmittedItems, conversation.Essentials))
	}
	return models.Request{
		Instructions: instructions,
		Items:        behind(conversation.Head, items),
		Tools:        tools,
		Tokens:       account.Total(),
	}, account, nil
}

// trim shortens what is attached to a person's words, the oldest first, until
// the request takes no more than most. What came from files of the workspace is
// never attached, so no source that will be edited is cut.
func trim(counter Counter, items []models.Item, sizes []int64, account *Account, most int64) {
	for i := range items {
		if account.Total() <= most {
			return
		}
		if len(items[i].Attachments) == 0 {
			continue
		}
		texts, shorter := excerpts(items[i])
		account.TruncatedAttachments += shorter
		replaceAttachments(&items[i], texts)
		n := int64(counter.Item(items[i]))
		account.Conversation -= sizes[i] - n
		account.OmittedTokens += sizes[i] - n
		sizes[i] = n
	}
}

// trimToFit takes out what the reducers find, in this request alone: it has to
// fit a window that is smaller than the conversation was kept for.
func trimToFit(
	counter Counter,
	tools []models.ToolSpec,
	items []models.Item,
	sizes []int64,
	account *Account,
	want int64,
) {
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
	for _, r := range Prune(counter, tools, pieces, account.Budget, want) {
		for _, id := range r.Calls {
			gone[id] = true
		}
		thought = max(thought, r.Reasoning)
		maps.Copy(texts, r.Excerpts)
	}
	for i := range items {
		switch it := &items[i]; {
		case it.Kind == models.Output && gone[it.CallID]:
			it.Text, it.Images = prunedOutput, nil
			account.PrunedOutputs++
		case it.Kind == models.Reasoning && pieces[i].Turn <= thought:
			*it = models.Item{} // goes with the empty ones
		case len(it.Attachments) > 0 && len(texts[pieces[i].Turn]) > 0:
			replaceAttachments(it, texts[pieces[i].Turn])
			account.TruncatedAttachments++
		default:
			continue
		}
		n := int64(0)
		if items[i].Kind != "" {
			n = int64(counter.Item(items[i]))
		}
		account.Conversation -= sizes[i] - n
		account.OmittedTokens += sizes[i] - n
		sizes[i] = n
	}
}

// replaceAttachments puts texts in the place of what is attached to an item.
func replaceAttachments(it *models.Item, texts []string) {
	it.Attachments = slices.Clone(it.Attachments)
	for i, text := range texts {
		it.Attachments[i].Text = text
	}
}

func omissionNote(n int, gist string) models.Item {
	text := fmt.Sprintf("The beginning of this conversation (%d items) was left out to save room.\n%s", n, gist)
	return models.NewMessage(models.Developer, strings.TrimSpace(text))
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
	if !slices.ContainsFunc(items, func(it models.Item) bool { return len(it.Images) > 0 }) {
		return items
	}
	items = slices.Clone(items)
	for i := range items {
		if n := len(items[i].Images); n > 0 {
			items[i].Images = nil
			items[i].Text += fmt.Sprintf("\n(%d picture(s) left out: this model cannot see them)", n)
		}
	}
	return items
}
