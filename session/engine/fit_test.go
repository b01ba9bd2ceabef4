package engine

import (
	"fmt"
	"strings"
	"testing"

	"belay/models"
	"belay/models/route"
	"belay/session"
)

// windows gives each model a window of its own.
func windows(of map[models.Target]int64) func(r *rig) {
	model := func(t models.Target) models.Model {
		return models.Model{Target: t, Short: t.Model, Window: of[t], Tools: true, Images: true, Reasoning: true}
	}
	return func(r *rig) {
		r.window = 100_000
		r.route = func(o *route.Options) { o.Model = model }
		r.engine = func(o *Options) { o.Model, o.Trigger = model, 0.8 }
	}
}

// tooLong is a script's refusals that state no numbers; -1: all that follow.
func tooLong(times int) string {
	return fmt.Sprintf("[[reply]]\nmodel = \"sol\"\ntimes = %d\nfault = { how = \"status\", status = 400, "+
		"code = \"context_length_exceeded\", message = \"too long\" }\n", times)
}

func TestWhatDoesNotFitEndsWell(t *testing.T) {
	t.Parallel()
	reads := strings.TrimPrefix(readScript(5), readScript(0))
	talks := strings.Repeat(fmt.Sprintf("[[reply]]\nmodel = \"sol\"\ntext = %q\n", strings.Repeat("go-on ", 5000)), 5)
	summaryReply := fmt.Sprintf("[[reply]]\nmodel = \"luna\"\ntext = %q\n", summary)
	const fine = "[[reply]]\ntimes = -1\ntext = \"Fine.\"\n"
	roomy := windows(map[models.Target]int64{sol: 400_000, terra: 400_000, luna: 400_000})
	for _, tt := range []struct {
		name, script string
		change       func(*rig)
		press        session.Command
		want, said   string // the end of the log, and words
	}{
		{"refused as too long: it is trimmed once and goes on",
			reads + "[[reply]]\n[[reply.calls]]\nname = \"read\"\narguments = { path = \"f0\" }\n[[reply]]\n" +
				"fault = { how = \"status\", status = 400, code = \"context_length_exceeded\", message = \"too long\" }\n" + fine,
			roomy, nil, "ran:read failed:size message:Fine. end:done", "it was too long for sol: this request goes out " +
				"shorter, without "},
		{"refused when it is pruned as well: a summary stands for what is old",
			reads + tooLong(2) + summaryReply + fine,
			roomy, nil, "failed:size failed:size compacted message:Fine. end:done", "it was too long for sol: this request " +
				"goes out shorter, without 3 older outputs"},
		{"refused with a summary as well: only what must be goes out",
			reads + tooLong(2) + summaryReply + tooLong(1) + fine,
			roomy, nil, "failed:size failed:size compacted failed:size message:Fine. end:done", "items at the beginning ("},
		{"refused even when it is as short as can be: the turn fails with the reason",
			reads + tooLong(-1),
			roomy, nil, "failed:size failed:size noted failed:size end:failed", "items at the beginning ("},
		{"a limit that the server states is kept to at once",
			reads + "[[reply]]\nfault = { how = \"status\", status = 400, code = \"context_length_exceeded\", message = " +
				"\"This model's maximum context length is 40000 tokens.\" }\n" + fine,
			roomy, nil, "failed:size message:Fine. end:done", "it was too long for sol: this request goes out shorter"},
		{"a tier whose window is too small: the trim is shown",
			reads + fine, func(r *rig) {
				windows(map[models.Target]int64{sol: 400_000, terra: 400_000, luna: 50_000})(r)
				engine := r.engine
				r.engine = func(o *Options) { engine(o); o.Trigger = 0 }
			}, session.ChooseTier{Tier: models.Light},
			"message:Fine. end:done", "the budget at luna is 34000 tokens: this request goes out shorter, without "},
		{"a summary that frees little: the turn goes on, and what fills the window is said",
			fmt.Sprintf("[[reply]]\ntimes = -1\nmodel = \"luna\"\ntext = %q\n",
				summary+strings.Repeat("\n- and much more of it that nobody needs to know", 6000)) + talks + fine,
			func(r *rig) {
				windows(map[models.Target]int64{sol: 66_000, terra: 66_000, luna: 400_000})(r)
			}, nil, "message:Fine. end:done", "a summary would free little; the window is filled by "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.script, tt.change, func(t *testing.T, r *rig, id session.ID) {
				fat(t, r, id)
				if tt.press != nil {
					r.do(id, tt.press)
				}
				r.send(id, strings.Repeat("go on, with many words ", 10))
				r.wait(id)
				if log := r.log(id); !strings.HasSuffix(log, tt.want) {
					t.Errorf("log ends in %s, want %s", log[max(0, len(log)-300):], tt.want)
				}
				if said := r.notices(); strings.Count(said, tt.said) != 1 {
					t.Errorf("said %q, want once %q", said, tt.said)
				}
			})
		})
	}
}

func TestASummaryThatNoModelHasRoomForIsNoHarm(t *testing.T) {
	t.Parallel()
	inBubble(
		t,
		readScript(3)[len(readScript(0)):]+"[[reply]]\ntimes = -1\nfault = { how = \"error\", code = \"server_is_overloaded\" }\n",
		nil,
		func(t *testing.T, r *rig, id session.ID) {
			for i := range 3 {
				r.send(id, fmt.Sprintf("task %d", i))
				r.wait(id)
			}
			before := r.log(id)
			r.do(id, session.Compact{})
			if s := r.wait(id); s.Status != session.Idle || s.Summary != "" {
				t.Errorf("Status = %s, summary %q", s.Status, s.Summary)
			}
			if log := r.log(id); log != before+" noted" {
				t.Errorf("log is %s, want %s noted", log, before)
			}
			if said := r.notices(); !strings.Contains(said, "no summary could be made (") {
				t.Errorf("said %q", said)
			}
		},
	)
}
