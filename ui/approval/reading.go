package approval

import "belay/ui/keys"

// reading is how far a person has read a question that may be longer than its box.
type reading struct {
	offset int  // lines that are scrolled away
	length int  // lines in all, and
	room   int  // how many of them the box last had room for
	whole  bool // the last of them has been on the screen

	layout bool // a change is shown in the other one of its two layouts
}

// key moves through the question, if that is what the key does.
func (r *reading) key(act keys.Action) bool {
	page := max(r.room-1, 1)
	switch act {
	case keys.Down:
		r.scroll(1)
	case keys.Up:
		r.scroll(-1)
	case keys.NextPage:
		r.scroll(page)
	case keys.PageDown, keys.PageUp:
		if r.length <= r.room {
			return false // nothing is hidden: the transcript scrolls
		}
		if act == keys.PageUp {
			page = -page
		}
		r.scroll(page)
	case keys.Top:
		r.offset = 0
	case keys.Bottom:
		r.offset = r.length
	case keys.Layout:
		r.layout = !r.layout
	default:
		return false
	}
	return true
}

func (r *reading) scroll(lines int) {
	r.offset = max(0, min(r.offset+lines, r.length-r.room))
}

// show gives the lines for which there is room, and notes which of them are seen.
func (r *reading) show(lines []string, room int, seen bool) []string {
	r.length, r.room = len(lines), room
	r.scroll(0)
	end := min(r.offset+room, len(lines))
	if seen && end == len(lines) {
		r.whole = true
	}
	return lines[r.offset:end]
}

// below is how many lines lie below those that are shown.
func (r *reading) below() int { return max(r.length-r.room-r.offset, 0) }
