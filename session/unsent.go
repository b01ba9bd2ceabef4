package session

// Unsent is what a person was writing, as it stood in the composer.
type Unsent struct {
	Text   string  `json:"text"`
	Pastes []Paste `json:"pastes,omitempty"`
}

// Paste is a text that a mark stands for in what is being written.
type Paste struct {
	Mark string `json:"mark"`
	Text string `json:"text"`
	Own  bool   `json:"own,omitempty"` // the person wrote it, and it was too long to show
}

// Empty reports whether nothing is written.
func (u Unsent) Empty() bool { return u.Text == "" }
