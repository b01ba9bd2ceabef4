package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"belay/models/answer"
	"belay/session"
	"belay/session/files"
	"belay/ui/cli/exit"
	"belay/ui/locale"
)

// readSchema reads the schema that answers must fit; nil: none is asked for.
func readSchema(name string) (*answer.Schema, error) {
	if name == "" {
		return nil, nil
	}
	source, err := files.Read(files.At(name), 1<<20)
	if err != nil {
		return nil, &exit.UsageError{Err: fmt.Errorf("--output-schema %s: %w", name, err), See: "belay run --help"}
	}
	schema, err := answer.NewSchema(source)
	if err != nil {
		return nil, &exit.UsageError{Err: fmt.Errorf("--output-schema %s: %w", name, err), See: "belay help recipes"}
	}
	return schema, nil
}

// answerError is an answer that does not fit its schema, also after it was asked for
// once more.
type answerError struct {
	misfit error
	id     session.ID
}

func (e *answerError) Error() string { return e.misfit.Error() }
func (e *answerError) Unwrap() error { return e.misfit }
func (e *answerError) Hint() string {
	return fmt.Sprintf("it was asked for twice; to read it: belay sessions show %s", e.id)
}

// form has a prompt ask for the answer that the command line wants, and a turn that is
// gone on with keep what its prompt asked for.
func (r *sessionRunner) form(state session.Session, prompt *session.Prompt) error {
	if prompt.Text == "" {
		r.turn.Formed = state.Answer != nil
		if r.schema == nil && state.Answer != nil {
			kept, err := answer.NewSchema(state.Answer.Schema)
			if err != nil {
				return fmt.Errorf("the schema of the answer: %w", err)
			}
			r.schema = kept
		}
		return nil
	}
	if r.schema != nil {
		prompt.Answer = &session.AnswerForm{Schema: r.schema.Source()}
	}
	return nil
}

// deliver tells the answer of a turn that is done, and writes it where it was wanted.
// One that does not fit its schema is asked for once more.
func (r *sessionRunner) deliver(ctx context.Context, state session.Session) (code int, again bool, err error) {
	if r.schema == nil {
		return exit.Done, false, r.keepAnswer(strings.TrimRight(r.turn.Text, "\n"))
	}
	value, err := r.schema.Find(r.turn.Joined)
	var misfit *answer.Misfit
	if !errors.As(err, &misfit) {
		r.out.Answer(r.end, value)
		return exit.Done, false, r.keepAnswer(string(session.EscapeInvisible(value)))
	}
	if state.Answer != nil && state.Answer.Repair {
		return 0, false, &answerError{misfit, r.id}
	}
	r.say("! %s", locale.Said(misfit.Error()))
	r.say("  it is asked for once more")
	prompt := session.Prompt{
		ID:     r.cli.NewID(),
		Text:   misfit.Request(),
		Answer: &session.AnswerForm{Schema: r.schema.Source(), Repair: true},
	}
	return 0, true, r.app.Engine.Do(ctx, r.id, session.Send{Prompt: prompt})
}

func (r *sessionRunner) keepAnswer(text string) error {
	if err := r.file.write([]byte(text + "\n")); err != nil {
		return &outputError{err: err, id: r.id}
	}
	return nil
}
