package window

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"belay/models"
)

// turnOf makes a turn that reads some files: a prompt, calls, outputs of size
// letters each, and an answer.
func turnOf(n, size int, files ...string) []Piece {
	list := []Piece{{Item: user(fmt.Sprintf("task %d", n)), Turn: n}}
	for i, f := range files {
		id := fmt.Sprintf("%d.%d", n, i)
		list = append(
			list,
			Piece{
				Item: models.Item{
					Kind:      models.Call,
					CallID:    id,
					Name:      "read",
					Arguments: fmt.Sprintf(`{"path":%q}`, f),
				},
				Turn: n,
			},
			Piece{Item: models.Item{Kind: models.Output, CallID: id, Text: strings.Repeat("x", size) + f}, Turn: n},
		)
	}
	return append(list, Piece{Item: assistant("done"), Turn: n})
}

// attached makes words with a text of so many lines attached.
func attached(turn, lines int) []Piece {
	it := user("look")
	it.Attachments = []models.Attachment{{Name: "log", Text: strings.Repeat("x\n", lines)}}
	return []Piece{{Item: it, Turn: turn}}
}

func join(turns ...[]Piece) []Piece {
	var all []Piece
	for _, t := range turns {
		all = append(all, t...)
	}
	return all
}

func reduced(list []PruneResult) string {
	var words []string
	for _, r := range list {
		words = append(words,
			fmt.Sprintf("%s: %s%s", r.By, strings.Join(r.Calls, " "), strings.Repeat("r", r.Reasoning)))
		if len(r.Excerpts) > 0 {
			words[len(words)-1] += fmt.Sprint(slices.Sorted(maps.Keys(r.Excerpts)))
		}
	}
	return strings.Join(words, "; ")
}

// testTools are a tool that reads a file and one that changes it.
var testTools = []models.ToolSpec{
	{Name: "read", Traits: models.ToolTraits{ReadsFile: true}},
	{Name: "edit", Traits: models.ToolTraits{EditsFile: true}},
}

func TestReduce(t *testing.T) {
	const budget = 40_000 // protects 10,000 and wants strides of 5,000
	thought := func(n int) []Piece {
		return []Piece{{Item: models.Item{Kind: models.Reasoning, Text: strings.Repeat("t", 3000)}, Turn: n}}
	}
	edits := []Piece{
		{Item: models.Item{Kind: models.Call, CallID: "e", Name: "edit", Arguments: `{"path":"a"}`}, Turn: 4},
		{Item: models.Item{Kind: models.Output, CallID: "e", Text: "changed"}, Turn: 4},
	}
	for _, tt := range []struct {
		name   string
		pieces []Piece
		want   string
	}{
		{"nothing of a short conversation", join(turnOf(1, 100, "a", "b"), turnOf(2, 100, "c")), ""},
		{"what is there twice, but for the last", join(turnOf(1, 6000, "a"), turnOf(2, 6000, "a"), turnOf(3, 6000, "a")),
			"repeated reads: 1.0 2.0"},
		{"reasoning of earlier turns", join(thought(1), turnOf(1, 100, "a"), thought(2), turnOf(2, 100, "b")),
			"reasoning of earlier turns: r"},
		{"old outputs before those of the last two turns",
			join(turnOf(1, 9000, "a"), turnOf(2, 9000, "b"), turnOf(3, 9000, "c"), turnOf(4, 9000, "d")),
			"older outputs: 1.0 2.0"},
		{"of the last turns if nothing else is there", join(turnOf(1, 9000, "a", "b", "c", "d")), "older outputs: 1.0 1.1"},
		{"not what is being edited",
			join(turnOf(1, 9000, "a"), turnOf(2, 9000, "b"), turnOf(3, 9000, "c"), turnOf(4, 9000, "d"), edits),
			"older outputs: 2.0"},
		{"most of what was attached to earlier words, not to the last",
			join(attached(1, 6000), turnOf(1, 100, "a"), attached(2, 6000)), "most of earlier attachments: [1]"},
		{"not a little", join(turnOf(1, 3000, "a"), turnOf(2, 20_000, "b"), turnOf(3, 100, "c")), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := reduced(Prune(letters{}, testTools, tt.pieces, budget, 12_000)); got != tt.want {
				t.Errorf("Reduce = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCutPartsNoCallFromItsOutput(t *testing.T) {
	pieces := join(turnOf(1, 1000, "a"), turnOf(2, 1000, "b", "c"), turnOf(3, 1000, "d"))
	for keep := range int64(6000) {
		n := Truncate(letters{}, pieces, keep)
		if n > 0 && !isComplete(pieces[:n]) {
			t.Fatalf("Cut(%d) = %d parts a call from its output", keep, n)
		}
	}
	if n := Truncate(letters{}, pieces, 1023); n != 10 {
		t.Errorf("Cut = %d, want the first two turns, 10 pieces", n)
	}
	if n := Truncate(letters{}, pieces[:3], 0); n != 0 {
		t.Errorf("Cut of almost nothing = %d, want 0", n)
	}
}

func BenchmarkReduce(b *testing.B) {
	var pieces []Piece
	for n := range 300 {
		pieces = append(pieces, turnOf(n+1, 2000, "a", "b", fmt.Sprint(n))...)
	}
	for b.Loop() {
		Prune(letters{}, testTools, pieces, 200_000, 100_000)
	}
}
