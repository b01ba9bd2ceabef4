package window

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"belay/models"
)

type letters struct{}

func (letters) Text(s string) int             { return len(s) }
func (letters) Item(it models.Item) int       { return len(it.FullText()) + len(it.Arguments) }
func (letters) Tool(spec models.ToolSpec) int { return len(spec.Name) }

var sol = models.Model{Target: models.Target{Provider: "openai", Model: "sol"}, Window: 1000, Tools: true, Images: true}

func user(s string) models.Item      { return models.NewMessage(models.User, s) }
func assistant(s string) models.Item { return models.NewMessage(models.Assistant, s) }
func call(id string) models.Item {
	return models.Item{Kind: models.Call, CallID: id, Name: "read", Arguments: "{}"}
}
func output(id string) models.Item {
	return models.Item{Kind: models.Output, CallID: id, Text: "out " + id}
}
func reasoning(model string) models.Item {
	return models.Item{
		Kind:   models.Reasoning,
		Origin: models.Origin{Provider: "openai", Model: model},
		Raw:    []byte(`{}`),
	}
}

// shape writes a conversation as one letter an item.
func shape(items []models.Item) string {
	var b strings.Builder
	for _, it := range items {
		switch it.Kind {
		case models.Message:
			b.WriteString(string(it.Role[0]))
		case models.Reasoning:
			b.WriteString("r")
		case models.Call:
			b.WriteString("c" + it.CallID)
		case models.Output:
			b.WriteString("o" + it.CallID)
			if it.Text == unknown {
				b.WriteString("?")
			}
		}
		b.WriteString(" ")
	}
	return strings.TrimSpace(b.String())
}

func TestMend(t *testing.T) {
	for _, tt := range []struct {
		name  string
		items []models.Item
		want  string
	}{
		{"a valid conversation stays as it is",
			[]models.Item{user("a"), reasoning("sol"), call("1"), output("1"), assistant("b")}, "u r c1 o1 a"},
		{"a call without output is explained", []models.Item{user("a"), call("1"), call("2"), output("2")}, "u c1 c2 o1? o2"},
		{"an output without call is dropped", []models.Item{output("0"), user("a")}, "u"},
		{"a second output is dropped", []models.Item{user("a"), call("1"), output("1"), output("1")}, "u c1 o1"},
		{"a call id is used once", []models.Item{user("a"), call("1"), output("1"), call("1"), output("1")}, "u c1 o1"},
		{"outputs come before the next message", []models.Item{user("a"), call("1"), user("b"), output("1")}, "u c1 o1 u"},
		{"reasoning of another model is dropped", []models.Item{user("a"), reasoning("terra"), call("1"), output("1")},
			"u c1 o1"},
		{"reasoning that led to nothing is dropped",
			[]models.Item{user("a"), reasoning("sol"), user("b"), reasoning("sol")}, "u u"},
		{"words beside calls stay before the outputs",
			[]models.Item{user("a"), assistant("x"), call("1"), call("2"), output("1"), output("2")}, "u a c1 c2 o1 o2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Repair(tt.items, sol.Target)
			if shape(got) != tt.want {
				t.Errorf("Mend = %s, want %s", shape(got), tt.want)
			}
			if again := Repair(got, sol.Target); shape(again) != tt.want {
				t.Errorf("Mend of what was mended = %s, want %s", shape(again), tt.want)
			}
		})
	}
}

func TestFit(t *testing.T) {
	long := strings.Repeat("x", 400)
	t.Run("all goes in when there is room", func(t *testing.T) {
		req, a, err := Fit(sol, Limits{}, letters{}, "sys", nil,
			Conversation{Items: []models.Item{user("a"), assistant("b")}})
		if err != nil || shape(req.Items) != "u a" || a.Total() != 5 || a.OmittedItems != 0 {
			t.Errorf("Fit = %s, %+v, %v", shape(req.Items), a, err)
		}
	})
	t.Run("the oldest turns are left out and the model is told", func(t *testing.T) {
		req, a, err := Fit(sol, Limits{}, letters{}, "", nil,
			Conversation{Items: []models.Item{user(long), assistant(long), user(long), assistant(long), user("now")}})
		if err != nil || shape(req.Items) != "d u a u" || a.OmittedItems != 2 || a.OmittedTokens != 800 {
			t.Errorf("Fit = %s, %+v, %v", shape(req.Items), a, err)
		}
	})
	t.Run("old outputs go before the words of old turns", func(t *testing.T) {
		old := output("1")
		old.Text = strings.Repeat("y", 700)
		req, a, err := Fit(sol, Limits{}, letters{}, "", nil, Conversation{
			Items: []models.Item{
				user("first"),
				call("1"),
				old,
				assistant("x"),
				user("second"),
				assistant("y"),
				user("third"),
				assistant(long),
				user("now"),
			},
		})
		if err != nil || a.OmittedItems != 0 || a.PrunedOutputs != 1 || req.Items[0].Text != "first" {
			t.Errorf("Fit = %s, %+v, %v", shape(req.Items), a, err)
		}
	})
	t.Run("under pressure old outputs go although there is room", func(t *testing.T) {
		old := output("1")
		old.Text = strings.Repeat("y", 400)
		items := []models.Item{
			user("first"),
			call("1"),
			old,
			assistant("x"),
			user("second"),
			assistant("y"),
			user("third"),
			assistant(long),
			user("now"),
		}
		_, a, err := Fit(sol, Limits{}, letters{}, "", nil, Conversation{Items: items})
		_, pressed, err2 := Fit(sol, Limits{UnderPressure: true}, letters{}, "", nil, Conversation{Items: items})
		if err != nil || err2 != nil || a.PrunedOutputs != 0 || pressed.PrunedOutputs != 1 {
			t.Errorf("Fit = %+v, pressed %+v, %v %v", a, pressed, err, err2)
		}
	})
	t.Run("old outputs of the last turn are shortened", func(t *testing.T) {
		big := output("1")
		big.Text = strings.Repeat("y", 900)
		req, a, err := Fit(sol, Limits{}, letters{}, "", nil,
			Conversation{Items: []models.Item{user(long), call("1"), big, call("2"), output("2")}})
		if err != nil || a.PrunedOutputs != 1 || req.Items[2].Text != prunedOutput {
			t.Errorf("Fit = %s, %+v, %v", shape(req.Items), a, err)
		}
	})
	t.Run("the head stays, and the gist stands for what is left out", func(t *testing.T) {
		talk := Conversation{
			Head:       []models.Item{models.NewMessage(models.Developer, "keep")},
			Items:      []models.Item{user(long), assistant(long + long), user("now")},
			Essentials: "gist",
		}
		req, a, err := Fit(sol, Limits{}, letters{}, "", nil, talk)
		if err != nil || a.OmittedItems != 2 ||
			shape(req.Items) != shape([]models.Item{talk.Head[0], omissionNote(2, "gist"), user("now")}) ||
			!strings.HasSuffix(req.Items[1].Text, "gist") {
			t.Errorf("Fit = %s, %+v, %v", shape(req.Items), a, err)
		}
	})
	t.Run("at last what is attached is shortened, the words never", func(t *testing.T) {
		it := user("why does it fail?")
		it.Attachments = []models.Attachment{{Name: "log", Text: strings.Repeat("x\n", 2000) + "the end\n"}}
		req, a, err := Fit(sol, Limits{}, letters{}, "", nil, Conversation{Items: []models.Item{it}})
		if err != nil || a.TruncatedAttachments != 1 || req.Items[0].Text != it.Text ||
			!strings.HasPrefix(req.Items[0].Attachments[0].Text, truncatedNote) ||
			!strings.HasSuffix(req.Items[0].Attachments[0].Text, "the end\n") {
			t.Errorf("Fit = %+v, %+v, %v", req.Items, a, err)
		}
		if len(it.Attachments[0].Text) < 4000 {
			t.Error("the conversation itself was cut")
		}
	})
	t.Run("what cannot fit is a fault", func(t *testing.T) {
		_, _, err := Fit(sol, Limits{}, letters{}, "", nil,
			Conversation{Items: []models.Item{user(long + long + long)}})
		var f *models.Fault
		if !errors.As(err, &f) || f.Kind != models.KindSize || f.Hint == "" {
			t.Errorf("Fit = %v, want a fault of kind size with a hint", err)
		}
	})
	t.Run("nor is one that was only guessed to be too long", func(t *testing.T) {
		unknown := sol
		unknown.Window = 0
		words := user(strings.Repeat("x", 2*models.UnknownWindow))
		for name, limits := range map[string]Limits{"guess": {Guess: 10}, "smallest": {Smallest: true}} {
			req, a, err := Fit(sol, limits, letters{}, "", nil, Conversation{Items: []models.Item{user(long), user(long)}})
			if err != nil || shape(req.Items) != "d u" || a.OmittedItems != 1 {
				t.Errorf("%s: Fit = %s, %+v, %v", name, shape(req.Items), a, err)
			}
		}
		if _, _, err := Fit(unknown, Limits{}, letters{}, "", nil, Conversation{Items: []models.Item{words}}); err != nil {
			t.Errorf("nobody knows the window: Fit = %v", err)
		}
		if _, _, err := Fit(sol, Limits{Reserve: 500}, letters{}, "", nil,
			Conversation{Items: []models.Item{user(long + long)}}); err != nil {
			t.Errorf("it fits without the room for a reply: Fit = %v", err)
		}
	})
	t.Run("pictures are left out for a model that cannot see", func(t *testing.T) {
		blind := sol
		blind.Known, blind.Images = true, false
		it := user("look")
		it.Images = []models.Image{{MIME: "image/png"}}
		items := []models.Item{it}
		req, _, err := Fit(blind, Limits{}, letters{}, "", nil, Conversation{Items: items})
		if err != nil || len(req.Items[0].Images) != 0 || !strings.Contains(req.Items[0].Text, "cannot see") ||
			len(items[0].Images) != 1 {
			t.Errorf("Fit = %+v, %v", req.Items, err)
		}
		blind.Known = false
		req, _, err = Fit(blind, Limits{}, letters{}, "", nil, Conversation{Items: items})
		if err != nil || len(req.Items[0].Images) != 1 {
			t.Errorf("one that nobody describes is asked with %+v, %v", req.Items, err)
		}
	})
}

func TestTheShortestRequest(t *testing.T) {
	note := models.NewMessage(models.Developer, "branch main")
	for _, tt := range []struct {
		name  string
		items []models.Item
		want  string // without the note about what was left out
	}{
		{"the last words alone", []models.Item{user("a"), assistant("b"), user("c")}, "u"},
		{"with the note that goes with them", []models.Item{user("a"), assistant("b"), note, user("c")}, "d u"},
		{"and what the last calls gave", []models.Item{user("a"), user("c"), call("1"), output("1"), reasoning("sol"),
			assistant("x"), call("2"), call("3"), output("2"), output("3")}, "u r a c2 c3 o2 o3"},
		{"one round is the last", []models.Item{user("c"), call("1"), output("1")}, "u c1 o1"},
		{"nothing to leave out", []models.Item{user("c")}, "u"},
		{"nothing at all", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, a, err := Fit(sol, Limits{Smallest: true}, letters{}, "", nil, Conversation{Items: tt.items})
			got := shape(req.Items)
			if a.OmittedItems > 0 {
				got = strings.TrimPrefix(got, "d ")
			}
			if err != nil || got != tt.want || broken(req.Items) != "" {
				t.Errorf("%s, %v, want %s", shape(req.Items), err, tt.want)
			}
		})
	}
}

// An output that is too long by itself goes in part, and the conversation keeps it.
func TestTheShortestRequestShortensItsOutputs(t *testing.T) {
	long := output("1")
	long.Text = "first " + strings.Repeat("ä", 50_000) + " last"
	items := []models.Item{user("c"), call("1"), long}
	large := sol
	large.Window = 200_000
	req, a, err := Fit(large, Limits{Smallest: true}, letters{}, "", nil, Conversation{Items: items})
	if err != nil {
		t.Fatal(err)
	}
	got := req.Items[len(req.Items)-1].Text
	if len(got) > shortOutput || !strings.HasPrefix(got, "first ") || !strings.HasSuffix(got, " last") ||
		!strings.Contains(got, "are left out") || !utf8.ValidString(got) || a.PrunedOutputs != 1 {
		t.Errorf("%d bytes, %+v: %.80s", len(got), a, got)
	}
	if len(items[2].Text) != len(long.Text) || broken(req.Items) != "" {
		t.Error("the conversation itself was changed")
	}
}

func BenchmarkFit(b *testing.B) {
	var items []models.Item
	for range 500 {
		items = append(items, user("question"), call(string(rune(len(items)))), output(string(rune(len(items)))),
			assistant("answer"))
	}
	m := sol
	m.Window = 272000
	for b.Loop() {
		if _, _, err := Fit(m, Limits{Reserve: 16000}, letters{}, "sys", nil, Conversation{Items: items}); err != nil {
			b.Fatal(err)
		}
	}
}

// conversation makes items of any kind and order out of bytes.
func conversation(data []byte) []models.Item {
	var items []models.Item
	for i, b := range data {
		id := string('a' + rune(b>>4)%3)
		var it models.Item
		switch b % 8 {
		case 0, 1:
			it = user(strings.Repeat("u", int(b)))
		case 2:
			it = assistant(strings.Repeat("w", int(b)%5))
		case 3:
			it = reasoning([]string{"sol", "terra"}[int(b>>4)%2])
		case 4, 5:
			it = call(id)
		case 6:
			it = output(id)
			it.Text = strings.Repeat("o", int(b))
		case 7:
			it = models.NewMessage(models.Developer, "note")
		}
		if it.Kind != models.Output && b%3 == 0 {
			it.ID = fmt.Sprint("id", i%5)
		}
		items = append(items, it)
	}
	return items
}

// broken names the first rule of the API that a conversation breaks.
func broken(items []models.Item) string {
	calls, outputs, ids := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, it := range items {
		if it.ID != "" && ids[it.ID] {
			return "the id " + it.ID + " stands twice"
		}
		ids[it.ID] = true
		switch it.Kind {
		case models.Call:
			if calls[it.CallID] {
				return "two calls " + it.CallID
			}
			calls[it.CallID] = true
		case models.Output:
			if !calls[it.CallID] || outputs[it.CallID] {
				return "an output too many for " + it.CallID
			}
			outputs[it.CallID] = true
		case models.Reasoning:
			if it.Origin.Model != "sol" {
				return "foreign reasoning"
			}
			if i+1 == len(items) || items[i+1].Kind == models.Output ||
				items[i+1].Kind == models.Message && items[i+1].Role != models.Assistant {
				return "reasoning that leads to nothing"
			}
		case models.Message:
			if it.Role == models.User && len(outputs) < len(calls) {
				return "a prompt before the outputs"
			}
		}
	}
	if len(outputs) < len(calls) {
		return "a call without output"
	}
	return ""
}

func FuzzAnyConversationBecomesAValidRequest(f *testing.F) {
	for _, s := range []string{"\x04\x03\x04\x06", "\x03\x14\x03\x14\x06\x00", "\x00\x04\x00\x04\x06",
		"\x06\x04\x05\x03\x33\x13\x02", "\xd0\x34\x36\xd0\x44\x46\xe8\x14\x16",
		"abcdefghijklmnopqrstuvwxyz\xff\xf8\xf0"} {
		f.Add([]byte(s), int64(300))
	}
	f.Fuzz(func(t *testing.T, data []byte, budget int64) {
		items := conversation(data)
		given := slices.Clone(items)
		defer func() {
			if !reflect.DeepEqual(items, given) {
				t.Errorf("the conversation itself was changed: %s", shape(given))
			}
		}()
		mended := Repair(items, sol.Target)
		if fault := broken(mended); fault != "" {
			t.Errorf("Mend(%s) = %s: %s", shape(items), shape(mended), fault)
		}
		if twice := Repair(mended, sol.Target); !reflect.DeepEqual(twice, mended) && len(mended) > 0 {
			t.Errorf("mended again %s becomes %s", shape(mended), shape(twice))
		}
		if req, account, err := Fit(sol, Limits{Smallest: true}, letters{}, "", nil, Conversation{Items: items}); err == nil {
			size := int64(0)
			for _, it := range req.Items {
				size += int64(letters{}.Item(it))
			}
			if fault := broken(req.Items); fault != "" || size != account.Total() {
				t.Errorf("the shortest of %s is %s: %s, %d tokens, accounted %d", shape(items), shape(req.Items), fault, size,
					account.Total())
			}
		}
		budget = min(max(budget, 1), 2000)
		_, _, _ = Fit(sol, Limits{Budget: budget, UnderPressure: true}, letters{}, "", nil, Conversation{Items: items})
		req, account, err := Fit(sol, Limits{Budget: budget}, letters{}, "be good", nil, Conversation{Items: items})
		if err != nil {
			return
		}
		if fault := broken(req.Items); fault != "" {
			t.Errorf("Fit(%s) = %s: %s", shape(items), shape(req.Items), fault)
		}
		size := int64(len("be good"))
		for _, it := range req.Items {
			size += int64(letters{}.Item(it))
		}
		if size > account.Budget || size != account.Total() {
			t.Errorf("the request takes %d of %d, accounted %d", size, account.Budget, account.Total())
		}
	})
}
