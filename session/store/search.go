package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"belay/models"
	"belay/session"
)

// Search returns the places that hold all words of a query, the latest first:
// at most f.Limit, or 100. Parts of words are found, words of scripts without
// spaces too, and quotation marks hold words together; nothing in a query is
// an error.
func (s *Store) Search(ctx context.Context, query string, f session.Filter) ([]session.Hit, error) {
	const step = "search sessions"
	words := split(query)
	if len(words) == 0 {
		return nil, nil
	}
	if err := s.catchUp(ctx, ""); err != nil {
		return nil, s.fail(step, err)
	}
	hits, err := s.search(ctx, words, f)
	if err != nil {
		return nil, s.fail(step, err)
	}
	heads := make(map[session.ID]session.Session)
	kept := hits[:0]
	for _, h := range hits {
		head, ok := heads[h.Session.ID]
		if !ok {
			head, _, err = s.head(ctx, s.r, h.Session.ID)
			if errors.Is(err, ErrNotFound) {
				continue // purged meanwhile
			}
			if err != nil {
				return nil, s.fail(step, err)
			}
			heads[h.Session.ID] = head
		}
		h.Session = head
		kept = append(kept, h)
	}
	return kept, nil
}

// search asks the index for events that hold all three-letter pieces, and
// checks each against the words themselves.
func (s *Store) search(ctx context.Context, words []string, f session.Filter) ([]session.Hit, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = 100
	}
	const candidates = 2000 // what the check may cost: some tens of milliseconds
	where, args := conditions(f)
	args = append([]any{match(words)}, args...)
	rows, err := s.r.QueryContext(ctx, `SELECT e.session, e.seq, e.type, e.data FROM search
		JOIN events e ON e.id = search.rowid JOIN sessions ON sessions.id = e.session
		WHERE search MATCH ? AND `+where+` ORDER BY search.rowid DESC LIMIT ?`, append(args, candidates)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var hits []session.Hit
	for len(hits) < limit && rows.Next() {
		var h session.Hit
		var name string
		var data sql.RawBytes
		if err := rows.Scan(&h.Session.ID, &h.Seq, &name, &data); err != nil {
			return nil, err
		}
		e, err := session.Decode(name, data)
		if err != nil {
			continue // a broken row was never indexed as what it is now
		}
		if snippet, ok := excerpt(strings.Join(texts(e), "\n"), words); ok {
			h.Snippet = snippet
			hits = append(hits, h)
		}
	}
	return hits, rows.Err()
}

// split makes lower-case words of a query; quotation marks keep spaces.
func split(query string) []string {
	var words []string
	for i, part := range strings.Split(clean(strings.ToLower(query)), `"`) {
		if i%2 == 1 {
			if part = strings.TrimSpace(part); part != "" {
				words = append(words, part)
			}
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words[:min(len(words), 16)]
}

// match writes the query for the index: all pieces of all words. Each piece is
// quoted, so no sign in it has a meaning.
func match(words []string) string {
	var pieces []string
	for _, w := range words {
		runes := []rune(w)
		runes = runes[:min(len(runes), 32)]
		if len(runes) < 3 {
			pieces = append(pieces, padded(runes))
			continue
		}
		for i := range len(runes) - 2 {
			pieces = append(pieces, string(runes[i:i+3]))
		}
	}
	slices.Sort(pieces)
	pieces = slices.Compact(pieces)
	for i, p := range pieces {
		pieces[i] = `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
	}
	return strings.Join(pieces, " AND ")
}

// pad fills up what is shorter than three letters. It stands in no text.
const pad = '\x01'

func padded(runes []rune) string {
	for len(runes) < 3 {
		runes = append(runes[:len(runes):len(runes)], pad)
	}
	return string(runes)
}

// index adds an event to the search index.
func index(ctx context.Context, tx *sql.Tx, row int64, e session.Event) error {
	var text strings.Builder
	for _, t := range texts(e) {
		text.WriteString(clean(middleOut(t)))
		text.WriteByte('\n')
	}
	if text.Len() == 0 {
		return nil
	}
	shorts(&text)
	_, err := tx.ExecContext(ctx, "INSERT INTO search (rowid, text) VALUES (?, ?)", row, text.String())
	return err
}

// shorts appends the beginnings of words, and each one and two neighbours in
// scripts without spaces, padded: so that one or two typed letters find them.
func shorts(text *strings.Builder) {
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
		case wide(r):
			add(r, pad)
			if wide(before) {
				add(before, r)
			}
			inWord = 0
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if inWord++; inWord == 1 {
				add(r, pad)
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
		text.WriteRune(pad)
	}
}

func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// middleOut bounds what is indexed of one text: outputs of tools begin and end
// with what people look for.
func middleOut(t string) string {
	const head, tail = 48 << 10, 16 << 10
	if len(t) <= head+tail {
		return t
	}
	return t[:head] + "\n" + t[len(t)-tail:]
}

// texts are the words in an event that a person may look for.
func texts(e session.Event) []string {
	switch e := e.(type) {
	case session.TurnStarted:
		texts := []string{e.Prompt.Text}
		for _, a := range e.Prompt.Attachments {
			texts = append(texts, a.Text)
		}
		return texts
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

// clean makes valid UTF-8 without control signs, which mark places in snippets
// and padding in the index.
func clean(t string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || !unicode.IsControl(r) && r != utf8.RuneError {
			return r
		}
		return ' '
	}, t)
}

// excerpt is the surroundings of the first word, with all words marked, if the
// text holds all of them.
func excerpt(text string, words []string) (string, bool) {
	runes := []rune(clean(text))
	for i, r := range runes {
		if unicode.IsSpace(r) {
			runes[i] = ' '
		}
	}
	// Letter by letter, so that places in low are places in runes.
	low := make([]rune, len(runes))
	for i, r := range runes {
		low[i] = unicode.ToLower(r)
	}
	first := len(runes)
	for _, w := range words {
		at := find(low, []rune(w), 0)
		if at < 0 {
			return "", false
		}
		first = min(first, at)
	}
	const before, after = 40, 120
	from, to := max(first-before, 0), min(first+after, len(runes))
	marked := make([]bool, len(runes))
	for _, w := range words {
		word := []rune(w)
		for at := find(low[:to], word, from); at >= 0; at = find(low[:to], word, at+len(word)) {
			for i := range word {
				marked[at+i] = true
			}
		}
	}
	var b strings.Builder
	if from > 0 {
		b.WriteRune('…')
	}
	for i := from; i < to; i++ {
		if marked[i] && (i == from || !marked[i-1]) {
			b.WriteByte('\x02')
		}
		b.WriteRune(runes[i])
		if marked[i] && (i+1 == to || !marked[i+1]) {
			b.WriteByte('\x03')
		}
	}
	if to < len(runes) {
		b.WriteRune('…')
	}
	return b.String(), true
}

func find(text, word []rune, from int) int {
	for i := from; i+len(word) <= len(text); i++ {
		if text[i] == word[0] && slices.Equal(text[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}

// catchUp indexes what was copied or saved from a ruin, of one session or
// (for an empty id) of all, a piece at a time so that other writers get through.
func (s *Store) catchUp(ctx context.Context, only session.ID) error {
	if s.readOnly {
		return nil
	}
	for {
		var id session.ID
		var indexed, events int64
		err := s.r.QueryRowContext(ctx, "SELECT id, indexed, events FROM sessions WHERE indexed < events AND (? = '' OR id = ?) LIMIT 1", only, only).Scan(&id, &indexed, &events)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		to := min(indexed+32, events)
		err = s.write(ctx, "index session", func(tx *sql.Tx) error {
			// Another belay may be at it as well: only who moves the mark indexes.
			res, err := tx.ExecContext(ctx, "UPDATE sessions SET indexed = ? WHERE id = ? AND indexed = ?", to, id, indexed)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return err
			}
			return between(ctx, tx, id, indexed+1, to, func(r session.Record, row int64) error {
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
