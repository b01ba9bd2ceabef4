package ui

import (
	"context"
	"errors"
	"testing"

	"belay/models"
	"belay/session"
	"belay/ui/clipboard"
)

func TestPicturesArePastedDroppedAndSent(t *testing.T) {
	start := func(t *testing.T, id session.ID, copied error) (chan session.Prompt, *screen) {
		world := newFakeEngine()
		world.add("s1", "", turn("go on"), session.TurnEnded{Outcome: session.OutcomeDone})
		sent := make(chan session.Prompt, 1)
		world.reply = func(_ *fakeEngine, _ session.ID, c session.Command) { sent <- c.(session.Send).Prompt }
		o := world.options()
		o.Open = id
		o.ReadImage = func(_ context.Context, path string) (models.Image, error) {
			if path == "/gone.png" {
				return models.Image{}, errors.New("/gone.png is not there")
			}
			return models.Image{Data: []byte(path)}, nil
		}
		o.CopiedPicture = func(context.Context) (string, error) { return "/tmp/copied.png", copied }
		s := startScreen(t, 100, 24, o)
		s.wait("what is to be done?")
		return sent, s
	}
	for name, id := range map[string]session.ID{"in a session": "s1", "with the first message": ""} {
		t.Run("dropped, "+name, func(t *testing.T) {
			sent, s := start(t, id, nil)
			s.press("what is this?")
			s.paste("'/home/me/Screen Shot.png'")
			s.wait(`› what is this? @"/home/me/Screen Shot.png"`)
			s.press("enter")
			if p := <-sent; len(p.Images) != 1 || string(p.Images[0].Data) != "/home/me/Screen Shot.png" {
				t.Errorf("sent %q with %d pictures", p.Text, len(p.Images))
			}
		})
	}
	t.Run("from the clipboard", func(t *testing.T) {
		sent, s := start(t, "s1", nil)
		s.press("see", "\x16")
		s.wait("› see @/tmp/copied.png")
		s.press("enter")
		if p := <-sent; len(p.Images) != 1 {
			t.Errorf("sent with %d pictures", len(p.Images))
		}
	})
	t.Run("an empty clipboard says so", func(t *testing.T) {
		_, s := start(t, "s1", clipboard.ErrNoPicture)
		s.press("\x16")
		s.wait("there is no picture in the clipboard")
	})
	t.Run("one that is not there comes back with its words", func(t *testing.T) {
		_, s := start(t, "s1", nil)
		s.press("look")
		s.paste("/gone.png")
		s.wait("› look @/gone.png")
		s.press("enter")
		s.wait("/gone.png is not there", "› look @/gone.png")
	})
}
