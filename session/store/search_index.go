package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"unicode"

	"belay/models"
	"belay/session"
)

// index adds an event to the search index.
func index(ctx context.Context, tx *sql.Tx, row int64, e session.Event) error {
	var text strings.Builder
	for _, t := range searchableTexts(e) {
		text.WriteString(withoutControls(headAndTail(t)))
		text.WriteByte('\n')
	}
	if text.Len() == 0 {
		return nil
	}
	addShortKeys(&text)
	_, err := tx.ExecContext(ctx, "INSERT INTO search (rowid, text) VALUES (?, ?)", row, text.String())
	return err
}

// addShortKeys appends the beginnings of words, and each one and two neighbours in
// scripts without spaces, padded: so that one or two typed letters find them.
func addShortKeys(text *strings.Builder) {
	seen := make(map[[2]rune]bool)
	var pairs [][2]rune
	add := func(a, b rune) {
		if p := [2]rune{a, b}; !seen[p] {
			seen[p] = true
			pairs = append(pairs, p)
		}
	}
	before, inWord := rune(0), 0
	for _, r := range strings.ToLower(text.String()) {
		switch {
		case isUnspaced(r):
			add(r, padding)
			if isUnspaced(before) {
				add(before, r)
			}
			inWord = 0
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if inWord++; inWord == 1 {
				add(r, padding)
			} else if inWord == 2 {
				add(before, r)
			}
		default:
			inWord = 0
		}
		before = r
	}
	for _, p := range pairs {
		text.WriteRune(p[0])
		text.WriteRune(p[1])
		text.WriteRune(padding)
	}
}

func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// headAndTail bounds what is indexed of one text: outputs of tools begin and end
// with what people look for.
func headAndTail(t string) string {
	const head, tail = 48 << 10, 16 << 10
	if len(t) <= head+tail {
		return t
	}
	return t[:head] + "\n" + t[len(t)-tail:]
}

// searchableTexts are the words in an event that a person may look for.
func searchableTexts(e session.Event) []string {
	switch e := e.(type) {
	case session.TurnStarted:
		return promptTexts(e.Prompt)
	case session.PromptTaken:
		return promptTexts(e.Prompt)
	case session.Renamed:
		return []string{e.Title}
	case session.ItemAdded:
		if e.Item.Kind == models.Message || e.Item.Kind == models.Reasoning {
			return []string{e.Item.Text}
		}
	case session.CutOff:
		return []string{e.Text}
	case session.ToolEnded:
		return []string{e.Title, e.Output, e.Diff}
	case session.TodosChanged:
		var list []string
		for _, t := range e.Todos {
			list = append(list, t.Text)
		}
		return list
	case session.TurnEnded:
		if e.Fault != nil {
			return []string{e.Reason, e.Fault.Message}
		}
		return []string{e.Reason}
	case session.Noted:
		return []string{e.Text}
	}
	return nil
}

func promptTexts(p session.Prompt) []string {
	texts := []string{p.Text}
	for _, a := range p.Attachments {
		texts = append(texts, a.Text)
	}
	return texts
}

// padding fills up what is shorter than three letters. It stands in no text.
const padding = '\x01'

func padShort(runes []rune) string {
	for len(runes) < 3 {
		runes = append(runes[:len(runes):len(runes)], padding)
	}
	return string(runes)
}

// updateIndex indexes what was copied or saved from a ruin, of one session or
// (for an empty id) of all, a piece at a time so that other writers get through.
func (s *Store) updateIndex(ctx context.Context, only session.ID) error {
	if s.readOnly {
		return nil
	}
	for {
		var id session.ID
		var indexed, events int64
		err := s.reader.QueryRowContext(ctx, `SELECT id, indexed, events FROM sessions
			WHERE indexed < events AND (? = '' OR id = ?) LIMIT 1`, only, only).Scan(&id, &indexed, &events)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		to := min(indexed+32, events)
		err = s.write(ctx, "index session", func(tx *sql.Tx) error {
			// Another belay may be at it as well: only who moves the mark indexes.
			res, err := tx.ExecContext(ctx, "UPDATE sessions SET indexed = ? WHERE id = ? AND indexed = ?", to, id,
				indexed)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return err
			}
			return eachBetween(ctx, tx, id, indexed+1, to, func(r session.Record, row int64) error {
				if row == 0 {
					return nil
				}
				return index(ctx, tx, row, r.Event)
			})
		})
		if err != nil {
			return err
		}
	}
}
