package transcript

import "slices"

// entryList is the entries of a transcript, and the place in it that is in view:
// the end, or a line of an entry at the top. The place stays on what it is on
// while entries come and go.
type entryList struct {
	entries []*entry

	follow bool // the end is in view
	top    int  // index of the entry at the top
	offset int  // lines of it that are above the view
	seen   int  // number of entries when the end was last in view
	cursor int  // index of the chosen entry, or -1
	found  int  // index of the entry that a search found last, or -1
}

func (l *entryList) reset() { *l = entryList{follow: true, cursor: -1, found: -1} }

func (l *entryList) push(e *entry) *entry {
	l.entries = append(l.entries, e)
	return e
}

// insertAfter puts an entry behind another; nearly always that is the end.
func (l *entryList) insertAfter(e, next *entry) *entry {
	i := len(l.entries) - 1
	for i >= 0 && l.entries[i] != e {
		i--
	}
	l.entries = slices.Insert(l.entries, i+1, next)
	return next
}

// insert puts an entry at an index.
func (l *entryList) insert(at int, e *entry) {
	l.entries = slices.Insert(l.entries, at, e)
	for _, i := range []*int{&l.top, &l.cursor, &l.seen, &l.found} {
		if *i >= at {
			*i++
		}
	}
}

// prepend puts older entries before what is there.
func (l *entryList) prepend(older []*entry) {
	n := len(older)
	l.entries = append(older, l.entries...)
	l.top += n
	l.seen += n
	if l.cursor >= 0 {
		l.cursor += n
	}
	if l.found >= 0 {
		l.found += n
	}
}

// remove takes an entry out; it is looked for from the end.
func (l *entryList) remove(e *entry) {
	for i := len(l.entries) - 1; i >= 0; i-- {
		if l.entries[i] == e {
			l.removeAt(i)
			return
		}
	}
}

func (l *entryList) removeAt(i int) {
	l.entries = slices.Delete(l.entries, i, i+1)
	if l.top > i {
		l.top--
	} else if l.top == i {
		l.offset = 0
		l.top = max(0, min(l.top, len(l.entries)-1))
	}
	if l.cursor == i {
		l.cursor = -1
	} else if l.cursor > i {
		l.cursor--
	}
	if l.seen > i {
		l.seen--
	}
}
