package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/muesli/cancelreader"

	"belay/models"
	"belay/session/batch"
	"belay/session/queue"
	"belay/ui/keys"
	"belay/ui/locale"
	"belay/ui/theme"
)

// batchTable shows a batch on a terminal, in place, and takes keys. It is drawn from
// what the queue says: what happens elsewhere shows as well.
type batchTable struct {
	cli   batchCLI
	q     *queue.Queue
	batch queue.Batch
	pace  func() (limit, working int)
	stop  func() // ctrl+c: no signal comes while the terminal is raw

	restore func()
	input   cancelreader.CancelReader
	reading sync.WaitGroup

	mu      sync.Mutex
	tasks   []queue.Entry
	cursor  int
	lines   int    // drawn last
	said    string // below the table
	started time.Time
}

// newBatchTable takes the terminal.
func newBatchTable(
	ctx context.Context, cli batchCLI, q *queue.Queue, b queue.Batch, pace func() (int, int), stop func(),
) *batchTable {
	t := &batchTable{cli: cli, q: q, batch: b, pace: pace, stop: stop, restore: func() {}, started: cli.Now()}
	in, ok := cli.In.(*os.File)
	if !ok || cli.Width(in) == 0 {
		return t // the tasks came in there: there are no keys
	}
	state, err := term.MakeRaw(in.Fd())
	if err != nil {
		return t
	}
	t.restore = func() { _ = term.Restore(in.Fd(), state) } // a terminal that is gone needs nothing
	if t.input, err = cancelreader.NewReader(in); err != nil {
		t.restore()
		t.input, t.restore = nil, func() {}
		return t
	}
	t.reading.Go(func() { t.readKeys(ctx) })
	return t
}

func (t *batchTable) readKeys(ctx context.Context) {
	buffer := make([]byte, 64)
	for {
		n, err := t.input.Read(buffer)
		if err != nil {
			return
		}
		t.key(ctx, keyName(buffer[:n]))
	}
}

// keyName is the name of a key by what a terminal sends for it; empty: another one.
func keyName(sent []byte) string {
	switch string(sent) {
	case "\x03":
		return "ctrl+c"
	case "\r", "\n":
		return "enter"
	case "\x1b[A", "\x1bOA", "k":
		return "up"
	case "\x1b[B", "\x1bOB", "j":
		return "down"
	case "\x1bOQ", "\x1b[12~", "\x1b[[B", "2":
		return "f2"
	case "\x1bOR", "\x1b[13~", "\x1b[[C", "3":
		return "f3"
	case "\x1bOS", "\x1b[14~", "\x1b[[D", "4":
		return "f4"
	}
	return ""
}

func (t *batchTable) key(ctx context.Context, name string) {
	switch name {
	case "ctrl+c":
		t.say(locale.T("ending: what runs is saved"))
		t.stop()
	case "up", "down":
		t.mu.Lock()
		if name == "up" {
			t.cursor--
		} else {
			t.cursor++
		}
		t.cursor = min(max(t.cursor, 0), max(len(t.tasks)-1, 0))
		t.drawLocked()
		t.mu.Unlock()
	case "f2", "f3", "f4":
		tier := map[string]models.Tier{"f2": models.Heavy, "f3": models.Medium, "f4": models.Light}[name]
		n, err := t.q.ShiftTier(ctx, t.batch.ID, tier)
		if err != nil {
			t.say(locale.Said(err.Error()))
			return
		}
		t.say(locale.N(n, "%d task now asks the %s tier", "%d tasks now ask the %s tier", string(tier)))
	case "enter":
		t.open()
	}
}

// open says how the task under the cursor is looked at: the terminal is this table's.
func (t *batchTable) open() {
	t.mu.Lock()
	shown := t.orderedLocked()
	at := t.cursor
	t.mu.Unlock()
	if at >= len(shown) {
		return
	}
	e := shown[at]
	switch {
	case e.State == batch.Running || e.State == batch.Parked:
		t.say(locale.T("in another terminal: belay sessions show %s", string(e.Progress.Session)))
	case e.Progress.Session != "":
		t.say(locale.T("belay sessions show %s · belay batch logs %s", string(e.Progress.Session), e.ID))
	default:
		t.say(locale.T("it has not begun"))
	}
}

func (t *batchTable) say(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.said = theme.Line(text)
	t.drawLocked()
}

func (t *batchTable) event(e batch.Event) {
	if e.Type == batch.TaskRetried || e.State == batch.Failed || e.Type == batch.TaskParked {
		t.say(theme.Line(e.Name) + "  " + locale.T(eventText(e)) + ": " + locale.Said(theme.Line(e.Text)))
	}
}

func (t *batchTable) tick(ctx context.Context, _ map[batch.State]int) {
	tasks, err := t.q.Tasks(ctx, t.batch.ID)
	if err != nil {
		return // it is tried again in a second
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tasks = tasks
	t.drawLocked()
}

func (t *batchTable) close() {
	if t.input != nil {
		t.input.Cancel()
		t.reading.Wait()
		_ = t.input.Close() // the terminal stays open
	}
	t.restore()
}

// rank is the place of a state in the table: what moves stands first.
func rank(s batch.State) int {
	order := []batch.State{batch.Running, batch.Parked, batch.Failed, batch.Waiting, batch.Cancelled, batch.Done}
	return slices.Index(order, s)
}

func (t *batchTable) orderedLocked() []queue.Entry {
	shown := slices.Clone(t.tasks)
	slices.SortStableFunc(shown, func(a, b queue.Entry) int { return rank(a.State) - rank(b.State) })
	return shown
}

func (t *batchTable) drawLocked() {
	width, height := t.size()
	var b strings.Builder
	if t.lines > 0 {
		b.WriteString(ansi.CursorUp(t.lines))
	}
	b.WriteString("\r" + ansi.EraseScreenBelow)
	rows := t.rowsLocked(width, height)
	for _, row := range rows {
		b.WriteString(theme.Cut(row, width-1) + "\r\n")
	}
	t.lines = len(rows)
	_, _ = io.WriteString(t.cli.Out, b.String()) // a terminal that is gone needs nothing
}

func (t *batchTable) size() (width, height int) {
	if f, ok := t.cli.Out.(*os.File); ok {
		if w, h, err := term.GetSize(f.Fd()); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 80, 24
}

func (t *batchTable) rowsLocked(width, height int) []string {
	counts := map[batch.State]int{}
	cost := 0.0
	for _, e := range t.tasks {
		counts[e.State]++
		cost += e.Result.Cost
	}
	limit, working := t.pace()
	rows := folded(locale.T("batch %s  %d of %d done · %d failed · %d of %d at once · $%.2f · %s", t.batch.ID, counts[batch.Done],
		len(t.tasks), counts[batch.Failed], working, limit, cost, theme.Clock(t.cli.Now().Sub(t.started))), width-1)
	var help []string
	if t.input != nil {
		help = folded(fmt.Sprintf("%s %s %s %s · enter %s · ctrl+c %s", keys.Label(keys.Heavy), keys.Label(keys.Medium),
			keys.Label(keys.Light), locale.T("tier of what waits"), locale.T("look at it"), locale.T("end, and keep it")), width-1)
	}
	tiers := 0 // columns
	if slices.ContainsFunc(t.tasks, func(e queue.Entry) bool { return e.Task.Tier != "" }) {
		tiers = 8
	}
	shown := t.orderedLocked()
	room := max(height-len(rows)-len(help)-2, 3)
	from := max(0, min(t.cursor-room/2, len(shown)-room))
	for i := from; i < min(from+room, len(shown)); i++ {
		e := shown[i]
		mark := "  "
		if i == t.cursor && t.input != nil {
			mark = "› "
		}
		rows = append(rows, mark+theme.Fit(locale.T(string(e.State)), 10)+theme.Fit(cmpTier(e), tiers)+
			theme.Fit(theme.Line(e.Task.Name), min(24, width/3))+" "+
			theme.Line(strings.Join(nonEmpty(taskNote(e, t.cli.Now()), e.Task.Prompt), " · ")))
	}
	if t.said != "" {
		rows = append(rows, t.said)
	}
	return append(rows, help...)
}

// folded puts the parts of a row, which a dot divides, into as many rows as they need.
func folded(row string, width int) []string {
	const dot = " · "
	var rows []string
	for _, part := range strings.Split(row, dot) {
		last := len(rows) - 1
		if last >= 0 && ansi.StringWidth(rows[last]+dot+part) <= width {
			rows[last] += dot + part
			continue
		}
		rows = append(rows, part)
	}
	return rows
}

func cmpTier(e queue.Entry) string {
	if e.Task.Tier == "" {
		return "-"
	}
	return string(e.Task.Tier)
}
