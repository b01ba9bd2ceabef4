package ui

import (
	"context"
	"testing"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/capacity"
	"belay/ui/locale"
	"belay/ui/theme"
)

func TestUnfinishedSessionsAreOfferedAtTheStart(t *testing.T) {
	world := newFakeEngine()
	world.add("s1", "", turn("move the pricing rules"),
		session.TurnEnded{Outcome: session.OutcomeParked, Fault: capacityFault(), RetryAt: noon.Add(time.Hour), ParkCount: 2})
	world.add("s2", "", turn("a finished one"), session.TurnEnded{Outcome: session.OutcomeDone})
	s := startScreen(t, 80, 24, world.options())
	s.wait("Unfinished", "move the pricing rules")
	s.press("F8")
	s.wait("next try at")
	if got := <-world.commands; got != "Resume" {
		t.Errorf("Do got %s, want Resume", got)
	}
}

func capacityView() capacity.View {
	row := func(tier models.Tier, target models.Target, short string, state models.State) capacity.Row {
		return capacity.Row{Condition: models.Condition{Tier: tier, Target: target, Short: short, State: state},
			Share: 0.98, Attempts: 40, FirstToken: 1200 * time.Millisecond}
	}
	heavy := row(models.Heavy, sol, "sol", models.Resting)
	heavy.Until, heavy.Fault, heavy.Streak, heavy.Share = noon.Add(102*time.Second), capacityFault(), 3, 0.91
	v := capacity.View{Rows: []capacity.Row{heavy, row(models.Medium, terra, "terra", models.Ready),
		row(models.Light, luna, "luna", models.Ready)},
		Findings: []string{"failures start above 96k input (22% against 3%)",
			locale.T("%s without room, longest %s, median %s", theme.Plural(3, "episode"), "14:00", "2:00")}}
	for day := range 7 {
		var d capacity.Day
		for h := range d {
			d[h] = float64((h*7+day*3)%24)/40 - 0.05
		}
		v.Week = append(v.Week, d)
	}
	return v
}

func TestKeysOfTheCapacityPanel(t *testing.T) {
	world := newFakeEngine()
	world.add("s1", "", turn("x"), session.TurnEnded{Outcome: session.OutcomeDone})
	o := world.options()
	o.Open = "s1"
	o.Capacity = func(context.Context, session.ID) (capacity.View, error) { return capacityView(), nil }
	o.RunTool = func(_ context.Context, command ...string) (string, error) {
		return "verdict of " + command[0], nil
	}
	s := startScreen(t, 120, 36, o)
	s.wait("· done")
	s.press("F5")
	s.wait("resting 1:42")
	for _, tt := range []struct{ key, want string }{{"enter", "PinTarget"}, {"i", "DisableTarget"}, {"F3", "ChooseTier"}} {
		s.press(tt.key)
		if got := <-world.commands; got != tt.want {
			t.Errorf("%s did %s, want %s", tt.key, got, tt.want)
		}
	}
	s.press("d")
	s.wait("verdict of doctor")
}
