// Package status decides how belay says what it is doing: the bar at the top
// with the model tiers, the line at the bottom, and the box that explains a
// wait.
package status

import (
	"slices"
	"strings"
	"time"

	"belay/models"
	"belay/session"
	"belay/ui/locale"
	"belay/ui/theme"
)

// Top is what the bar at the top shows.
type Top struct {
	Project, Branch, Title string
	Tiers                  []models.Condition // heavy first
	Active                 models.Tier
	Now                    time.Time
	NeedPerson             int // other sessions that need a person
	Running                int // other sessions that run
}

// View gives the bar: the project and the session on the left, the tiers on the
// right.
func (t Top) View(th *theme.Theme, width int) string {
	strip := t.strip(th, 2)
	left := t.left(th)
	if theme.Width(strip)+min(theme.Width(left), 24)+4 > width {
		strip = t.strip(th, 1)
	}
	if theme.Width(strip)+min(theme.Width(left), 18)+4 > width {
		strip = t.strip(th, 0)
	}
	room := width - theme.Width(strip) - 3
	if theme.Width(left) > room {
		left = theme.Cut(left, room)
	}
	return theme.Sides(left, strip+" ", width)
}

func (t Top) left(th *theme.Theme) string {
	var b strings.Builder
	b.WriteString(" " + th.Strong.Paint(theme.Line(t.Project)))
	if t.Branch != "" {
		b.WriteString(th.Dim.Paint(" · " + theme.Line(t.Branch)))
	}
	if t.NeedPerson > 0 {
		b.WriteString("  " + th.Warn.Paint("! "+needText(t.NeedPerson)))
	} else if t.Running > 0 {
		b.WriteString("  " + th.Dim.Paint("▸ "+locale.N(t.Running, "%d other at work", "%d others at work")))
	}
	if t.Title != "" {
		b.WriteString("  " + theme.Line(t.Title))
	}
	return b.String()
}

func needText(n int) string {
	return locale.N(n, "%d needs you", "%d sessions need you")
}

// strip draws the tiers with as much detail as there is room for: 2 is all names
// and countdowns, 1 the name of the one that answers, 0 symbols alone.
func (t Top) strip(th *theme.Theme, detail int) string {
	parts := make([]string, 0, len(t.Tiers))
	for i, condition := range t.Tiers {
		parts = append(parts, t.tier(th, i, condition, detail))
	}
	sep := "   "
	if detail < 2 {
		sep = "  "
	}
	return strings.Join(parts, sep)
}

// tier draws one tier. Who answers now is marked; where another answers in the place
// of the one that the session would rather ask, an arrow says which.
func (t Top) tier(th *theme.Theme, i int, condition models.Condition, detail int) string {
	symbol, _, st := th.Condition(condition, t.Now)
	number, answers := string(rune('1'+i)), t.answers(condition)
	named := detail == 2 || detail == 1 && answers
	style := th.Dim
	if answers && !named {
		style = th.Mark
	}
	s := style.Paint(number) + " " + st.Paint(symbol)
	if named {
		name := th.Dim
		if answers {
			name = th.Mark
		}
		s += " " + name.Paint(tierName(condition))
	}
	if left := theme.Left(condition, t.Now); detail == 2 && left != "" {
		s += " " + st.Paint(left)
	}
	if condition.StandIn == (models.Target{}) {
		return s
	}
	at := slices.IndexFunc(t.Tiers, func(c models.Condition) bool { return c.Target == condition.StandIn })
	switch {
	case at < 0: // it stands nowhere else
		s += th.Dim.Paint(" → ") + th.Mark.Paint(theme.Cut(theme.Short(condition.StandIn), maxName))
	case detail > 0:
		s += th.Dim.Paint(" → " + tierName(t.Tiers[at]))
	default:
		s += th.Dim.Paint("→" + string(rune('1'+at)))
	}
	return s
}

// answers reports whether the next request goes to a target: as the router says, or,
// as long as it says nothing, to that of the session's tier.
func (t Top) answers(condition models.Condition) bool {
	known := slices.ContainsFunc(t.Tiers, func(c models.Condition) bool {
		return c.Answers || c.StandIn != (models.Target{})
	})
	if known {
		return condition.Answers
	}
	return condition.Tier == t.Active
}

// maxName is how many cells a target's short name takes at most.
const maxName = 14

func tierName(c models.Condition) string {
	name := theme.Line(c.Short)
	if name == "" {
		name = theme.Short(c.Target)
	}
	return theme.Cut(name, maxName)
}

// Bottom is what the line at the bottom shows.
type Bottom struct {
	Doing   string // "writing", "running shell"; empty: nothing
	Since   time.Time
	Spins   bool          // it is at work
	Written int64         // tokens that the model has written in this turn
	Silence time.Duration // nothing arrived for so long
	Session *session.Session
	Counted int64 // tokens of the next request by belay's own count; 0: unknown
	Mode    session.Mode
	Unheld  string // what commands are not held to; empty: they are
	Open    bool   // nothing holds them
	Now     time.Time
	Toast   string      // passing words, in the place of the hints
	Keys    [][2]string // hints: each a key and what it does, most useful first
}

// View gives the line.
func (b Bottom) View(th *theme.Theme, width int) string {
	left := b.left(th, width)
	if len(b.Keys) > 0 && theme.Width(left)+theme.Width(th.Keys(b.Keys[0]))+3 > width {
		b.Written = 0 // the key that stops is worth more
		left = b.left(th, width)
	}
	if b.Toast != "" {
		return theme.Sides(left, th.Accent.Paint(theme.Cut(b.Toast, width-4))+" ", width)
	}
	for n := len(b.Keys); n > 0; n-- {
		right := th.Keys(b.Keys[:n]...) + " "
		if theme.Width(left)+theme.Width(right)+2 <= width {
			return theme.Sides(left, right, width)
		}
	}
	return theme.Fit(left, width)
}

func (b Bottom) left(th *theme.Theme, width int) string {
	return " " + strings.Join(b.parts(th, width), th.Faint.Paint(" · "))
}

// turning are the looks of the spinner, one a second.
var turning = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"}

func (b Bottom) spinner() string {
	if !b.Spins {
		return ""
	}
	return turning[b.Now.Second()%len(turning)] + " "
}

func (b Bottom) parts(th *theme.Theme, width int) []string {
	var parts []string
	if b.Doing != "" {
		state := th.Accent.Paint(b.spinner() + b.Doing)
		if !b.Since.IsZero() {
			state += " " + th.Dim.Paint(theme.Clock(b.Now.Sub(b.Since)))
		}
		if b.Written > 0 {
			state += th.Dim.Paint(" · " + locale.T("%s tokens", theme.Count(b.Written)))
		}
		if b.Silence >= 20*time.Second {
			state += th.Warn.Paint(locale.T(", nothing for %s", theme.Clock(b.Silence)))
		}
		parts = append(parts, state)
	}
	parts = append(parts, modeText(th, b.Mode))
	if b.Unheld != "" {
		st := th.Warn
		if b.Open {
			st = th.Bad
		}
		parts = append(parts, st.Paint(locale.Said(b.Unheld)))
	}
	state := b.Session
	if state == nil {
		return parts
	}
	if len(state.Queue) > 0 {
		word := locale.T("%d queued", len(state.Queue))
		if !state.Live() && state.Status != session.Idle {
			word = locale.T("%d held", len(state.Queue))
		}
		parts = append(parts, th.Warn.Paint(word))
	}
	if ctx := b.context(th, width); ctx != "" {
		parts = append(parts, ctx)
	}
	if state.Cost > 0 {
		parts = append(parts, th.Dim.Paint(theme.Money(state.Cost)))
	}
	return parts
}

// context says how full the window is: as the provider counted it, by belay's
// own count with ≈ until one has, and not at all after a change that none has
// counted yet.
func (b Bottom) context(th *theme.Theme, width int) string {
	state := b.Session
	size, sign := state.ContextTokens, ""
	switch {
	case size > 0:
	case state.Usage.Input+state.Usage.Output > 0:
		return th.Dim.Paint(locale.T("ctx unknown"))
	case b.Counted > 0:
		size, sign = b.Counted, "≈"
	default:
		return ""
	}
	text := locale.T("ctx") + " " + sign + theme.Count(size)
	if state.Window <= 0 {
		return th.Dim.Paint(text)
	}
	share := float64(size) / float64(state.Window)
	ctx := th.Dim.Paint(text + "/" + theme.Count(state.Window) + " ")
	if width >= 80 {
		full, rest := theme.Bar(share, 8)
		st := th.Dim
		if share > 0.8 {
			st = th.Warn
		}
		ctx += st.Paint(full) + th.Faint.Paint(rest) + " "
	}
	return ctx + th.Dim.Paint(theme.Count(int64(share*100+0.5))+"%")
}

func modeText(th *theme.Theme, m session.Mode) string {
	switch m {
	case session.All:
		return th.Warn.Paint(locale.T("all run"))
	case session.Edits:
		return th.Dim.Paint(locale.T("edits run"))
	default:
		return th.Dim.Paint(locale.T("asks first"))
	}
}
