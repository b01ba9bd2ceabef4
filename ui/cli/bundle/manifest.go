package bundle

import (
	"os"
	"time"

	"belay/session"
)

// What a manifest says of its files, to whoever opens it later.
const (
	whatTranscript = "what was said and done, for people"
	whatLog        = "the log, one event a line"
	whatRequest    = "the last request: what was sent as context"
	whatAttempts   = "each request to a model, one JSON object a line"
)

// manifest says what is in a bundle.
type manifest struct {
	Version   int        `json:"v"`
	Belay     string     `json:"belay"`
	Session   session.ID `json:"session"`
	Title     string     `json:"title"`
	Status    string     `json:"status"`
	Turns     int        `json:"turns"`
	Created   time.Time  `json:"created"`
	Updated   time.Time  `json:"updated"`
	Rehearsed bool       `json:"rehearsed"` // a script answered in place of the models
	Files     []entry    `json:"files"`
	Missing   []absent   `json:"missing,omitempty"`
}

type entry struct {
	Name   string `json:"name"`
	What   string `json:"what"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Cut    bool   `json:"cut,omitempty"` // it was longer: the rest is left out

	spooled *os.File
}

// absent is a file that could not be made, and why.
type absent struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}
