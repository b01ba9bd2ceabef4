package transcript

import (
	"belay/ui/theme"
)

// Local is a command of the person's own, while it runs and after.
type Local struct{ entry *entry }

// RunLocal shows a command that has begun.
func (p *Pane) RunLocal(command string) *Local {
	e := &entry{kind: local, title: command, phase: running, startedAt: p.now()}
	p.push(e)
	p.locals = append(p.locals, e)
	p.follow = true
	return &Local{e}
}

// Adopt takes over what another transcript shows, before what is there.
func (p *Pane) Adopt(other *Pane) {
	p.prepend(other.entries)
	p.locals = append(other.locals, p.locals...)
	other.fold.reset()
}

// Write adds to its output.
func (l *Local) Write(text string) {
	if l.entry.phase == running {
		l.entry.output = keepEnd(l.entry.output + theme.Sanitize(text))
		l.entry.invalidate()
	}
}

// End says that it is over, with all of its output and who sees it.
func (l *Local) End(output string, failedRun bool, seenBy string) {
	l.entry.output, l.entry.summary, l.entry.phase = theme.Sanitize(output), seenBy, done
	if failedRun {
		l.entry.phase = failed
	}
	l.entry.invalidate()
}

// Note says anew who sees its output.
func (l *Local) Note(seenBy string) {
	l.entry.summary = seenBy
	l.entry.invalidate()
}
