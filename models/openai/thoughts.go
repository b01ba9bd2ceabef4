package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"belay/models"
	"belay/models/diagnose"
)

// The places in which a Chat Completions reply may have its reasoning.
const (
	inReasoningContent = "reasoning_content"
	inReasoning        = "reasoning"
	inDetails          = "reasoning_details"
	inParts            = "content"
	inTags             = "<think>"
)

// thoughts is reasoning that is still being written.
type thoughts struct {
	texts   map[string]*textBuilder    // by the place in which they come
	shown   strings.Builder            // all of it, as handed over in deltas
	details []*thoughtDetail           //
	part    map[string]json.RawMessage // what a part of the content holds beside its text
}

// add takes a piece and gives what is to be shown of it: what several places
// say is shown once.
func (t *thoughts) add(place string, piece textPiece) string {
	text := t.texts[place]
	if text == nil {
		if t.texts == nil {
			t.texts = map[string]*textBuilder{}
		}
		text = &textBuilder{}
		t.texts[place] = text
	}
	return t.show(place, text.add(piece))
}

func (t *thoughts) show(place, text string) string {
	inField := t.texts[inReasoningContent] != nil || t.texts[inReasoning] != nil
	isField := place == inReasoningContent || place == inReasoning
	if place == inDetails && inField || isField && t.texts[inDetails] != nil {
		return ""
	}
	t.shown.WriteString(text)
	return text
}

// addDetails takes a piece of reasoning_details and gives what is to be shown of it.
func (t *thoughts) addDetails(raw json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var shown strings.Builder
	for _, one := range list {
		piece := newThoughtDetail(one)
		if piece == nil {
			continue
		}
		i := slices.IndexFunc(t.details, piece.continues)
		if i < 0 {
			t.details = append(t.details, piece)
			i = len(t.details) - 1
			if t.shown.Len() > 0 && piece.hasText() {
				shown.WriteString(t.add(inDetails, "\n\n"))
			}
		}
		shown.WriteString(t.addDetail(t.details[i], piece))
	}
	return shown.String()
}

func (t *thoughts) addDetail(detail, piece *thoughtDetail) string {
	for name, value := range piece.fields {
		detail.fields[name] = value
	}
	shown := ""
	for i, text := range piece.pieces {
		detail.stated[i] = detail.stated[i] || piece.stated[i]
		if text != "" {
			shown += t.add(inDetails, textPiece(detail.texts[i].add(text)))
		}
	}
	return shown
}

// end completes the texts and gives what remains to be shown.
func (t *thoughts) end() string {
	shown := ""
	for _, place := range []string{inReasoningContent, inReasoning, inParts, inTags} {
		if text := t.texts[place]; text != nil {
			shown += t.show(place, text.end())
		}
	}
	return shown
}

func (t *thoughts) isEmpty() bool {
	return len(t.details) == 0 && strings.TrimSpace(t.shown.String()) == ""
}

// item is the reasoning as its maker needs it back: each text in the place in
// which it came.
func (t *thoughts) item() (models.Item, error) {
	it := models.Item{Kind: models.Reasoning, Text: t.shown.String()}
	raw := map[string]any{}
	for place, text := range t.texts {
		switch place {
		case inReasoningContent, inReasoning:
			raw[place] = text.whole()
		case inParts:
			raw[place] = []any{t.thinkingPart(text.whole())}
		}
	}
	if len(t.details) > 0 {
		list := make([]map[string]any, len(t.details))
		for i, detail := range t.details {
			list[i] = detail.joined()
		}
		raw[inDetails] = list
	}
	if len(raw) == 0 {
		return it, nil // tags are words like others: there is no field to send them in
	}
	var err error
	if it.Raw, err = json.Marshal(raw); err != nil {
		return it, fmt.Errorf("%w: reasoning: %w", diagnose.ErrMalformed, err)
	}
	return it, nil
}

func (t *thoughts) thinkingPart(text string) map[string]any {
	part := map[string]any{"type": "thinking", "thinking": []any{map[string]string{"type": "text", "text": text}}}
	for name, value := range t.part {
		part[name] = value
	}
	return part
}

// thoughtDetail is an entry of reasoning_details, or a piece of one.
type thoughtDetail struct {
	kind, index, id string
	fields          map[string]json.RawMessage // the newest values, without the texts
	pieces          [2]textPiece               // of the texts, in one event
	texts           [2]textBuilder
	stated          [2]bool
}

// detailTexts are the fields of an entry that come in pieces.
var detailTexts = [2]string{"text", "summary"}

func newThoughtDetail(raw json.RawMessage) *thoughtDetail {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	detail := &thoughtDetail{fields: map[string]json.RawMessage{}}
	members(raw, func(name string, value json.RawMessage) {
		if !isGiven(value) {
			return
		}
		if i := slices.Index(detailTexts[:], name); i >= 0 && isString(value) {
			detail.pieces[i], detail.stated[i] = textPiece(unquote(value)), true
			return
		}
		detail.fields[name] = bytes.Clone(value)
	})
	detail.kind = string(detail.fields["type"])
	detail.index = string(detail.fields["index"])
	detail.id = string(detail.fields["id"])
	return detail
}

func (d *thoughtDetail) hasText() bool { return d.pieces != [2]textPiece{} }

// continues says whether d is the next piece of an entry.
func (d *thoughtDetail) continues(before *thoughtDetail) bool {
	if d.kind != before.kind || d.index != before.index {
		return false
	}
	if d.index != "" {
		return true
	}
	sealed := d.fields["data"] != nil && before.fields["data"] != nil
	return !sealed && (d.id == before.id || d.id == "")
}

func (d *thoughtDetail) joined() map[string]any {
	entry := map[string]any{}
	for name, value := range d.fields {
		entry[name] = value
	}
	for i, name := range detailTexts {
		if d.stated[i] {
			entry[name] = d.texts[i].whole()
		}
	}
	return entry
}

// thoughtTags tells reasoning from words where a model writes both as content,
// the reasoning first and between tags.
type thoughtTags struct {
	state   tagState
	held    string // what is not decided yet
	closing string
}

type tagState int

const (
	beforeTag tagState = iota
	withinTags
	afterTag
	noTag
)

var openingTags = []string{"<think>", "<thinking>", "<thought>"}

const spaces = " \t\r\n"

// maxBlank is how much space may stand before a tag, in bytes.
const maxBlank = 4 << 10

// split takes the next piece of the content.
func (s *thoughtTags) split(piece string) (thought, words string) {
	if s.state == noTag {
		return "", piece
	}
	s.held += piece
	if s.state == beforeTag && !s.open() {
		return "", ""
	}
	if s.state == withinTags {
		thought = s.within()
	}
	if s.state == afterTag {
		if s.held = strings.TrimLeft(s.held, spaces); s.held != "" {
			s.state = noTag
		}
	}
	if s.state == noTag {
		words, s.held = s.held, ""
	}
	return thought, words
}

// open looks for a tag at the beginning and says whether it is decided.
func (s *thoughtTags) open() (decided bool) {
	begin := strings.TrimLeft(s.held, spaces)
	s.state = noTag
	for _, tag := range openingTags {
		switch {
		case strings.HasPrefix(begin, tag):
			s.state, s.held, s.closing = withinTags, begin[len(tag):], "</"+tag[1:]
			return true
		case len(s.held) < maxBlank && strings.HasPrefix(tag, begin):
			s.state = beforeTag
		}
	}
	return s.state == noTag
}

// within gives the reasoning so far, without what may begin the closing tag.
func (s *thoughtTags) within() (thought string) {
	if thought, after, closed := strings.Cut(s.held, s.closing); closed {
		s.state, s.held = afterTag, after
		return thought
	}
	cut := len(s.held)
	for n := min(len(s.closing)-1, len(s.held)); n > 0; n-- {
		if strings.HasSuffix(s.held, s.closing[:n]) {
			cut -= n
			break
		}
	}
	thought, s.held = s.held[:cut], s.held[cut:]
	return thought
}

// end gives what was still undecided.
func (s *thoughtTags) end() (thought, words string) {
	held := s.held
	s.held = ""
	switch s.state {
	case withinTags:
		return held, ""
	case beforeTag:
		s.state = noTag
		return "", held
	}
	return "", ""
}
