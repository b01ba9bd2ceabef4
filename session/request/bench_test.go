package request

import (
	"fmt"
	"strings"
	"testing"

	"belay/context/systemprompt"
	"belay/context/tokens"
	"belay/context/window"
	"belay/models"
	"belay/models/route"
	"belay/session"
	"belay/session/tools"
)

// lengthy makes a conversation of about so many thousand tokens.
func lengthy(thousands int) *session.Conversation {
	var c session.Conversation
	seq := int64(0)
	add := func(turn int, e session.Event) {
		seq++
		c.Apply(session.Record{Seq: seq, Turn: turn, Event: e})
	}
	for i := range thousands {
		add(i+1, session.TurnStarted{Prompt: session.Prompt{Text: fmt.Sprintf("task %d", i)}})
		id := fmt.Sprint("call", i)
		add(
			i+1,
			session.ItemAdded{Item: models.Item{Kind: models.Call, CallID: id, Name: "read", Arguments: `{"path":"a.go"}`}},
		)
		add(
			i+1,
			session.ToolEnded{CallID: id, Output: strings.Repeat(fmt.Sprintf("\tif err := f%d(ctx); err != nil {\n", i), 75)},
		)
		add(i+1, session.ItemAdded{Item: models.NewMessage(models.Assistant, "It is read.")})
	}
	return &c
}

// unlimited knows nothing of any target.
type unlimited struct{ route.RateLimiter }

func (unlimited) Condition(models.Target) models.Condition { return models.Condition{} }

// BenchmarkBuild makes a request of a long session, when nothing has changed
// and when one item was added.
func BenchmarkBuild(b *testing.B) {
	counter := tokens.New()
	if err := counter.Load(); err != nil {
		b.Fatal(err)
	}
	set, err := tools.New(tools.Options{Root: b.TempDir(), NewID: func() string { return "id" }})
	if err != nil {
		b.Fatal(err)
	}
	target := models.Target{Provider: "p", Model: "sol"}
	f := NewFactory(Options{
		Router: route.New(route.Options{
			Model:       func(t models.Target) models.Model { return models.Model{Target: t, Window: 400_000} },
			RateLimiter: unlimited{},
		}),
		Calibration: counter,
		Counter:     func(models.Model) Counter { return counter },
		Window:      func(models.Target) window.Limits { return window.Limits{} },
	})
	system := systemprompt.Prompt{Instructions: strings.Repeat("be good ", 500)}
	for _, thousands := range []int{20, 200} {
		for _, changed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dk/changed=%v", thousands, changed), func(b *testing.B) {
				whole := lengthy(thousands)
				whole.Items()
				n := 0
				for b.Loop() {
					c := *whole
					if n++; changed {
						c.Apply(session.Record{
							Seq:   1e6,
							Turn:  thousands,
							Event: session.ItemAdded{Item: models.NewMessage(models.Assistant, fmt.Sprint("more ", n))},
						})
					}
					req, _, err := f.fit(f.o.Model(target),
						content{id: "s", system: system, specs: set.Specs(), conversation: fitted(&c)})
					if err != nil || req.Tokens < int64(thousands)*800 || req.Tokens > int64(thousands)*1400 {
						b.Fatalf("%d tokens, %v", req.Tokens, err)
					}
				}
			})
		}
	}
}
