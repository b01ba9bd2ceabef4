// Package ledger decides what the record of attempts means: when and for how long a
// model has no capacity, from which size on requests fail, what a success costs, and
// when the user should be alerted.
//
// Everything but the Log itself is a pure function of attempts, sorted by time as a Log
// yields them.
package ledger

import (
	"context"
	"fmt"
	"iter"
	"math"
	"net/url"
	"strings"
	"time"
	"unicode"

	"belay/models"
)

// Attempt is a row of the record; see models.Attempt for its fields.
type Attempt models.Attempt

// Log is where attempts are kept.
type Log interface {
	AppendAttempts(ctx context.Context, a Attempt) error
	// Attempts yields the attempts created at since or later and before until, oldest
	// first. A zero time is no limit. An error ends the sequence.
	Attempts(ctx context.Context, since, until time.Time) iter.Seq2[Attempt, error]
}

// Read collects the attempts of a period.
func Read(ctx context.Context, l Log, since, until time.Time) ([]Attempt, error) {
	var list []Attempt
	for a, err := range l.Attempts(ctx, since, until) {
		if err != nil {
			return nil, fmt.Errorf("read the record: %w", err)
		}
		list = append(list, a)
	}
	return list, nil
}

// Target is the target that the attempt was sent to.
func (a *Attempt) Target() models.Target { return models.Target{Provider: a.Provider, Model: a.Model} }

// OK reports whether the attempt succeeded.
func (a *Attempt) OK() bool { return a.Kind == "" }

// Counts reports whether the attempt says anything about its target. An attempt that
// the user cancelled, that never arrived, or that was rejected for its content does
// not.
func (a *Attempt) Counts() bool {
	return a.OK() || a.Kind.Policy().Ledger && !a.Lost()
}

// Lost reports whether nobody answered: the network, something between here and the
// target, or a connection that was closed took the attempt. It was not answered, but
// says nothing about how the target is doing.
func (a *Attempt) Lost() bool {
	return a.Kind.Policy().Lost || a.Kind == models.KindServer && a.StatusCode == 0
}

// Asked reports whether an answer was to be expected: whether the attempt counts, or
// was lost.
func (a *Attempt) Asked() bool { return a.Counts() || a.Lost() }

// Billed reports whether the attempt's tokens were counted by its provider. Those of
// other failures are our own estimate, and cost nothing.
func (a *Attempt) Billed() bool { return a.OK() || a.OutputTokens > 0 || a.Cost > 0 }

// Ended is when the attempt ended.
func (a *Attempt) Ended() time.Time {
	return a.CreatedAt.Add(time.Duration(a.LatencyMS) * time.Millisecond)
}

// maxText is the maximum length of a foreign text in the record, in bytes.
const maxText = 200

// Clean is the attempt in a form that is safe to store: texts without control
// characters and at most 200 bytes long, the endpoint without user, password and query,
// times in UTC.
func (a Attempt) Clean() Attempt {
	a.Endpoint = Endpoint(a.Endpoint)
	for _, s := range []*string{
		&a.RequestID, &a.TeamID, &a.Environment, &a.Model, &a.FallbackModel,
		&a.ErrorCode, &a.Session, &a.Step, &a.Provider, &a.ServedModel,
		(*string)(&a.Tier), (*string)(&a.Kind), (*string)(&a.Phase),
	} {
		*s = cleanText(*s, maxText)
	}
	if math.IsNaN(a.Cost) || math.IsInf(a.Cost, 0) {
		a.Cost = 0
	}
	a.ProjectID = cleanText(a.ProjectID, 4096)
	a.CreatedAt = a.CreatedAt.Round(0).UTC()
	return a
}

// cleanText removes control characters and invalid UTF-8, and truncates to limit bytes.
func cleanText(s string, limit int) string {
	s = strings.ToValidUTF8(s, "�")
	if strings.ContainsFunc(s, isUnsafe) {
		s = strings.Map(func(r rune) rune {
			if isUnsafe(r) {
				return -1
			}
			return r
		}, s)
	}
	for len(s) > limit {
		cut := limit
		for cut > 0 && s[cut]&0xc0 == 0x80 {
			cut--
		}
		s = s[:cut]
	}
	return s
}

// isUnsafe reports whether a character could control a terminal or hide in a text.
func isUnsafe(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// Endpoint is an address without the parts that may be secret, or an empty string if it
// is not the address of a server.
func Endpoint(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	for _, bare := range []url.URL{
		{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath},
		{Scheme: u.Scheme, Host: u.Host},
	} {
		if s := cleanText(bare.String(), maxText+1); len(s) <= maxText {
			return s
		}
	}
	return ""
}
