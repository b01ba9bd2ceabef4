package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"belay/models"
)

// adapt rewrites what of a conversation this target would refuse in either API:
// notes in a role that it does not take, call ids, pictures. The items given are
// only read.
func (d *dialect) adapt(items []models.Item, origin models.Origin) []models.Item {
	adapted := make([]models.Item, len(items))
	sentIDs := map[string]string{}
	for i := range items {
		adapted[i] = items[i]
		it := &adapted[i]
		switch it.Kind {
		case models.Message:
			if it.Role == models.Developer && d.notes != models.Developer {
				it.Role, it.Text = models.User, "<system-reminder>\n"+it.Text+"\n</system-reminder>"
			}
		case models.Call:
			id := it.CallID
			if it.CallID = d.callID(id, it.Origin == origin); it.CallID != id {
				it.Raw = renameCall(it.Raw, it.CallID)
			}
			sentIDs[id] = it.CallID
		case models.Output:
			it.CallID = cmp.Or(sentIDs[it.CallID], it.CallID)
		}
		if d.textOnly && len(it.Images) > 0 {
			it.Text = paragraphs(it.Text, unseen(len(it.Images)))
			it.Images = nil
		}
	}
	return adapted
}

// joinUsers makes one message of those of the user that follow one another, for
// targets that refuse several.
func (d *dialect) joinUsers(items []models.Item) []models.Item {
	if d.separateUsers {
		return items
	}
	joined := items[:0:0]
	for _, it := range items {
		if n := len(joined); n > 0 && isUser(&joined[n-1]) && isUser(&it) {
			before := &joined[n-1]
			before.Text = paragraphs(before.FullText(), it.FullText())
			before.Attachments = nil
			before.Images = slices.Concat(before.Images, it.Images)
			continue
		}
		joined = append(joined, it)
	}
	return joined
}

// paragraphs is one text of two.
func paragraphs(before, after string) string { return strings.TrimPrefix(before+"\n\n"+after, "\n\n") }

func isUser(it *models.Item) bool { return it.Kind == models.Message && it.Role == models.User }

// unseen stands for pictures that a model cannot see.
func unseen(pictures int) string {
	if pictures == 1 {
		return "[A picture stood here. You cannot see pictures; say so if it matters.]"
	}
	return fmt.Sprintf("[%d pictures stood here. You cannot see pictures; say so if it matters.]", pictures)
}

// maxCallID is the longest call id that every endpoint takes.
const maxCallID = 64

// callID is the id under which a call and its output travel. One that the target
// would refuse becomes a hash of itself, the same in every request. What is not
// a letter or a digit stays only where the id was made: some models know their
// calls by such ids, and others refuse them.
func (d *dialect) callID(id string, own bool) string {
	if d.shortIDs {
		if len(id) == 9 && isAlphanumeric(id) {
			return id
		}
		return hash(id)[:9]
	}
	if len(id) <= maxCallID && (own || isAlphanumeric(strings.NewReplacer("_", "", "-", "").Replace(id))) {
		return id
	}
	return "call_" + hash(id)
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
}

func isAlphanumeric(s string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return strings.Trim(s, letters) == ""
}

// renameCall gives a call as received another id.
func renameCall(raw json.RawMessage, id string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields["call_id"] == nil {
		return raw // in Chat Completions what is kept of a call has no id
	}
	fields["call_id"], _ = json.Marshal(id) // a string always marshals
	b, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return b
}
