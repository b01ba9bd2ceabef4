package window

import (
	"fmt"
	"slices"
	"strings"

	"belay/models"
)

// shortest leaves of the items, if the limits ask for it, what a request cannot do
// without: the words that began the last turn, and its last round of calls with
// what they gave. Calls go together with their outputs.
func shortest(counter Counter, limits Limits, items []models.Item, account *Account) []models.Item {
	if !limits.Smallest {
		return items
	}
	begin := lastTurn(items)
	words := begin
	for words < len(items) && items[words].Kind == models.Message && items[words].Role != models.Assistant {
		words++
	}
	round := max(lastRound(items), words)
	kept := slices.Concat(items[begin:words], items[round:])
	account.OmittedItems += len(items) - len(kept)
	for _, it := range slices.Concat(items[:begin], items[words:round]) {
		account.OmittedTokens += int64(counter.Item(it))
	}
	for i := range kept {
		if it := &kept[i]; it.Kind == models.Output && len(it.Text) > shortOutput {
			before := int64(counter.Item(*it))
			it.Text = shortenOutput(it.Text)
			account.PrunedOutputs++
			account.OmittedTokens += before - int64(counter.Item(*it))
		}
	}
	return kept
}

// shortOutput is how long an output may be in the shortest request, in bytes. It may
// be the very one that made the request too long.
const shortOutput = 8 << 10

// shortenOutput leaves the beginning of an output and, where results stand, more of
// its end.
func shortenOutput(text string) string {
	head := strings.ToValidUTF8(text[:shortOutput/4], "")
	tail := strings.ToValidUTF8(text[len(text)-shortOutput/2:], "")
	return fmt.Sprintf("%s\n\n(%d bytes of this output are left out: the request was too long. Ask for a part of it.)\n\n%s",
		head, len(text)-len(head)-len(tail), tail)
}

// lastTurn is where the last turn begins.
func lastTurn(items []models.Item) int {
	begin := 0
	for next := nextTurn(items, 0); next < len(items); next = nextTurn(items, next) {
		begin = next
	}
	return begin
}

// lastRound is where the last reply with calls begins whose outputs end the
// conversation; the end where there is none.
func lastRound(items []models.Item) int {
	at := len(items)
	for at > 0 && items[at-1].Kind == models.Output {
		at--
	}
	if at == len(items) {
		return at
	}
	for at > 0 && items[at-1].Kind != models.Output &&
		(items[at-1].Kind != models.Message || items[at-1].Role == models.Assistant) {
		at--
	}
	return at
}
