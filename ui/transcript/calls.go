package transcript

import (
	"belay/session"
)

// callEntry is the entry of a call, which is made when the call is first heard of.
func (f *fold) callEntry(r session.Record, id, tool string) *entry {
	if c := f.calls[id]; c != nil {
		if tool != "" {
			c.tool = tool
		}
		if c.seq == 0 { // until now it was only arriving
			c.seq = r.Seq
		}
		return c
	}
	f.endReply(r.Time)
	c := newEntry(call, r)
	c.id, c.tool = id, tool
	f.push(c)
	f.calls[id] = c
	return c
}

func (f *fold) applyCall(r session.Record) {
	switch e := r.Event.(type) {
	case session.ToolStarted:
		c := f.callEntry(r, e.Effect.CallID, e.Effect.Tool)
		c.title, c.phase = e.Effect.Title, running
		c.startedAt = r.Time
		if e.Effect.Args != "" {
			c.args = e.Effect.Args
		}
		c.invalidate()
	case session.ToolEnded:
		c := f.callEntry(r, e.CallID, e.Tool)
		c.output, c.summary = e.Output, e.Summary
		c.diff, c.file = e.Diff, e.File
		c.duration = e.Duration
		if e.Title != "" {
			c.title = e.Title
		}
		c.addedLines, c.removedLines = changedLines(e.Diff)
		switch {
		case e.Denied:
			c.phase = denied
		case e.Unknown:
			c.phase = unknown
		case e.Error:
			c.phase = failed
		default:
			c.phase = done
		}
		c.invalidate()
	case session.ApprovalAsked:
		c := f.callEntry(r, e.Approval.CallID, e.Approval.Tool)
		c.title, c.args = e.Approval.Title, e.Approval.Args
		c.phase = waiting
		if IsDiff(e.Approval.Preview) {
			c.diff = e.Approval.Preview
			c.addedLines, c.removedLines = changedLines(c.diff)
		}
		c.invalidate()
	case session.ApprovalAnswered:
		c := f.calls[e.Answer.CallID]
		if c == nil || c.phase != waiting {
			return
		}
		c.phase = pending
		if !e.Answer.Allow {
			c.phase = denied
		}
		c.invalidate()
	}
}

// completeFrom takes over what an earlier page knows of the same call.
func (e *entry) completeFrom(older *entry) {
	if e.args == "" {
		e.args = older.args
	}
	if e.title == "" {
		e.title = older.title
	}
	e.invalidate()
}
