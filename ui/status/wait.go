package status

import (
	"fmt"
	"strings"
	"time"

	"belay/models"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// Wait is the box that explains a wait. It changes in place while the wait goes on.
type Wait struct {
	Fault   *models.Fault
	Target  models.Target // that failed
	Next    models.Target // that is asked next
	Number  int           // of the next attempt
	Of      int
	From    time.Time // when the wait began
	Until   time.Time // zero: the attempt is on its way
	Now     time.Time
	Then    models.Target // who takes over if it goes on failing; zero: nobody
	Focused bool
	Details bool
	Tiers   []models.Condition
}

// View gives the box, at most height lines of it: how the wait goes, and the keys,
// are there before any of the reasons.
func (w Wait) View(th *theme.Theme, width, height int) []string {
	inner := width - 6
	first, last := w.progress(th, inner), w.hints(th, inner)
	room := max(height-4, 0) // without the border, the progress and the keys
	lines := []string{first}
	if w.Details {
		lines = append(lines, last)
		lines = append(lines, clip(th, append([]string{""}, paragraphs(th.Dim, inner, Evidence(w.Fault)...)...), room)...)
	} else {
		lines = append(lines, clip(th, w.reasons(th, inner), room)...)
		lines = append(lines, last)
	}
	border := th.Warn
	if !w.Focused {
		border = th.Faint
	}
	box := th.Box(w.title(th, inner-2), lines, width-2, border)
	for i := range box {
		box[i] = " " + box[i]
	}
	return box
}

// clip leaves out what there is no room for, and says so.
func clip(th *theme.Theme, lines []string, room int) []string {
	if len(lines) <= room {
		return lines
	}
	if room > 0 {
		lines = append(lines[:room-1:room-1], th.Dim.Paint("…"))
	}
	return lines[:room]
}

// paragraphs wraps texts, each from a line of its own.
func paragraphs(style theme.Style, width int, texts ...string) []string {
	var lines []string
	for _, text := range texts {
		for _, part := range theme.Wrap(text, width) {
			lines = append(lines, style.Paint(part))
		}
	}
	return lines
}

// reasons are what the server or the network said and, where only a person can
// correct a setting, what to do. That a model is full is said by the title.
func (w Wait) reasons(th *theme.Theme, width int) []string {
	fault := w.Fault
	if fault == nil {
		return nil
	}
	var lines []string
	if said := w.said(); said != "" {
		lines = paragraphs(th.Dim, width, said)
		const most = 2
		lines = clip(th, lines, most)
	}
	if fault.Unproven {
		lines = append(lines, paragraphs(th.Warn, width, locale.Said(theme.Line(fault.Hint)))...)
	}
	return lines
}

// said is what is known of the reason beyond its kind, with the time at which a
// limit ends.
func (w Wait) said() string {
	fault := w.Fault
	if fault.Kind == models.KindCapacity {
		return ""
	}
	said := locale.Said(theme.Line(fault.Message))
	if !fault.ResetAt.After(w.Now) {
		return said
	}
	at := locale.T("until %s", theme.At(fault.ResetAt))
	if fault.ResetAt.Sub(w.Now) > 20*time.Hour {
		at = locale.T("until %s", fault.ResetAt.Local().Format(locale.T("Mon 15:04")))
	}
	if said == "" {
		return at
	}
	return at + ": " + said
}

func (w Wait) title(th *theme.Theme, room int) string {
	parts := []string{theme.Kind(w.Fault), theme.Line(w.Target.Model)}
	var evidence []string
	if fault := w.Fault; fault != nil {
		if fault.Code != "" && !strings.EqualFold(fault.Code, string(fault.Kind)) {
			evidence = append(evidence, theme.Line(fault.Code))
		}
		if fault.Phase != "" {
			evidence = append(evidence, phaseText(fault.Phase))
		}
		if fault.RequestID != "" {
			evidence = append(evidence, locale.T("request %s", theme.Line(fault.RequestID)))
		}
	}
	for n := len(evidence); ; n-- {
		s := strings.Join(append(parts[:2:2], evidence[:n]...), " · ")
		if theme.Width(s) <= room || n == 0 {
			head := theme.Cut(parts[0], room)
			return th.Warn.Paint(head) + th.Dim.Paint(theme.Cut(strings.TrimPrefix(s, parts[0]), room-theme.Width(head)))
		}
	}
}

func phaseText(p models.Phase) string {
	switch p {
	case models.InText:
		return locale.T("in the middle of text")
	case models.InArguments:
		return locale.T("in the middle of a tool call")
	case models.InReasoning:
		return locale.T("while thinking")
	case models.BetweenItems:
		return locale.T("between two items")
	case models.AfterLastItem:
		return locale.T("at the very end")
	case models.BeforeHeaders:
		return locale.T("before any answer")
	case models.BeforeEvent:
		return locale.T("before the first word")
	}
	return string(p)
}

func (w Wait) progress(th *theme.Theme, room int) string {
	attempt := locale.T("attempt %d of %d", w.Number, w.Of)
	if w.Of == 0 {
		attempt = locale.T("attempt %d", max(w.Number, 1))
	}
	next := theme.Line(w.Next.Model)
	if w.Until.IsZero() || !w.Until.After(w.Now) {
		if next == "" {
			return th.Strong.Paint(attempt) + th.Dim.Paint(locale.T(" is on its way"))
		}
		return th.Strong.Paint(attempt) + th.Dim.Paint(locale.T(" is on its way to %s", next))
	}
	left := w.Until.Sub(w.Now)
	share := 1.0
	if total := w.Until.Sub(w.From); total > 0 {
		share = 1 - float64(left)/float64(total)
	}
	full, rest := theme.Bar(share, 10)
	bar := th.Warn.Paint(full) + th.Faint.Paint(rest)
	s := th.Strong.Paint(attempt) + locale.T(" in ") + th.Strong.Paint(theme.Fit(theme.Elapsed(left), 5)) + " " + bar
	if next != "" && w.Next != w.Target {
		s += th.Dim.Paint("   " + locale.T("at %s", next))
	}
	if w.Then != (models.Target{}) {
		return s + w.then(th, room-theme.Width(s))
	}
	return s
}

// then says who takes over, with as much detail as there is room for.
func (w Wait) then(th *theme.Theme, room int) string {
	lead, state := "   "+locale.T("then")+" ", ""
	short := th.Dim.Paint(lead + theme.Short(w.Then))
	for _, c := range w.Tiers {
		if c.Target == w.Then {
			symbol, text, st := th.Condition(c, w.Now)
			lead += locale.T(string(c.Tier)) + ": "
			state = " " + st.Paint(symbol) + th.Dim.Paint(" "+text)
			short = th.Dim.Paint("   "+locale.T("then")+" "+locale.T(string(c.Tier))+" ") + st.Paint(symbol)
		}
	}
	full := th.Dim.Paint(lead+theme.Line(w.Then.Model)) + state
	for _, text := range []string{full, short} {
		if theme.Width(text) <= room {
			return text
		}
	}
	return ""
}

// wayOn is a key of the box; one that stands for several has no action.
type wayOn struct {
	hint   [2]string
	action keys.Action
}

// waysOn are the keys, as many as there is room for.
func (w Wait) waysOn(th *theme.Theme, room int) []wayOn {
	hint := keys.Hint
	if w.Focused {
		hint = keys.RetryBox.Hint
	}
	one := func(does string, a keys.Action) wayOn { return wayOn{hint(does, a), a} }
	if w.Focused {
		return []wayOn{
			one("now", keys.TryNow), {hint("tier", keys.Heavy, keys.Medium, keys.Light), ""}, one("park", keys.Park),
			one("details", keys.Details), one("back", keys.Blur),
		}
	}
	full := []wayOn{one("now", keys.TryNow)}
	var others []keys.Action
	for i, c := range w.Tiers {
		if a := keys.Tier(i); c.Target != w.Next && a != "" {
			others = append(others, a)
			full = append(full, one(string(c.Tier), a))
		}
	}
	rest := []wayOn{one("park", keys.Park), one("details", keys.Details), one("stop", keys.Stop)}
	if full = append(full, rest...); theme.Width(th.Keys(hintsOf(full)...)) <= room {
		return full
	}
	short := []wayOn{one("now", keys.TryNow)}
	if len(others) > 0 {
		short = append(short, wayOn{hint("tier", others...), ""})
	}
	return append(short, rest...)
}

func hintsOf(ways []wayOn) [][2]string {
	list := make([][2]string, len(ways))
	for i, way := range ways {
		list[i] = way.hint
	}
	return list
}

func (w Wait) hints(th *theme.Theme, room int) string { return th.Keys(hintsOf(w.waysOn(th, room))...) }

// HintAt is the action whose key is named in a place of the box, which has so many
// rows; "": none is.
func (w Wait) HintAt(th *theme.Theme, width, rows, column, row int) keys.Action {
	const left = 3 // a blank, the border, a blank
	at := rows - 2
	if w.Details {
		at = 2
	}
	if row != at {
		return ""
	}
	from := left
	for _, way := range w.waysOn(th, width-6) {
		to := from + theme.Width(way.hint[0]+" "+way.hint[1])
		if column >= from && column < to {
			return way.action
		}
		from = to + 3
	}
	return ""
}

// Evidence is everything a fault knows, as lines "name: value", the server's
// own words as they came.
func Evidence(fault *models.Fault) []string {
	if fault == nil {
		return []string{locale.T("nothing more is known")}
	}
	var out []string
	add := func(name, value string) {
		if value = theme.Line(value); value != "" {
			out = append(out, locale.T(name)+": "+value)
		}
	}
	add("message", fault.Message)
	add("hint", locale.Said(fault.Hint))
	add("kind", string(fault.Kind))
	add("target", fault.Target.String())
	add("served by", fault.ServedModel)
	if fault.Status != 0 {
		add("status", fmt.Sprint(fault.Status))
	}
	add("code", fault.Code)
	add("type", fault.Type)
	add("request", fault.RequestID)
	add("phase", phaseText(fault.Phase))
	if fault.Delayed {
		add("asked to wait", theme.Elapsed(fault.RetryAfter))
	}
	if !fault.ResetAt.IsZero() {
		add("resets", fault.ResetAt.Format(locale.T("Mon 15:04")))
	}
	if fault.Events > 0 {
		events := theme.Plural(int(fault.Events), "event")
		add("received", locale.T("%s, %sB in %s", events, theme.Count(fault.Bytes), theme.Elapsed(fault.Elapsed)))
	}
	const most = 600
	raw := theme.Line(fault.Raw)
	if len(raw) > most {
		raw = theme.Cut(raw, most)
	}
	add("raw", raw)
	return out
}
