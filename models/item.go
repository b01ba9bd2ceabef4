package models

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ItemKind tells the parts of a conversation apart.
type ItemKind string

// The kinds of items.
const (
	Message   ItemKind = "message"   // words of the user, the developer or the model
	Reasoning ItemKind = "reasoning" // the model's thinking: a summary, and what its maker needs back
	Call      ItemKind = "call"      // the model calls a tool
	Output    ItemKind = "output"    // what the tool returned
)

// Role says who speaks in a Message.
type Role string

// The roles of a conversation.
const (
	User      Role = "user"
	Developer Role = "developer" // belay itself: surroundings, notes about interrupted work
	Assistant Role = "assistant"
)

// Origin is who made an item. A reasoning item means something only to its
// maker, so it is sent back to the same origin and to no other.
type Origin struct {
	Provider string `json:"provider,omitempty"`
	API      API    `json:"api,omitempty"`
	Model    string `json:"model,omitempty"`
}

// Item is one part of a conversation, the same for every API.
type Item struct {
	Kind   ItemKind `json:"kind"`
	ID     string   `json:"id,omitempty"` // the provider's own id, if it gave one
	Role   Role     `json:"role,omitempty"`
	Text   string   `json:"text,omitempty"` // of a message, of a reasoning summary, of an output
	Images []Image  `json:"images,omitempty"`

	Attachments []Attachment `json:"attached,omitempty"` // goes behind the text of a user's message

	CallID    string `json:"call_id,omitempty"`   // joins a Call and its Output
	Name      string `json:"name,omitempty"`      // the tool's name in a Call
	Arguments string `json:"arguments,omitempty"` // of a Call, as the model wrote them: possibly not JSON

	Origin Origin          `json:"origin,omitzero"`
	Raw    json.RawMessage `json:"raw,omitempty"` // as received; sent back unchanged to the same Origin
}

// Image is a picture in a message or in a tool's output.
type Image struct {
	MIME string `json:"mime"`
	Data []byte `json:"data"`
	// Detail is how closely it is looked at, such as low; empty: the endpoint decides.
	Detail string `json:"detail,omitempty"`
}

// Attachment is a text that came along with a person's words: a paste, what was
// piped in. It is material, and the first to be shortened when there is no room.
type Attachment struct {
	Name string `json:"name"` // as the words mention it
	Text string `json:"text"`
}

// FullText is the text of an item with what is attached to it, as models read it.
func (it *Item) FullText() string {
	if len(it.Attachments) == 0 {
		return it.Text
	}
	var b strings.Builder
	b.WriteString(it.Text)
	for _, a := range it.Attachments {
		fmt.Fprintf(&b, "\n\n<attachment name=%q>\n%s\n</attachment>", a.Name, strings.TrimSuffix(a.Text, "\n"))
	}
	return strings.TrimPrefix(b.String(), "\n\n")
}

// NewMessage makes a message item.
func NewMessage(role Role, text string) Item { return Item{Kind: Message, Role: role, Text: text} }
