package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"belay/session"
)

// Search returns the places that hold all words of a query, the latest first:
// at most f.Limit, or 100. Parts of words are found, words of scripts without
// spaces too, and quotation marks hold words together; nothing in a query is
// an error.
func (s *Store) Search(ctx context.Context, query string, filter session.Filter) ([]session.Hit, error) {
	const step = "search sessions"
	words := queryWords(query)
	if len(words) == 0 {
		return nil, nil
	}
	if err := s.updateIndex(ctx, ""); err != nil {
		return nil, s.wrap(step, err)
	}
	hits, err := s.searchIndex(ctx, words, filter)
	if err != nil {
		return nil, s.wrap(step, err)
	}
	states := make(map[session.ID]session.Session)
	kept := hits[:0]
	for _, h := range hits {
		state, ok := states[h.Session.ID]
		if !ok {
			state, _, err = s.state(ctx, s.reader, h.Session.ID)
			if errors.Is(err, ErrNotFound) {
				continue // purged meanwhile
			}
			if err != nil {
				return nil, s.wrap(step, err)
			}
			states[h.Session.ID] = state
		}
		h.Session = state
		kept = append(kept, h)
	}
	return kept, nil
}

// searchIndex asks the index for events that hold all three-letter pieces, and
// checks each against the words themselves.
func (s *Store) searchIndex(ctx context.Context, words []string, filter session.Filter) ([]session.Hit, error) {
	limit := filter.Limit
	if limit <= 0 {
		limit = 100
	}
	const candidates = 2000 // what the check may cost: some tens of milliseconds
	where, args := conditions(filter)
	args = append([]any{ftsQuery(words)}, args...)
	rows, err := s.reader.QueryContext(ctx, `SELECT e.session, e.seq, e.type, e.data FROM search
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
		if snippet, ok := snippet(strings.Join(searchableTexts(e), "\n"), words); ok {
			h.Snippet = snippet
			hits = append(hits, h)
		}
	}
	return hits, rows.Err()
}

// queryWords makes lower-case words of a query; quotation marks keep spaces.
func queryWords(query string) []string {
	var words []string
	for i, part := range strings.Split(withoutControls(strings.ToLower(query)), `"`) {
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

// ftsQuery writes the query for the index: all pieces of all words. Each piece is
// quoted, so no sign in it has a meaning.
func ftsQuery(words []string) string {
	var pieces []string
	for _, w := range words {
		runes := []rune(w)
		runes = runes[:min(len(runes), 32)]
		if len(runes) < 3 {
			pieces = append(pieces, padShort(runes))
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

// withoutControls makes valid UTF-8 without control signs, which mark places in snippets
// and padding in the index.
func withoutControls(t string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || !unicode.IsControl(r) && r != utf8.RuneError {
			return r
		}
		return ' '
	}, t)
}

// snippet is the surroundings of the first word, with all words marked, if the
// text holds all of them.
func snippet(text string, words []string) (string, bool) {
	runes := []rune(withoutControls(text))
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
		at := indexOf(low, []rune(w), 0)
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
		for at := indexOf(low[:to], word, from); at >= 0; at = indexOf(low[:to], word, at+len(word)) {
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

func indexOf(text, word []rune, from int) int {
	for i := from; i+len(word) <= len(text); i++ {
		if text[i] == word[0] && slices.Equal(text[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}
