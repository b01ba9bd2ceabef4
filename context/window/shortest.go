package window

import (
	"slices"

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
	return kept
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
