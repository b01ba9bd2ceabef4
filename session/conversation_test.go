package session

import (
	"slices"
	"strings"
	"testing"

	"belay/models"
)

// talk folds events into a conversation, numbered from 1.
func talk(events ...Event) *Conversation {
	var c Conversation
	turn := 0
	for i, e := range events {
		if _, ok := e.(TurnStarted); ok {
			turn++
		}
		c.Items() // so that the quick way of adding is tested too
		c.Apply(Record{Seq: int64(i + 1), Turn: turn, Event: e})
	}
	return &c
}

func asked(text string) Event { return TurnStarted{Prompt: Prompt{Text: text}} }
func said(text string) Event  { return ItemAdded{models.NewMessage(models.Assistant, text)} }
func called(id string) Event {
	return ItemAdded{models.Item{Kind: models.Call, CallID: id, Name: "read"}}
}
func ran(id, out string) Event { return ToolEnded{CallID: id, Output: out} }

func words(c *Conversation) string {
	var list []string
	all := c.Items()
	for _, h := range slices.Backward(c.Head()) {
		all = slices.Insert(slices.Clone(all), 0, h.Item)
	}
	for _, it := range all {
		text := it.Text
		switch {
		case text == Stub:
			text = "stub"
		case strings.HasPrefix(text, "What happened before"):
			text = "summary"
		}
		list = append(list, text+it.CallID)
	}
	return strings.Join(list, " ")
}

func TestAConversationIsWhatTheLogLeavesIn(t *testing.T) {
	first := []Event{
		asked("one"),
		called("a"),
		ran("a", "out"),
		said("x"),
		asked("two"),
		called("b"),
		ran("b", "out"),
		said("y"),
	}
	with := func(more ...Event) []Event { return append(first[:len(first):len(first)], more...) }
	for _, tt := range []struct {
		name   string
		events []Event
		want   string
	}{
		{"everything at first", first, "one a outa x two b outb y"},
		{"a masked output is a stub", with(Pruned{Calls: []string{"a"}}), "one a stuba x two b outb y"},
		{"which can be restored", with(Pruned{Calls: []string{"a", "b"}}, Restored{Calls: []string{"a"}}),
			"one a outa x two b stubb y"},
		{"a summary stands for the beginning", with(Compacted{Through: 4, Summary: "s"}), "summary two b outb y"},
		{"but never for the words of the task", with(Compacted{Through: 7, Summary: "s", Task: "two"}), "summary two y"},
		{"and can be undone", with(Compacted{Through: 4, Summary: "s"}, Restored{}), "one a outa x two b outb y"},
		{"what is kept comes first", with(NotePinned{Text: "rule"}),
			"The user wants you to keep in mind: rule one a outa x two b outb y"},
		{"until it is dropped", with(NotePinned{Text: "rule"}, NotePinned{Text: "rule", Unpinned: true}),
			"one a outa x two b outb y"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := words(talk(tt.events...)); got != tt.want {
				t.Errorf("Items = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTheGistIsHowItBeganAndWhatIsNotDone(t *testing.T) {
	task := func(status string) Event { return TodosChanged{Todos: []Todo{{"long way", status}}} }
	for _, tt := range []struct {
		name   string
		events []Event
		want   string
	}{
		{"the first words", []Event{asked("one"), asked("two")}, "It began with these words of the user's: one"},
		{"a plan goes on over turns", []Event{asked("one"), task("active"), asked("two")},
			"It began with these words of the user's: one\nThe plan:\n- long way (active)"},
		{"until it is done", []Event{asked("one"), task("done"), asked("two")},
			"It began with these words of the user's: one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := talk(tt.events...).Essentials(); got != tt.want {
				t.Errorf("Gist = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestItemsThatWereGivenOutStayAsTheyAre(t *testing.T) {
	c := talk(asked("one"), said("x"))
	before := c.Items()
	c.Apply(Record{Seq: 3, Turn: 1, Event: said("y")})
	c.Items()
	c.Apply(Record{Seq: 4, Turn: 1, Event: said("z")})
	if len(before) != 2 || before[1].Text != "x" || words(c) != "one x y z" {
		t.Errorf("before is %v, now %s", before, words(c))
	}
}

func BenchmarkItemsUnchanged(b *testing.B) {
	var events []Event
	for range 2000 {
		events = append(events, asked("one"), said("x"))
	}
	c := talk(events...)
	for b.Loop() {
		c.Items()
	}
}

func TestTheTaskIsAlsoWhatWasSaidWhileItRan(t *testing.T) {
	var c Conversation
	for i, e := range []Event{
		TurnStarted{Prompt: Prompt{Text: "old"}},
		TurnStarted{Prompt: Prompt{Text: "go"}},
		PromptTaken{Prompt: Prompt{Text: "use tabs", Attachments: []models.Attachment{{Name: "a", Text: "long"}}}},
		PromptTaken{Prompt: Prompt{Text: "and test"}},
	} {
		c.Apply(Record{Seq: int64(i + 1), Turn: 1, Event: e})
	}
	for through, want := range map[int64]string{1: "", 2: "go", 3: "go\n\nuse tabs", 4: "go\n\nuse tabs\n\nand test"} {
		words, swallowed := c.Task(through)
		if words != "go\n\nuse tabs\n\nand test" || swallowed != want {
			t.Errorf("Task(%d) = %q, %q; want all words and %q", through, words, swallowed, want)
		}
	}
	if got := c.Essentials(); !strings.Contains(got, "use tabs") {
		t.Errorf("the essentials are %q", got)
	}
	for _, p := range c.Pieces() {
		if len(p.Item.Attachments) > 0 && !p.Whole {
			t.Error("excerpts of a turn's attachments would take the place of those of a message within it")
		}
	}
}
