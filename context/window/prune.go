package window

import (
	"slices"

	"belay/models"
)

// Piece is an item of the conversation as it would be sent now.
type Piece struct {
	Item   models.Item
	Turn   int
	Masked bool // an output whose text was taken out before
	Whole  bool // its attachments are not reduced to excerpts
}

// PruneResult is what one reducer takes out.
type PruneResult struct {
	By        string   // in a few words for people
	Calls     []string // whose outputs become stubs
	Reasoning int      // reasoning up to this turn goes
	// Excerpts are what stays of the attachments of a turn, in their order.
	Excerpts map[int][]string
	Freed    int64 // tokens
}

// The names of the reducers.
const (
	ByDuplicates = "repeated reads"
	ByReasoning  = "reasoning of earlier turns"
	ByExcerpts   = "most of earlier attachments"
	ByOutputs    = "older outputs"
)

// What is protected and how much must be gained, in tokens; in a small window
// a quarter and an eighth of the budget. Taking out little and often would cost
// more in lost caches than it frees.
const (
	protectTail     = 40_000
	minStride       = 20_000
	minPrunedOutput = 200 // an output below it is not worth a stub
)

// Prune finds what to take out of a conversation so that about want tokens are
// freed: first what is there twice, then reasoning of earlier turns, then all but
// the telling parts of attachments to earlier turns, then the outputs of old
// calls, those of the last two turns only if nothing else helps.
// It never touches words, calls, or the end of the conversation. What matters of
// the tools that were called is read from their specs. The same conversation
// gives the same reductions.
func Prune(counter Counter, tools []models.ToolSpec, pieces []Piece, budget, want int64) []PruneResult {
	if len(pieces) == 0 || want <= 0 {
		return nil
	}
	pass := pruner{c: counter, pieces: pieces, turn: pieces[len(pieces)-1].Turn, gone: map[string]bool{},
		stride: min(minStride, budget/8), calls: map[string]*models.Item{}, edited: map[string]bool{}}
	pass.traits = map[string]models.ToolTraits{}
	for _, tool := range tools {
		pass.traits[tool.Name] = tool.Traits
	}
	pass.tail = tailFrom(counter, pieces, min(protectTail, budget/4))
	pass.findCalls()
	for _, step := range []func(){
		pass.duplicates,
		pass.reasoning,
		pass.excerpts,
		func() { pass.outputs(pass.turn - 2) },
		func() { pass.outputs(pass.turn) },
	} {
		step()
		if pass.freed >= want {
			break
		}
	}
	return pass.out
}

type pruner struct {
	c      Counter
	pieces []Piece
	turn   int // the current one
	tail   int // the first piece that is protected
	stride int64
	calls  map[string]*models.Item // by their ids
	traits map[string]models.ToolTraits
	edited map[string]bool // paths of the files that are being edited
	gone   map[string]bool
	freed  int64
	out    []PruneResult
}

// tailFrom is the first piece of the last so many tokens.
func tailFrom(c Counter, pieces []Piece, tokens int64) int {
	i := len(pieces)
	for i > 0 && tokens > 0 {
		i--
		tokens -= int64(c.Item(pieces[i].Item))
	}
	return i
}

func (r *pruner) take(x PruneResult) {
	for _, id := range x.Calls {
		r.gone[id] = true
	}
	r.freed += x.Freed
	r.out = append(r.out, x)
}

// open reports whether an output can be taken out, and what that frees.
func (r *pruner) open(p Piece) (int64, bool) {
	if p.Item.Kind != models.Output || p.Masked || r.gone[p.Item.CallID] {
		return 0, false
	}
	n := int64(r.c.Item(p.Item))
	return n, n >= minPrunedOutput
}

// findCalls notes the calls, and the files that were changed in the last two
// turns: what the model read of them it still needs.
func (r *pruner) findCalls() {
	for i := range r.pieces {
		p := &r.pieces[i]
		if p.Item.Kind != models.Call {
			continue
		}
		r.calls[p.Item.CallID] = &p.Item
		if p.Turn >= r.turn-1 && r.traits[p.Item.Name].EditsFile {
			r.edited[models.CallPath(p.Item.Arguments)] = true
		}
	}
}

// callOf is the call that a piece is the output of.
func (r *pruner) callOf(p Piece) models.Item {
	if call := r.calls[p.Item.CallID]; call != nil {
		return *call
	}
	return models.Item{}
}

// duplicates keeps the last of outputs that are the same in name, arguments
// and text.
func (r *pruner) duplicates() {
	type output struct{ name, arguments, text string }
	seen := map[output]bool{}
	result := PruneResult{By: ByDuplicates}
	for _, piece := range slices.Backward(r.pieces) {
		n, ok := r.open(piece)
		if !ok {
			continue
		}
		call := r.callOf(piece)
		key := output{call.Name, call.Arguments, piece.Item.Text}
		if seen[key] {
			result.Calls = append(result.Calls, piece.Item.CallID)
			result.Freed += n
		}
		seen[key] = true
	}
	if len(result.Calls) > 0 {
		slices.Reverse(result.Calls)
		r.take(result)
	}
}

// reasoning drops the reasoning of the turns before this one.
func (r *pruner) reasoning() {
	result := PruneResult{By: ByReasoning, Reasoning: r.turn - 1}
	for _, p := range r.pieces {
		if p.Item.Kind == models.Reasoning && p.Turn < r.turn {
			result.Freed += int64(r.c.Item(p.Item))
		}
	}
	if result.Freed >= r.stride/4 && result.Freed > 0 {
		r.take(result)
	}
}

// excerpts shortens what was attached to the words of earlier turns.
func (r *pruner) excerpts() {
	result := PruneResult{By: ByExcerpts, Excerpts: map[int][]string{}}
	for _, piece := range r.pieces {
		if len(piece.Item.Attachments) == 0 || piece.Turn >= r.turn || piece.Whole {
			continue
		}
		texts, shorter := excerpts(piece.Item)
		if shorter == 0 {
			continue
		}
		result.Excerpts[piece.Turn] = texts
		for i, at := range piece.Item.Attachments {
			result.Freed += int64(r.c.Text(at.Text)) - int64(r.c.Text(texts[i]))
		}
	}
	if result.Freed >= r.stride/4 && result.Freed > 0 {
		r.take(result)
	}
}

// outputs takes out the outputs of turns up to one, before the protected tail,
// if that is worth losing the cache.
func (r *pruner) outputs(through int) {
	result := PruneResult{By: ByOutputs}
	for _, piece := range r.pieces[:r.tail] {
		n, ok := r.open(piece)
		call := r.callOf(piece)
		traits := r.traits[call.Name]
		needed := traits.KeepsOutput || traits.ReadsFile && r.edited[models.CallPath(call.Arguments)]
		if !ok || piece.Turn > through || needed {
			continue
		}
		result.Calls = append(result.Calls, piece.Item.CallID)
		result.Freed += n
	}
	if result.Freed >= r.stride && result.Freed > 0 {
		r.take(result)
	}
}

// Truncate finds where a summary may take over: the number of pieces that it stands
// for. About keep tokens stay behind it. No call is parted from its output.
// 0 means that there is nothing worth a summary.
func Truncate(c Counter, pieces []Piece, keep int64) int {
	end := tailFrom(c, pieces, keep)
	for ; end > 0; end-- {
		if isComplete(pieces[:end]) && (end == len(pieces) || pieces[end].Item.Kind != models.Output) {
			break
		}
	}
	if end < 4 {
		return 0
	}
	return end
}

// isComplete reports whether each call has its output, and whether no reasoning
// stands at the end without what it led to.
func isComplete(pieces []Piece) bool {
	waiting := map[string]bool{}
	for _, p := range pieces {
		switch p.Item.Kind {
		case models.Call:
			waiting[p.Item.CallID] = true
		case models.Output:
			delete(waiting, p.Item.CallID)
		}
	}
	return len(waiting) == 0 && pieces[len(pieces)-1].Item.Kind != models.Reasoning
}
