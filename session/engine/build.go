package engine

import (
	"cmp"
	"fmt"
	"strings"

	"belay/context/window"
	"belay/models"
	"belay/session"
)

// build makes the request for one target. Pressed asks for a slim one, if the
// settings allow it; a person's word always does.
func (a *openSession) build(m models.Model, pressed bool) (models.Request, int, error) {
	a.mu.Lock()
	o := order{id: a.id, talk: fitted(&a.talk), effort: a.head.Effort, pressed: a.slimNext || pressed && a.e.o.PrunePolicy != PruneOff}
	byHand, head := a.slimNext, a.talk.Head()
	steps, through := a.talk.LastToolCalls(), a.talk.SummarizedTurn()
	a.guess = !a.e.counter(m.Target).Loaded()
	a.mu.Unlock()
	o.brief, o.set = a.brief(), a.tools
	req, account, err := a.e.request(m, o)
	if err != nil {
		return req, 0, err
	}
	defer func() {
		w := a.e.contextUsage(m, o, req, account, head)
		w.ToolCalls, w.SummaryThrough = steps, through
		a.Publish(session.ContextMeasured{Usage: w})
	}()
	if !o.pressed {
		a.tellShorter(m, account)
		return req, account.LeftOut + account.Truncated + account.Pruned, nil
	}
	words := ""
	if account.LeftTokens > 0 {
		words = fmt.Sprintf("without %s (%d instead of %d tokens)", lost(account), account.Total(), account.Total()+account.LeftTokens)
	}
	if a.e.o.PrunePolicy == PruneAndLower {
		if less := lower(m, &req); less != "" {
			words = strings.TrimPrefix(words+", with "+less, ", ")
		}
	}
	a.tellSlim(words, byHand)
	return req, account.LeftOut, nil
}

// tellShorter says, before it goes out, what a request had to lose for a target
// that is not the one which served before, or that refused it as too long.
func (a *openSession) tellShorter(m models.Model, account window.Account) {
	if account.LeftTokens == 0 {
		return
	}
	a.mu.Lock()
	moved := a.head.Target != m.Target
	a.mu.Unlock()
	var why string
	switch {
	case m.Window != a.e.o.Model(m.Target).Window:
		why = "it was too long for " + m.Target.Model
	case moved:
		why = fmt.Sprintf("the budget at %s is %d tokens", m.Target.Model, account.Budget)
	default:
		return
	}
	a.Publish(session.Noted{Text: fmt.Sprintf("%s: this request goes out shorter, without %s (%d instead of %d tokens)", why, lost(account), account.Total(), account.Total()+account.LeftTokens)})
}

// lost says what a request went out without.
func lost(account window.Account) string {
	var words []string
	for _, x := range []struct {
		n         int
		one, many string
	}{
		{account.LeftOut, "an item at the beginning", "%d items at the beginning"},
		{account.Truncated, "an older output", "%d older outputs"},
		{account.Pruned, "most of an attachment", "most of %d attachments"},
	} {
		switch {
		case x.n == 1:
			words = append(words, x.one)
		case x.n > 1:
			words = append(words, fmt.Sprintf(x.many, x.n))
		}
	}
	return cmp.Or(strings.Join(words, " and "), "earlier reasoning")
}

// measured learns from what a provider reports, unless our own count was only a
// guess by length.
func (a *openSession) measured(t models.Target, ours, reported int64) {
	a.mu.Lock()
	guess := a.guess
	a.mu.Unlock()
	if !guess {
		a.e.o.Calibration.Calibrate(t, ours, reported)
	}
}

// tellSlim says, once, in what way a request goes out slim.
func (a *openSession) tellSlim(words string, byHand bool) {
	switch {
	case words == "" && !byHand:
		return
	case words == "":
		words = "there is nothing to leave out of this request"
	case byHand:
		words = "this one request goes out slim, " + words + ". The conversation stays as it is"
	default:
		words = "no room twice: this one request goes out slim, " + words + ". The conversation stays as it is"
	}
	a.mu.Lock()
	said := a.slimSaid == words
	a.slimSaid = words
	a.mu.Unlock()
	if !said {
		a.Publish(session.Noted{Text: words})
	}
}
