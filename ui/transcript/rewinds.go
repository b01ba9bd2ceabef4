package transcript

import (
	"slices"
	"strings"
	"time"

	"belay/session"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// rewindState is what the transcript remembers of checkpoints and rewinds.
type rewindState struct {
	problem string        // why the files are not kept, as it was said last
	skipped *entry        // says what the checkpoints do not cover
	turns   map[int64]int // taken back by the rewind with that record
	reading bool          // a log is read, from which what was taken back is left out already
}

// checkpointed says what a checkpoint does not hold; the rest goes without
// saying.
func (f *fold) checkpointed(r session.Record, e session.Checkpointed) {
	if e.Problem != "" && e.Problem != f.rewinds.problem { // once, however many turns it lasts
		f.addLine(r, "·", locale.T("the files are not kept from here on, so that a rewind covers the conversation alone: %s",
			locale.Said(theme.Line(e.Problem))), warn)
	}
	f.rewinds.problem = e.Problem
	if len(e.Skipped) == 0 || f.rewinds.skipped != nil {
		return
	}
	text := locale.T("checkpoints do not cover %s", theme.Line(strings.Join(e.Skipped, ", ")))
	if n := len(e.Skipped); n > 3 {
		text = locale.T("checkpoints do not cover %d paths, such as %s", n, theme.Line(strings.Join(e.Skipped[:2], ", ")))
	}
	f.rewinds.skipped = f.addLine(r, "·", text, plain)
}

// rewound says what was taken back, or brought back, and takes it away. What
// is brought back is read from the log again.
func (f *fold) rewound(r session.Record, e session.Rewound) {
	n := f.rewinds.turns[r.Seq]
	if e.Conversation && e.Undo == 0 && !f.rewinds.reading {
		n = f.removeSpan(session.RewoundSpan{From: e.To, Until: r.Seq})
	}
	line := f.addLine(r, "⟲", rewoundText(e, n), plain)
	if len(e.Failed) > 0 {
		line.level = warn
		line.detail = locale.T("not as they were: %s", theme.Line(strings.Join(e.Failed, ", ")))
	}
	f.steps.told = nil // a step that begins again is told again
}

// rewoundText says what a rewind took back, or brought back, and how to undo it.
func rewoundText(e session.Rewound, turns int) string {
	text := locale.T("taken back: the files")
	switch {
	case e.Undo > 0:
		text = locale.T("brought back, as it was before the rewind")
	case e.Conversation && e.Step > 0:
		text = locale.T("taken back: all since before step %d", e.Step)
	case e.Conversation && turns > 0:
		text = locale.N(turns, "taken back: %d turn", "taken back: %d turns")
	case e.Conversation:
		text = locale.T("taken back: the conversation since a checkpoint")
	}
	if e.Conversation && e.Files && e.Undo == 0 {
		text += locale.T(" (files too)")
	}
	if e.Files {
		var files []string
		if e.Written > 0 {
			files = append(files, locale.T("%d written", e.Written))
		}
		if e.Removed > 0 {
			files = append(files, locale.T("%d removed", e.Removed))
		}
		if len(files) > 0 {
			text += " · " + locale.T("files: %s", strings.Join(files, ", "))
		}
	}
	if e.Undo > 0 {
		return text
	}
	back := locale.T("%s brings them back", keys.Label(keys.UndoRewind))
	if e.Conversation && turns <= 1 && !e.Files {
		back = locale.T("%s brings it back", keys.Label(keys.UndoRewind))
	}
	return text + " · " + back
}

// removeSpan removes what stands for the records of a span, and counts its turns.
func (f *fold) removeSpan(s session.RewoundSpan) (turns int) {
	f.endReply(time.Time{})
	for _, e := range slices.Clone(f.entries) {
		if !s.Contains(e.seq) && !e.unconfirmed {
			continue
		}
		if e.kind == prompt && !e.taken {
			turns++
		}
		delete(f.calls, e.id)
		f.remove(e)
		switch e {
		case f.todos:
			f.todos = nil
		case f.cutOffEntry:
			f.cutOffEntry = nil
		case f.rewinds.skipped:
			f.rewinds.skipped = nil
		}
	}
	f.answer = f.lastAnswer()
	return turns
}

// lastAnswer puts the pieces of the last answer that is left together.
func (f *fold) lastAnswer() string {
	for i := len(f.entries) - 1; i >= 0; i-- {
		if f.entries[i].kind != prose || !f.entries[i].head {
			continue
		}
		var pieces []string
		for _, e := range f.entries[i:] {
			if e.kind != prose {
				break
			}
			pieces = append(pieces, e.text)
		}
		return strings.Join(pieces, "\n\n")
	}
	return ""
}

// withoutRewound leaves out the records that were taken back. How many turns each
// rewind took is noted first, as far as the records reach.
func (f *fold) withoutRewound(records []session.Record, spans []session.RewoundSpan) []session.Record {
	if len(spans) == 0 {
		return records
	}
	if f.rewinds.turns == nil {
		f.rewinds.turns = map[int64]int{}
	}
	for _, span := range spans {
		f.rewinds.turns[span.Until] = turnsTaken(records, span, spans)
	}
	return slices.DeleteFunc(slices.Clone(records), func(r session.Record) bool {
		return slices.ContainsFunc(spans, func(span session.RewoundSpan) bool { return span.Contains(r.Seq) })
	})
}

// turnsTaken counts the turns that a rewind took, without those that an earlier one
// had taken; 0: some are on an older page.
func turnsTaken(records []session.Record, span session.RewoundSpan, all []session.RewoundSpan) int {
	if len(records) > 0 && records[0].Seq > span.From+1 {
		return 0
	}
	n := 0
	for _, r := range records {
		if _, ok := r.Event.(session.TurnStarted); !ok || !span.Contains(r.Seq) {
			continue
		}
		taken := slices.ContainsFunc(all, func(before session.RewoundSpan) bool {
			return before.Until < span.Until && before.Contains(r.Seq)
		})
		if !taken {
			n++
		}
	}
	return n
}
