package request

import (
	"context"
	"strings"

	"belay/models"
	"belay/session"
)

// titlePrompt asks for a title.
const titlePrompt = "You name conversations. Answer with a title of at most six words for what the user wants, " +
	"in the user's language, and with nothing else: no quotation marks, no full stop."

// maxTitled bounds what of the first prompt and of a title counts, in bytes.
const (
	maxTitled = 4000
	maxTitle  = 80
)

// Title lets the light tier name the session after its first prompt. It asks once: a
// title is not worth a wait, and the first words of the prompt stand until then.
func (b *Builder) Title(ctx context.Context) error {
	state := b.log.State()
	words := state.FirstPrompt
	if len(words) > maxTitled {
		words = strings.ToValidUTF8(words[:maxTitled], "")
	}
	answer, err := b.ask(ctx, state, errand{
		step: "title",
		once: true,
		tell: func(session.Event) {},
		request: models.Request{
			Instructions: titlePrompt,
			Items:        []models.Item{models.NewMessage(models.User, words)},
		},
	})
	if err != nil {
		return err
	}
	title := cleanTitle(answer.text)
	if title == "" {
		return nil
	}
	return b.log.Append(ctx, session.Titled{Title: title, By: answer.by, Usage: answer.usage, Cost: answer.cost})
}

// cleanTitle is a title without what models put around one.
func cleanTitle(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first = strings.TrimSpace(strings.TrimLeft(first, "#*- "))
	first = strings.Trim(first, "\"'`“”„«».* ")
	if len(first) > maxTitle {
		return "" // it answered something else
	}
	return first
}
