package engine

import (
	"strings"
	"testing"
	"testing/synctest"

	"belay/models"
	"belay/session"
)

const titleScript = `
loop = true
[[reply]]
model = "luna"
text = "\"Rules of moving\".\n"
usage = { input = 20, output = 5 }
[[reply]]
text = "Moved."
`

func modelTitles(r *rig) { r.engine = func(o *Options) { o.ModelTitles = true } }

func TestTheLightTierNamesASessionWhereTheSettingsSaySo(t *testing.T) {
	inBubble(t, titleScript, modelTitles, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "please move the rules")
		r.wait(id)
		synctest.Wait()
		s, _ := r.Session(id)
		if got, want := s.Title, "Rules of moving"; got != want {
			t.Errorf("got the title %q, want %q", got, want)
		}
		before := len(r.server.Log())
		r.send(id, "and on")
		r.wait(id)
		synctest.Wait()
		if n := len(r.server.Log()) - before; n != 1 {
			t.Errorf("the second turn made %d requests, want 1", n)
		}
		r.stop()
		r.start()
		if s, err := r.Open(t.Context(), id, false); err != nil || s.Title != "Rules of moving" || s.Usage.Output < 5 {
			t.Errorf("read again: %q, %+v, %v", s.Title, s.Usage, err)
		}
	})
}

func TestNobodyIsAskedForATitleUnasked(t *testing.T) {
	for name, change := range map[string]func(*rig){
		"by default": nil,
		"in a run":   func(r *rig) { modelTitles(r); r.nonInteractive = true },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, titleScript, change, func(t *testing.T, r *rig, id session.ID) {
				r.send(id, "move the rules")
				r.wait(id)
				synctest.Wait()
				s, _ := r.Session(id)
				if n := len(r.server.Log()); n != 1 || s.Title != "move the rules" {
					t.Errorf("%d requests, and the title %q", n, s.Title)
				}
			})
		})
	}
}

func TestATitleIsNotWorthAWait(t *testing.T) {
	const full = `
loop = true
[[reply]]
model = "luna"
fault = { how = "status", status = 503, code = "server_is_overloaded", message = "full" }
[[reply]]
text = "Moved."
`
	change := func(r *rig) {
		modelTitles(r)
		r.tiers = map[models.Tier][]models.Target{models.Heavy: {sol}, models.Medium: {terra}, models.Light: {luna}}
	}
	inBubble(t, full, change, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "move the rules")
		r.wait(id)
		synctest.Wait()
		s, _ := r.Session(id)
		if n := len(r.server.Log()); n != 2 || s.Title != "move the rules" {
			t.Errorf("%d requests, and the title %q", n, s.Title)
		}
	})
}

func TestATurnThatIsParkedAsksForNoTitle(t *testing.T) {
	const full = `
[[reply]]
times = -1
fault = { how = "status", status = 503, code = "server_is_overloaded", message = "full" }
`
	inBubble(t, full, modelTitles, func(t *testing.T, r *rig, id session.ID) {
		r.send(id, "move the rules")
		if s := r.wait(id); s.Status != session.Parked {
			t.Fatalf("ended %s", s.Status)
		}
		synctest.Wait()
		for _, e := range r.server.Log() {
			if strings.Contains(string(e.Body), "You name conversations") {
				t.Error("a title was asked for")
			}
		}
	})
}

func TestAPersonsTitleStays(t *testing.T) {
	inBubble(t, titleScript, modelTitles, func(t *testing.T, r *rig, id session.ID) {
		r.do(id, session.Rename{Title: "mine"})
		r.send(id, "move the rules")
		r.wait(id)
		synctest.Wait()
		s, _ := r.Session(id)
		if n := len(r.server.Log()); n != 1 || s.Title != "mine" {
			t.Errorf("%d requests, and the title %q", n, s.Title)
		}
	})
}
