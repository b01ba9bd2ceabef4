package request

import (
	"cmp"
	"fmt"
	"strings"

	"belay/context/window"
	"belay/models"
	"belay/session"
)

// noteShortened says, before it goes out, what a request had to lose for a
// target that is not the one which served before, or that refused it as too long.
func (b *Builder) noteShortened(m models.Model, account window.Account, served models.Target, refused bool) {
	if account.OmittedTokens == 0 {
		return
	}
	var why string
	switch {
	case refused:
		why = "it was too long for " + m.Target.Model
	case served != m.Target:
		why = fmt.Sprintf("the budget at %s is %d tokens", m.Target.Model, account.Budget)
	default:
		return
	}
	b.log.Publish(session.Noted{Text: why + ": this request goes out shorter, without " + sizes(account)})
}

// sizes says what a request went out without, and how long it is now.
func sizes(account window.Account) string {
	total := account.Total()
	return fmt.Sprintf("%s (%d instead of %d tokens)", omitted(account), total, total+account.OmittedTokens)
}

// omitted says what a request went out without.
func omitted(account window.Account) string {
	var parts []string
	for _, x := range []struct {
		n         int
		one, many string
	}{
		{account.OmittedItems, "an item at the beginning", "%d items at the beginning"},
		{account.PrunedOutputs, "an older output", "%d older outputs"},
		{account.TruncatedAttachments, "most of an attachment", "most of %d attachments"},
	} {
		switch {
		case x.n == 1:
			parts = append(parts, x.one)
		case x.n > 1:
			parts = append(parts, fmt.Sprintf(x.many, x.n))
		}
	}
	return cmp.Or(strings.Join(parts, " and "), "earlier reasoning")
}
