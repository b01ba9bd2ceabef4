package statistics

import (
	"fmt"
	"strings"
	"time"

	"belay/models/ledger"
	"belay/ui/cli/app"
	"belay/ui/locale"
	"belay/ui/plain"
	"belay/ui/theme"
)

// maxListedFailovers is how many switches are listed when nobody asked for a time.
const maxListedFailovers = 10

func percent(share float64) string { return fmt.Sprintf("%.0f%%", share*100) }

func milliseconds(n int64) string {
	if n == 0 {
		return "–"
	}
	return theme.Elapsed(time.Duration(n) * time.Millisecond)
}

// rowHead and rowCells are the columns of the table, here and on the page. A
// narrow terminal shows the first ones. OK and NO ROOM are shares of the attempts
// that an answer was to be expected of; LOST are those among them that the network
// or a closed connection took.
var rowHead = []string{"ATTEMPTS", "OK", "NO ROOM", "LOST", "COST", "FIRST", "RETRIES", "SWITCHES", "IN", "OUT", "WHOLE", "P95"}

func rowCells(row ledger.Row) []string {
	ok, full := "–", "–"
	if row.Asked() > 0 {
		ok, full = percent(row.OK()), percent(row.Full())
	}
	return []string{
		fmt.Sprint(row.Attempts),
		ok,
		full,
		fmt.Sprint(row.Lost),
		theme.Money(row.Cost),
		milliseconds(row.FirstTokenMS),
		fmt.Sprint(row.Retries),
		fmt.Sprint(row.Fallbacks),
		theme.Count(row.Input),
		theme.Count(row.Output),
		milliseconds(row.LatencyMS),
		milliseconds(row.Latency95MS),
	}
}

// shares says how many attempts were answered, here and on the page.
func shares(t ledger.Row) string {
	if t.Asked() == 0 {
		return locale.T("none says how the models are")
	}
	text := locale.T("%s answered · %s found no room", percent(t.OK()), percent(t.Full()))
	if t.Lost > 0 {
		text += " · " + locale.T("%d lost to the network", t.Lost)
	}
	return text
}

// sentences are the findings in words, here and on the page.
func (s statistics) sentences() []string {
	costs := s.Costs
	one := locale.T("a success costs %s", theme.Money(costs.PerSuccess()))
	if costs.Successes == 0 {
		one = locale.T("nothing was answered; it cost %s", theme.Money(costs.Total().Cost))
	}
	list := []string{locale.T("%s: calls %s, retries %s, fallbacks %s; people waited %s",
		one, theme.Money(costs.Calls.Cost), theme.Money(costs.Retries.Cost), theme.Money(costs.Fallbacks.Cost),
		theme.Clock(time.Duration(costs.WaitedMS)*time.Millisecond))}
	switch z := s.Sizes; {
	case z.Threshold > 0:
		list = append(
			list,
			locale.T("failures start above %s input (%s against %s below)", theme.Count(z.Threshold),
				percent(z.Above), percent(z.Below)),
		)
	case len(z.Buckets) > 0:
		list = append(list, locale.T("failures do not depend on the size of the input, as far as can be seen"))
	}
	if len(s.Episodes) > 0 {
		longest, median := ledger.Lengths(s.Episodes)
		list = append(
			list,
			locale.T("%s without room: the longest %s, the median %s", theme.Plural(len(s.Episodes), "episode"),
				theme.Clock(longest), theme.Clock(median)),
		)
	}
	if week := s.Weeks[0]; !week.Enough && !week.Since.IsZero() {
		list = append(
			list,
			locale.T("the record begins on %s; a week is needed before hours say much",
				week.Since.Local().Format(locale.T("2 January"))),
		)
	}
	for _, r := range s.Risks {
		if r.Advise() {
			list = append(
				list,
				locale.T(
					"%s may give way soon: risk %.2f (growth %.2f, latency %.2f, errors %.2f); a lower tier or smaller steps help",
					r.Target,
					r.Score,
					r.Growth,
					r.Latency,
					r.Errors,
				),
			)
		}
	}
	for _, a := range s.Alerts {
		list = append(list, "! "+locale.Said(a.String()))
	}
	return list
}

// printText writes the statistics as text.
func printText(env app.Env, stats statistics, all bool) error {
	width := env.Width(env.Out)
	t := stats.Total
	fmt.Fprintf(env.Out, "%s\n\n", locale.T("%s since %s · %s · %s", theme.Plural(t.Attempts, "attempt"),
		stats.Since.Local().Format(locale.T("2 January 15:04")), shares(t), theme.Money(t.Cost)))
	rows := [][]string{append([]string{strings.ToUpper(string(stats.By))}, rowHead...)}
	for _, r := range stats.Rows {
		rows = append(rows, append([]string{theme.Line(r.Key)}, rowCells(r)...))
	}
	if err := plain.Table(env.Out, rows, width); err != nil {
		return err
	}
	fmt.Fprintln(env.Out)
	for _, line := range stats.sentences() {
		fmt.Fprintln(env.Out, wrapTo(theme.Line(line), width))
	}
	if week := stats.Weeks[0]; week.Any() {
		fmt.Fprintf(env.Out, "\n%s\n%s", locale.T("no room, by weekday and hour (local time, since %s)",
			week.Since.Local().Format(locale.T("2 January"))), heatMap(week))
	}
	return printFailovers(env, stats, all, width)
}

func printFailovers(env app.Env, s statistics, all bool, width int) error {
	list := s.Failovers
	if len(list) == 0 {
		fmt.Fprintln(env.Out, "\n"+locale.T("belay never switched by itself"))
		return nil
	}
	fmt.Fprintln(env.Out, "\n"+locale.T("belay switched by itself %s", times(len(list))))
	hidden := 0
	if !all && len(list) > maxListedFailovers {
		hidden = len(list) - maxListedFailovers
	}
	rows := [][]string{{"TIME", "FROM", "TO", "WHY", "TRIES", "SESSION", "TURN"}}
	for _, g := range list[hidden:] {
		why := string(g.Kind)
		if g.Code != "" {
			why += " " + g.Code
		}
		rows = append(rows, []string{
			g.Time.Local().Format("2006-01-02 15:04"),
			theme.Line(g.From),
			theme.Line(g.To),
			theme.Line(why),
			fmt.Sprint(g.Tries),
			theme.Line(g.Session),
			fmt.Sprint(g.Turn),
		})
	}
	if err := plain.Table(env.Out, rows, width); err != nil {
		return err
	}
	if hidden > 0 {
		fmt.Fprintln(env.Err, locale.T("and %d earlier: belay stats --since 30d lists every one", hidden))
	}
	return nil
}

func times(n int) string {
	if n == 1 {
		return locale.T("once")
	}
	return locale.T("%d times", n)
}

func wrapTo(line string, width int) string {
	if width <= 0 {
		return line
	}
	return strings.Join(theme.Wrap(line, width), "\n")
}

// shades are from rarely to mostly full; an hour without attempts is blank.
var shades = []struct {
	from float64
	sign string
}{{0, "·"}, {1e-9, "░"}, {0.1, "▒"}, {0.25, "▓"}, {0.5, "█"}}

func shadeOf(h ledger.Hour) (level int) {
	for i, s := range shades {
		if h.Share() >= s.from {
			level = i
		}
	}
	return level
}

// heatMap draws the week.
func heatMap(w ledger.Week) string {
	var b strings.Builder
	for day, hours := range w.Hours {
		b.WriteString(" " + dayName(day) + " ")
		for _, h := range hours {
			if h.Attempts == 0 {
				b.WriteString(" ")
				continue
			}
			b.WriteString(shades[shadeOf(h)].sign)
		}
		b.WriteString("\n")
	}
	return b.String() + "    0     6     12    18\n    " + locale.T("· none  ░ some  ▒ 10%  ▓ 25%  █ half") + "\n"
}

// dayName is the short name of a day, counted from Monday.
func dayName(day int) string { return locale.T(time.Weekday((day + 1) % 7).String()[:2]) }
