package ui

import (
	"context"
	"errors"
	"strings"
	"testing"

	"belay/models"
	"belay/session"
	"belay/ui/modellist"
)

func modelView() modellist.View {
	qwen := models.Target{Provider: "box", Model: "qwen3-coder"}
	big := models.Target{Provider: "openrouter", Model: "maker/very-large-model-with-a-long-name-2026-10-01"}
	fault := capacityFault()
	return modellist.View{
		Models: []modellist.Row{
			{
				Condition: models.Condition{Tier: models.Heavy, Target: sol, Short: "sol", State: models.Failing, Fault: fault},
				Window:    272000, Price: models.Price{Input: 1.25, Output: 10}, Images: true, Reasoning: true,
			},
			{
				Condition: models.Condition{Tier: models.Medium, Target: terra, Short: "terra", State: models.Ready},
				Window:    272000, Price: models.Price{Input: 0.4, Output: 3.2},
			},
			{Condition: models.Condition{Target: qwen, Short: "qwen3-coder", State: models.Unknown}, Local: true},
			{
				Condition: models.Condition{Target: big, Short: "large", State: models.Unknown},
				Window:    1000000, Price: models.Price{Input: 15, Output: 75}, Missing: "OPENROUTER_API_KEY",
			},
		},
		Providers: []modellist.Provider{
			{Name: "box", Keyed: true}, {Name: "openai", Variable: "OPENAI_API_KEY", Keyed: true, Models: 30},
			{Name: "openrouter", Variable: "OPENROUTER_API_KEY", Models: 300},
		},
	}
}

func startOnModels(t *testing.T, w, h int, choice ModelChoice) (*fakeEngine, *screen) {
	t.Helper()
	world := newFakeEngine()
	world.add("s1", "", turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
	o := world.options()
	o.Open = "s1"
	if choice.List == nil {
		choice.List = func(context.Context, session.ID) (modellist.View, error) { return modelView(), nil }
	}
	o.Models = choice
	world.reply = func(w *fakeEngine, id session.ID, c session.Command) {
		switch c := c.(type) {
		case session.PinTarget:
			w.emit(id, session.TargetPinned(c))
		case session.ChooseTier:
			w.emit(id, session.TierChosen(c))
		}
	}
	s := startScreen(t, w, h, o)
	s.wait("· done")
	return world, s
}

// A model is found by its letters and put into the session, and taken out of it again.
func TestAModelIsUsedInTheSession(t *testing.T) {
	world, s := startOnModels(t, 80, 24, ModelChoice{})
	s.press("/model", "enter")
	s.wait("box/qwen3-coder")
	s.press("qwen")
	s.gone("gpt-5.6-sol")
	s.press("tab", "enter")
	if got, then := <-world.commands, <-world.commands; got != "ChooseTier" || then != "PinTarget" {
		t.Errorf("did %s, %s: want the tier, then the model", got, then)
	}
	s.wait("box/qwen3-coder answers in this session")
	if got, _ := world.Load(context.Background(), "s1"); got.PinnedTarget.Model != "qwen3-coder" || got.Tier != models.Medium {
		t.Errorf("the session has %v in %s", got.PinnedTarget, got.Tier)
	}
	s.press("/models", "enter")
	s.wait("pinned")
	s.press("qwen")
	s.wait("enter no longer")
	s.press("enter")
	<-world.commands
	s.wait("the tier medium answers again")
}

func TestAModelIsNamed(t *testing.T) {
	world, s := startOnModels(t, 80, 24, ModelChoice{})
	s.press("/model qw")
	s.wait("/model box/qwen3-coder") // it completes
	s.press("tab")
	s.wait("› /model box/qwen3-coder")
	s.press("enter")
	if got := <-world.commands; got != "PinTarget" {
		t.Errorf("did %s", got)
	}
	s.press("/model gpt") // as it was typed
	s.wait("/model openai/gpt-5.6-terra")
	s.press("esc")
	s.gone("/model openai/gpt-5.6-terra")
	s.press("enter")
	s.wait("2 models are called that", "gpt-5.6-terra")
	s.press("esc")
	s.wait("type to find")
	s.press("esc")
	s.gone("type to find")
	s.press("/model nonsense")
	s.wait("› /model nonsense")
	s.press("enter")
	s.wait("no model is called nonsense")
	s.press("esc")
	s.gone("type to find")
	s.press("/model box/anything")
	s.wait("› /model box/anything")
	s.press("enter") // nobody lists it, and its endpoint is known
	if got := <-world.commands; got != "PinTarget" {
		t.Errorf("did %s", got)
	}
}

func TestAModelIsKeptForGood(t *testing.T) {
	kept := ""
	_, s := startOnModels(t, 80, 24, ModelChoice{
		Keep: func(_ context.Context, tier models.Tier, target models.Target) (string, error) {
			if kept != "" {
				return "", errors.New("the settings have mistakes")
			}
			kept = string(tier) + " " + target.String()
			return "heavy begins with it", nil
		},
	})
	s.press("/model", "enter")
	s.wait("box/qwen3-coder")
	s.press("terra", "\x07")
	s.wait("heavy begins with it")
	if kept != "heavy openai/gpt-5.6-terra" {
		t.Errorf("kept %q", kept)
	}
	s.press("\x07")
	s.wait("the settings have mistakes")
}

// A key is checked, and kept all the same when the person insists; an address of one's
// own needs none. No key is shown.
func TestKeysAndEndpointsAreAdded(t *testing.T) {
	var did []string
	choice := ModelChoice{
		CheckKey: func(_ context.Context, provider, key string) error {
			did = append(did, "check "+provider)
			return errors.New("openrouter refuses this key")
		},
		SaveKey: func(_ context.Context, provider, key string) (string, error) {
			did = append(did, "save "+provider+" "+key)
			return "the keyring", nil
		},
		CheckEndpoint: func(_ context.Context, address, key string) error {
			did = append(did, "check "+address)
			return nil
		},
		AddEndpoint: func(_ context.Context, address, key string) (string, error) {
			did = append(did, "add "+address+" "+key)
			return "box2", nil
		},
	}
	_, s := startOnModels(t, 80, 24, choice)
	s.press("/model", "enter")
	s.wait("box/qwen3-coder")
	s.press("maker", "enter")
	s.wait("there is no key for openrouter")
	s.press("\x01")
	s.wait("add a key or an endpoint", "OPENROUTER_API_KEY")
	s.press("openrouter", "enter")
	s.wait("the key of openrouter")
	s.paste("sk-secret")
	s.wait("•••••••••")
	s.press("enter")
	s.wait("openrouter refuses this key", "keep it all the same")
	s.press("enter")
	s.wait("the key is kept in the keyring")
	s.press("\x01")
	s.wait("an address of your own")
	s.press("enter")
	s.wait("the address of the endpoint")
	s.paste("http://127.0.0.1:9/v1/")
	s.press("enter")
	s.wait("Leave it empty")
	s.press("enter")
	s.wait("added as box2")
	want := "check openrouter, save openrouter sk-secret, check http://127.0.0.1:9/v1, add http://127.0.0.1:9/v1 "
	if got := strings.Join(did, ", "); got != want {
		t.Errorf("did %s\nwant %s", got, want)
	}
	if s.wrote("secret") {
		t.Error("the key was written to the terminal")
	}
}
